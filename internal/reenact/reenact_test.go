package reenact_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/reenact"
	"github.com/cswatch/cswatch/watchdog"
)

func load(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// given are the logs of five kernels that condemned a TSC whose frequency they
// were told 5 % too high. The files name their source.
func given() []struct {
	name     string
	release  string
	era      watchdog.Era
	clock    string
	lines    int // on clocksources, in the whole log
	incident int // of these, from the verdict on without registrations
} {
	return []struct {
		name, release string
		era           watchdog.Era
		clock         string
		lines         int
		incident      int
	}{
		{"5.10", "5.10.223", watchdog.LTS510223, "tsc", 17, 8},
		{"6.1", "6.1.176", watchdog.LTS61192, "tsc", 18, 9},
		{"6.12", "6.12.117", watchdog.E11, "tsc", 19, 10},
		{"7.0", "7.0.13", watchdog.E11, "tsc", 20, 11},
		{"7.3", "7.3.4", watchdog.E12, "tsc-early", 10, 5},
	}
}

func TestFiveKernelsAndOurErasPrintTheSameLines(t *testing.T) {
	for _, c := range given() {
		t.Run(c.name, func(t *testing.T) {
			r, err := reenact.Log(load(t, filepath.Join("testdata", c.name+".txt")))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range r.Differences() {
				t.Error(d)
			}
			t.Logf("%s, era %s: %d lines, %d of the verdict", r.Release, r.Setup.Profile.Era, r.Compared(), r.Incident)
			if r.Release.String() != c.release || r.Setup.Profile.Era != c.era || r.Setup.Watched[0].Name != c.clock || r.Verdict.Kind != watchdog.CondemnedSkew {
				t.Errorf("release %s, era %s, clock %s, verdict %s", r.Release, r.Setup.Profile.Era, r.Setup.Watched[0].Name, r.Verdict.Kind)
			}
			if r.Compared() != c.lines || r.Incident != c.incident {
				t.Errorf("%d lines, %d of the verdict, want %d and %d", r.Compared(), r.Incident, c.lines, c.incident)
			}
		})
	}
}

// What the log gives, such as the counter values of 5.10, cannot be wrong; what
// we work out can, and then the lines differ.
func TestOneWrongCharacterIsADifference(t *testing.T) {
	for _, c := range []struct{ log, old, new string }{
		{"5.10", "'hpet' wd_now", "'acpi_pm' wd_now"},
		{"5.10", "mask: ffffffff\n", "mask: ffffff\n"},
		{"5.10", "due to clocksource watchdog", "due to clocksource watchdogs"},
		{"5.10", "synchronization from CPU 1.", "synchronization from CPU 1 to CPUs 0."},
		{"5.10", "6,367,3240390,-;clocksource: Switched to clocksource hpet", "6,367,3240390,-;clocksource: Switched to clocksource acpi_pm"},
		{"5.10", "4,366,3223005,-;clocksource: Checking", "6,366,3223005,-;clocksource: Checking"},
		{"6.1", "wd_nsec: 537314830", "wd_nsec: 537314840"},
		{"6.1", "cs_nsec: 511733542", "cs_nsec: 511733543"},
		{"6.1", "wd_now: fcbd564", "wd_now: fcbd565"},
		{"6.1", "cs_last: 1762c149a", "cs_last: 1762c14aa"},
		{"6.1", "'tsc' is current clocksource.", "'hpet' (not 'tsc') is current clocksource."},
		{"6.12", "skewed -25590398 ns (-25 ms)", "skewed -25590398 ns (-26 ms)"},
		{"6.12", "skewed -25590398 ns", "skewed -25590397 ns"},
		{"6.12", "interval of 537502890 ns (537 ms)", "interval of 537502890 ns (538 ms)"},
		{"6.12", "TSC found unstable after boot, most", "TSC found unstable after boot most"},
		{"7.0", "to CPUs 1.", "to CPUs 0-1."},
		{"7.0", "CPU 0 check durations", "CPU 1 check durations"},
		{"7.0", "is current clocksource.\n", "is current clocksource.\n4,900,1,-;clocksource: a line that nobody knows\n"},
		{"7.0", "6,376,2940080,-;clocksource: Switched to clocksource tsc\n", ""},
		{"7.3", "Clocksource            tsc-early", "Clocksource           tsc-early"},
		{"7.3", "unstable due to frequency skew", "unstable due to inter CPU skew"},
		{"7.3", "525420060ns", "551708150ns"}, // no skew
	} {
		text := load(t, filepath.Join("testdata", c.log+".txt"))
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Fatalf("%s does not hold %q", c.log, c.old)
		}
		r, err := reenact.Log(changed)
		if err == nil && r.Differences() == nil {
			t.Errorf("%s: %q instead of %q is no difference", c.log, c.new, c.old)
		}
	}
}

// The log tells what the check across CPUs measured; which lines follow from that is ours.
func TestTheCheckAcrossCPUsIsReenacted(t *testing.T) {
	const (
		asked     = "synchronization from CPU 0 to CPUs 1.\n"
		durations = "check durations 5394237ns - 5394237ns"
		ahead     = "4,1000,1,-;clocksource:         CPUs 1 ahead of CPU 0 for clocksource tsc.\n"
		behind    = "4,1001,1,-;clocksource:         CPUs 2-3 behind CPU 0 for clocksource tsc.\n"
	)
	fourCPUs := []string{"1 node, 2 CPUs", "1 node, 4 CPUs", asked, strings.Replace(asked, "CPUs 1.", "CPUs 1-3.", 1), durations, "check durations 945ns - 5394237ns"}
	for _, c := range []struct {
		name    string
		changes []string
		same    bool
	}{
		{"one CPU ahead", []string{asked, asked + ahead}, true},
		{"four CPUs in order", fourCPUs, true},
		{"one of four ahead, two behind", append(fourCPUs, "to CPUs 1-3.\n", "to CPUs 1-3.\n"+ahead+behind), true},
		{"behind is told before ahead", append(fourCPUs, "to CPUs 1-3.\n", "to CPUs 1-3.\n"+behind+ahead), false},
		{"a CPU that was not asked is ahead", append(fourCPUs, "to CPUs 1-3.\n", "to CPUs 2-3.\n"+ahead), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := load(t, "testdata/7.0.txt")
			for i := 0; i < len(c.changes); i += 2 {
				text = strings.Replace(text, c.changes[i], c.changes[i+1], 1)
			}
			r, err := reenact.Log(text)
			if err != nil {
				t.Fatal(err)
			}
			if found := r.Differences(); (found == nil) != c.same {
				t.Errorf("differences %q, want some: %t", found, !c.same)
			}
		})
	}
}

func TestALogThatCannotBeReenactedSaysWhy(t *testing.T) {
	text := load(t, "testdata/6.1.txt")
	without := func(words string) string {
		var kept []string
		for _, l := range strings.Split(text, "\n") {
			if !strings.Contains(l, words) {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "\n")
	}
	for _, c := range []struct{ name, log, want string }{
		{"nothing", "", reenact.ErrNoVerdict.Error()},
		{"a boot without a verdict", without("cs_nsec"), reenact.ErrNoVerdict.Error()},
		{"no release", without("Linux version"), "Linux version"},
		{"a release that only a vendor knows", strings.Replace(without("xxx"), "Debian 6.1.176-1", "", 1), "which upstream release"},
		{"no frequency", without("Detected"), "frequencies of clocksource tsc-early"},
		{"no registration of the reference", without("clocksource: hpet"), "differ"},
		{"no registration of the clock", without("clocksource: tsc: mask"), "is not registered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := reenact.Log(c.log)
			if err == nil && r.Differences() != nil {
				err = errors.New("lines differ")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Other logs of kernels that were told a wrong frequency, as they came from the console.
func TestConsoleLogsOfWrongFrequenciesAreReenacted(t *testing.T) {
	paths, err := filepath.Glob("../doctor/testdata/cases/qemu-earlykhz-*.log")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d logs, %v", len(paths), err)
	}
	for _, path := range paths {
		r, err := reenact.Log(load(t, path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		t.Logf("%s: %s, era %s: %d lines, %d of the verdict", filepath.Base(path), r.Release, r.Setup.Profile.Era, r.Compared(), r.Incident)
		for _, d := range r.Differences() {
			t.Errorf("%s: %s", path, d)
		}
	}
}

// Whatever the text, there is a result or an error, and a result has what it was compared with.
func FuzzLog(f *testing.F) {
	for _, c := range given() {
		b, err := os.ReadFile(filepath.Join("testdata", c.name+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := reenact.Log(text)
		if err == nil && (r.Incident < 1 || r.Compared() < r.Incident || r.Setup.Profile.Era == "") {
			t.Errorf("%d lines, %d of the verdict, era %q", r.Compared(), r.Incident, r.Setup.Profile.Era)
		}
	})
}
