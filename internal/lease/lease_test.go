package lease

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// machineWith returns a machine of files: what is written to its current clocksource stays there.
func machineWith(t *testing.T, current string, available ...string) Config {
	t.Helper()
	dir := t.TempDir()
	c := Config{Sysfs: filepath.Join(dir, "sysfs"), State: filepath.Join(dir, "run", "cswatch"), BootID: filepath.Join(dir, "boot_id"), Settle: time.Millisecond}
	if err := os.Mkdir(c.Sysfs, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(c.Sysfs, "current_clocksource"), current+"\n")
	put(t, filepath.Join(c.Sysfs, "available_clocksource"), strings.Join(available, " ")+" \n")
	put(t, c.BootID, "boot-1\n")
	return c
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func currentOf(t *testing.T, c Config) string {
	t.Helper()
	name, err := folder(c.Sysfs).current()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// nothingLeft fails where a record is left, or a lease cannot be taken.
func nothingLeft(t *testing.T, c Config) {
	t.Helper()
	if _, found, err := state(c.State).read(); found || err != nil {
		t.Errorf("a record is left: %v, %v", found, err)
	}
	l, err := Take(c)
	if err != nil {
		t.Fatal("a second lease:", err)
	}
	if err := l.Close(); err != nil {
		t.Error("a second lease:", err)
	}
}

func TestALeaseSwitchesAndGivesBack(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet", "acpi_pm")
	l, err := Take(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hpet", "acpi_pm", "tsc", "hpet"} {
		if err := l.Switch(name); err != nil {
			t.Fatal(err)
		}
		if got := currentOf(t, c); got != name {
			t.Errorf("switched to %s, current is %s", name, got)
		}
	}
	if l.Old() != "tsc" {
		t.Errorf("the old one is %q", l.Old())
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := currentOf(t, c); got != "tsc" {
		t.Errorf("given back is %s", got)
	}
	if err := l.Switch("hpet"); err == nil || currentOf(t, c) != "tsc" {
		t.Errorf("a closed lease switched: %v", err)
	}
	nothingLeft(t, c)
}

func TestOnlyOneLeaseAtATime(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet")
	l, err := Take(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(c); !errors.Is(err, ErrHeld) {
		t.Errorf("a second lease: %v", err)
	}
	if err := l.Switch("hpet"); err != nil {
		t.Fatal(err)
	}
	if r, err := Recover(c); r != nil || err != nil {
		t.Errorf("recovered while its run lives: %+v, %v", r, err)
	}
	if got := currentOf(t, c); got != "hpet" {
		t.Errorf("current is %s", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, c)
}

func TestANameThatTheKernelDoesNotHaveIsNotWritten(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet")
	l, err := Take(c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Switch("kvm-clock")
	if err == nil || !strings.Contains(err.Error(), "only tsc, hpet") || currentOf(t, c) != "tsc" {
		t.Errorf("%v, current %s", err, currentOf(t, c))
	}
}

// A file that swallows what is written is what a condemned clocksource looks like.
func TestAWriteThatDoesNothingIsNoticed(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet")
	l, err := Take(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Switch("hpet"); err != nil {
		t.Fatal(err)
	}
	current := filepath.Join(c.Sysfs, "current_clocksource")
	if err := errors.Join(os.Remove(current), os.Symlink("/dev/null", current)); err != nil {
		t.Fatal(err)
	}
	var ignored *IgnoredError
	if err := l.Switch("tsc"); !errors.As(err, &ignored) || ignored.Want != "tsc" || ignored.Got != "" {
		t.Errorf("%v", err)
	}
	if err := l.Close(); !errors.As(err, &ignored) {
		t.Errorf("closed: %v", err)
	}
	if _, found, err := (state(c.State)).read(); found || err != nil {
		t.Errorf("a record is left of what nobody can give back: %v", err)
	}
}

// The kernel takes tsc-early away when it has registered tsc, which may be during a lease.
func TestAnEarlyTSCIsGivenBackAsTheTSCThatReplacedIt(t *testing.T) {
	c := machineWith(t, "tsc-early", "tsc-early", "hpet")
	l, err := Take(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Switch("hpet"); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(c.Sysfs, "available_clocksource"), "tsc hpet \n")
	if err := l.Close(); err != nil || currentOf(t, c) != "tsc" {
		t.Errorf("%v, current %s", err, currentOf(t, c))
	}
	nothingLeft(t, c)
	for _, tc := range []struct {
		name    string
		offered []string
		want    string
	}{
		{"tsc-early", []string{"tsc-early", "tsc"}, "tsc-early"}, {"tsc-early", []string{"hpet"}, "tsc-early"}, {"tsc-early", []string{"tsc"}, "tsc"}, {"tsc", []string{"hpet"}, "tsc"},
	} {
		if got := Successor(tc.name, tc.offered); got != tc.want {
			t.Errorf("%s of %v: %s, want %s", tc.name, tc.offered, got, tc.want)
		}
	}
}

func TestALeaseWaitsForTheTSCThatReplacesAnEarlyOne(t *testing.T) {
	c := machineWith(t, "tsc-early", "tsc-early", "hpet")
	c.Settle = time.Hour
	var old string
	var failed error
	var wait sync.WaitGroup
	wait.Go(func() {
		l, err := Take(c)
		if err != nil {
			failed = err
			return
		}
		old, failed = l.Old(), l.Close()
	})
	for _, file := range [][2]string{{"available_clocksource", "tsc hpet \n"}, {"current_clocksource", "tsc\n"}} {
		whole := filepath.Join(c.Sysfs, "new") // as the kernel's files change: at once
		put(t, whole, file[1])
		if err := os.Rename(whole, filepath.Join(c.Sysfs, file[0])); err != nil {
			t.Fatal(err)
		}
	}
	wait.Wait()
	if failed != nil || old != "tsc" {
		t.Errorf("%v, the old one is %q", failed, old)
	}
}

func TestWhatCannotBeSwitchedIsSaidBeforeAnythingIsBorrowed(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet")
	missing := c
	missing.Sysfs = filepath.Join(c.Sysfs, "none")
	if _, err := Take(missing); err == nil || !strings.Contains(err.Error(), "want Linux with /sys mounted") {
		t.Errorf("%v", err)
	}
	put(t, filepath.Join(filepath.Dir(c.Sysfs), "run"), "no folder")
	if _, err := Take(c); err == nil || !strings.Contains(err.Error(), "make the folder of the lease") {
		t.Errorf("%v", err)
	}
}

func TestRecoverGivesBackWhatAKilledRunLeft(t *testing.T) {
	for _, tc := range []struct {
		name       string
		current    string
		left       string // the record, "" for none
		want       *Recovered
		after      string
		err        string
		recordStay bool
	}{
		{name: "nothing was left", current: "hpet", after: "hpet"},
		{name: "a switched clocksource", current: "hpet", left: `{"boot_id":"boot-1","pid":7,"old":"tsc","to":"hpet"}`,
			want: &Recovered{Old: "tsc", To: "hpet", Current: "tsc", Given: true}, after: "tsc"},
		{name: "somebody has chosen another one since", current: "acpi_pm", left: `{"boot_id":"boot-1","pid":7,"old":"tsc","to":"hpet"}`,
			want: &Recovered{Old: "tsc", To: "hpet", Current: "acpi_pm"}, after: "acpi_pm"},
		{name: "an earlier boot's", current: "hpet", left: `{"boot_id":"boot-0","pid":7,"old":"tsc","to":"hpet"}`, after: "hpet"},
		{name: "a damaged record", current: "hpet", left: `{"boot_id":`, after: "hpet", err: "is damaged", recordStay: true},
		{name: "a record without a name", current: "hpet", left: `{}`, after: "hpet", err: "is damaged", recordStay: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := machineWith(t, tc.current, "tsc", "hpet", "acpi_pm")
			if tc.left != "" {
				if err := os.MkdirAll(c.State, 0o755); err != nil {
					t.Fatal(err)
				}
				put(t, filepath.Join(c.State, recordFile), tc.left)
			}
			r, err := Recover(c)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("%v, want %q", err, tc.err)
			}
			if (r == nil) != (tc.want == nil) || r != nil && *r != *tc.want {
				t.Errorf("recovered %+v, want %+v", r, tc.want)
			}
			if got := currentOf(t, c); got != tc.after {
				t.Errorf("current is %s, want %s", got, tc.after)
			}
			if tc.recordStay {
				if _, err := Take(c); err == nil {
					t.Error("a lease was taken over a record that nobody understands")
				}
				return
			}
			nothingLeft(t, c)
		})
	}
}
