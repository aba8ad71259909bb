package clocksource

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pc is a booted machine with hpet, acpi_pm and a tsc that is watched.
func pc(t *testing.T, rules Rules) Registry {
	t.Helper()
	r := registryOf(t, rules, continuous("acpi_pm", 200), continuous("hpet", 250), watchedClock("tsc", 300))
	r.BootDone()
	r.GrantHRES("tsc")
	r.RunPending()
	r.SetOneshot(true)
	return r
}

func TestWhatTheFilesRead(t *testing.T) {
	for _, tt := range []struct {
		name                                     string
		rules                                    Rules
		current, available, condemned, condemnCS string
	}{
		{"6.1", RulesAt(6, 1, 0), "tsc\n", "tsc hpet acpi_pm \n", "hpet acpi_pm \n", "hpet\n"},
		{"2.6.35", RulesAt(2, 6, 35), "tsc\n", "tsc hpet acpi_pm \n", "hpet acpi_pm \n", "hpet\n"},
		{"2.6.24 shows the condemned clock, and a blank", RulesAt(2, 6, 24), "tsc \n", "tsc hpet acpi_pm \n", "hpet acpi_pm tsc \n", "hpet \n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := pc(t, tt.rules)
			got := []string{r.CurrentText(), r.AvailableText()}
			r.MarkUnstable("tsc")
			r.RunPending()
			got = append(got, r.AvailableText(), r.CurrentText())
			if diff := cmp.Diff([]string{tt.current, tt.available, tt.condemned, tt.condemnCS}, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
	r := NewRegistry(RulesAt(6, 1, 0))
	if r.CurrentText() != "" || r.AvailableText() != "\n" {
		t.Errorf("before the boot: %q, %q", r.CurrentText(), r.AvailableText())
	}
}

func TestWritesToCurrentClocksource(t *testing.T) {
	tests := []struct {
		name      string
		condemned bool
		write     string
		current   string
		wish      string
		effects   []string
		err       error
	}{
		{"a name", false, "hpet", "hpet", "hpet", []string{"tick-notified", "switched hpet from tsc"}, nil},
		{"a name with a newline", false, "hpet\n", "hpet", "hpet", []string{"tick-notified", "switched hpet from tsc"}, nil},
		{"a name with two newlines is another name", false, "hpet\n\n", "tsc", "hpet\n", nil, nil},
		{"what follows a zero byte is lost", false, "hpet\x00x", "hpet", "hpet", []string{"tick-notified", "switched hpet from tsc"}, nil},
		{"the clock that is current", false, "tsc", "tsc", "tsc", nil, nil},
		{"a name that nobody has is remembered without a word", false, "nonsense", "tsc", "nonsense", nil, nil},
		{"a condemned clock: accepted, and nothing but a warning", true, "tsc\n", "hpet", "", []string{"override-refused tsc"}, nil},
		{"a newline forgets the wish", false, "\n", "tsc", "", nil, nil},
		{"31 bytes", false, strings.Repeat("x", 31), "tsc", strings.Repeat("x", 31), nil, nil},
		{"31 bytes with a newline", false, strings.Repeat("x", 30) + "\n", "tsc", strings.Repeat("x", 30), nil, nil},
		{"31 bytes and a newline", false, strings.Repeat("x", 31) + "\n", "tsc", "acpi_pm-wish", nil, ErrInvalid},
		{"32 bytes", false, strings.Repeat("x", 32), "tsc", "acpi_pm-wish", nil, ErrInvalid},
		{"nothing", false, "", "tsc", "acpi_pm-wish", nil, ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := pc(t, RulesAt(6, 1, 0))
			r.SetOverride("acpi_pm-wish")
			if tt.condemned {
				r.MarkUnstable("tsc")
				r.RunPending()
			}
			effects, err := r.WriteCurrent([]byte(tt.write))
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.effects, steps(effects)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if r.Current != tt.current || r.Override != tt.wish {
				t.Errorf("current %q, wish %q, want %q, %q", r.Current, r.Override, tt.current, tt.wish)
			}
		})
	}
}

// TestATestClockIsNeverSelectedEvenIfItIsWishedFor: from 7.1 on the clock of
// the kernel's own test has a flag for that; before, it was a clock like any other.
func TestATestClockIsNeverSelectedEvenIfItIsWishedFor(t *testing.T) {
	for _, tt := range []struct {
		name    string
		release [3]int
		hres    bool // the test clock was found fit for oneshot mode
		current string
		effects []string
	}{
		{"7.1 in oneshot mode", [3]int{7, 1, 0}, false, "tsc", nil},
		{"7.3.4, once it was found fit", [3]int{7, 3, 4}, true, "tsc", nil},
		{"6.14 selects it", [3]int{6, 14, 0}, true, "wdtest-ktime", []string{"tick-notified", "switched wdtest-ktime from tsc"}},
	} {
		rules := RulesAt(tt.release[0], tt.release[1], tt.release[2])
		r := pc(t, rules)
		if _, err := r.Register(rules.WDTestKtime()); err != nil {
			t.Fatal(err)
		}
		if tt.hres {
			r.GrantHRES("wdtest-ktime")
			r.RunPending()
		}
		effects, err := r.WriteCurrent([]byte("wdtest-ktime\n"))
		if diff := cmp.Diff(tt.effects, steps(effects)); diff != "" || err != nil {
			t.Errorf("%s: error %v, effects (-want +got):\n%s", tt.name, err, diff)
		}
		if r.Current != tt.current || r.Override != "wdtest-ktime" {
			t.Errorf("%s: current %q, wish %q, want %q and the wish kept", tt.name, r.Current, r.Override, tt.current)
		}
		r.SetOneshot(false)
		if r.SelectBest(); r.Current != tt.current {
			t.Errorf("%s: out of oneshot mode %q is current", tt.name, r.Current)
		}
	}
}

func TestARememberedNameIsGrantedWhenTheClockComes(t *testing.T) {
	r := pc(t, RulesAt(6, 1, 0))
	if _, err := r.WriteCurrent([]byte("late\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(continuous("late", 10)); err != nil {
		t.Fatal(err)
	}
	if r.Current != "late" {
		t.Errorf("current %s, want late", r.Current)
	}
}

func TestWritesToUnbindClocksource(t *testing.T) {
	tests := []struct {
		name    string
		rules   Rules
		write   string
		err     error
		effects []string
	}{
		{"a clock that nobody needs", RulesAt(6, 1, 0), "acpi_pm\n", nil, []string{"unregistered acpi_pm"}},
		{"the current clock", RulesAt(6, 1, 0), "tsc", nil, []string{"tick-notified", "switched hpet from tsc", "unwatched tsc", "timer-stopped", "unregistered tsc"}},
		{"the reference", RulesAt(6, 1, 0), "hpet", nil, []string{"reference-changed acpi_pm from hpet", "unregistered hpet"}},
		{"a clock that is not there", RulesAt(6, 1, 0), "hpet0", ErrNotThere, nil},
		{"a newline", RulesAt(6, 1, 0), "\n", ErrNotThere, nil},
		{"nothing", RulesAt(6, 1, 0), "", ErrInvalid, nil},
		{"too long a name", RulesAt(6, 1, 0), strings.Repeat("x", 32), ErrInvalid, nil},
		{"a release without the file", RulesAt(3, 6, 0), "acpi_pm", ErrNoFile, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := pc(t, tt.rules)
			effects, err := r.WriteUnbind([]byte(tt.write))
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.effects, steps(effects)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
	r := pc(t, RulesAt(6, 1, 0))
	for _, name := range []string{"acpi_pm", "hpet"} {
		_, err := r.WriteUnbind([]byte(name))
		if want := name == "hpet"; errors.Is(err, ErrBusy) != want {
			t.Errorf("unbinding %s: %v", name, err)
		}
	}
}

func FuzzWriteCurrent(f *testing.F) {
	for _, s := range []string{"hpet", "tsc\n", "", "\n", "\x00", strings.Repeat("x", 32)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := pc(t, RulesAt(6, 1, 0))
		before := r.Clone()
		effects, err := r.WriteCurrent(b)
		if (err != nil) != (len(b) == 0 || len(b) > MaxName) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err != nil && (effects != nil || !cmp.Equal(before, r)) {
			t.Fatal("an error changed the registry")
		}
		if _, there := r.Source(r.Current); !there || len(r.Override) > MaxName {
			t.Fatalf("current %q, wish %q", r.Current, r.Override)
		}
	})
}
