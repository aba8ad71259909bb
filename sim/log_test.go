package sim

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/watchdog"
)

// kinds returns the kinds of events of a log, in order.
func kinds(t *testing.T, log string) []string {
	t.Helper()
	var found []string
	for r := klog.NewReader(strings.NewReader(log), "log"); r.Next(); {
		found = append(found, string(r.Event().Kind))
	}
	return found
}

func logOf(t *testing.T, name, release, fault string, retries int) ([]LogLine, Tally) {
	t.Helper()
	m, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := watchdog.ParseRelease(release)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := watchdog.EraOf(rel)[0].Profile()
	f, err := ParseFault(fault)
	if err != nil || !ok {
		t.Fatal(err)
	}
	c, err := NewCell(m, p, retries, f)
	if err != nil {
		t.Fatal(err)
	}
	tally := c.NewRunner().Run(1, 0, 300)
	lines, err := c.Log(rel, 1, tally.First)
	if err != nil {
		t.Fatal(err)
	}
	return lines, tally
}

// The log that the request for comments shows, line for line but for its numbers.
func TestTheLogOfTheRFCIsSimulated(t *testing.T) {
	const published = `[   13.669682] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable
[   13.669827] tsc: Marking TSC unstable due to clocksource watchdog
[   13.669917] TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.
[   13.670048] sched_clock: Marking unstable (11633513890, 2036384489)<-(13965149377, -295250974)
[   13.672268] clocksource: Checking clocksource tsc synchronization from CPU 0 to CPUs 1-3,6-7.
[   13.673148] clocksource: Switched to clocksource hpet
`
	lines, _ := logOf(t, "e3-1240v5", "5.15.0", "", 3)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String() + "\n")
	}
	got, want := strings.Join(kinds(t, b.String()), " "), strings.Join(kinds(t, published), " ")
	if got != want || strings.Count(b.String(), "\n") != 6 {
		t.Errorf("events %s\nwant   %s\n%s", got, want, b.String())
	}
	if !strings.Contains(b.String(), "attempt 4, marking unstable") {
		t.Error(b.String())
	}
}

func TestLogsOfOtherErasHaveTheirLines(t *testing.T) {
	cases := []struct {
		name, machine, release, fault string
		want                          string // kinds of the events, the first ones
	}{
		{"skips that go on", "milan-x", "5.17.0", "", "busy-reference test-skipped busy-reference test-skipped"},
		{"a skew in 5.17", "healthy-laptop", "5.17.0", "frequency:+2000ppm@10s",
			"skew-verdict reference-interval watched-interval current-clock tsc-unstable tsc-broken-bios sched-clock-unstable verify-started switched"},
		{"a skew between CPUs in 7.2", "healthy-laptop", "7.2.0", "step:cpu3:-50us@10s",
			"inter-cpu-verdict cpu-order tsc-unstable tsc-broken-bios sched-clock-unstable switched"},
		{"a jump in 4.19", "healthy-laptop", "4.19.0", "step:+300ms@10s",
			"skew-verdict reference-interval watched-interval tsc-unstable tsc-broken-bios sched-clock-unstable switched"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			lines, _ := logOf(t, c.machine, c.release, c.fault, -1)
			var b strings.Builder
			last := LogLine{}
			for _, l := range lines {
				if l.At < last.At {
					t.Errorf("%s comes before %s", l, last)
				}
				last = l
				b.WriteString(l.String() + "\n")
			}
			if got := strings.Join(kinds(t, b.String()), " "); !strings.HasPrefix(got, c.want) {
				t.Errorf("events %s\nwant   %s\n%s", got, c.want, b.String())
			}
		})
	}
}

func TestAHealthyBootLogsNothing(t *testing.T) {
	lines, tally := logOf(t, "healthy-laptop", "6.12.0", "", -1)
	if len(lines) > 0 || tally.Unstable > 0 {
		t.Errorf("%v, %d unstable", lines, tally.Unstable)
	}
}
