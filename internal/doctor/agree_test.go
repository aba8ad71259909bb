package doctor_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/watchdog"
)

var update = flag.Bool("update", false, "write the golden files anew")

// disagreements names every clock of a log whose counter values and
// nanoseconds do not explain each other, or not by the printed frequency, with the reason.
var disagreements = map[string]string{
	"vm-09 tsc": "typed by hand, as its wd_new and wd_alst show: cs_last has ten digits where cs_now has eleven, so that one is lost",
}

// conversionRules are the ways in which a log's kernel may have turned counter
// values into nanoseconds, with the eras that do so.
type conversionRules struct {
	delta      clocksource.DeltaRule
	arithmetic clocksource.Arithmetic
}

func (r conversionRules) String() string { return fmt.Sprintf("%s, %s", r.delta, r.arithmetic) }

// rulesOfLog returns the rules of the eras that the log's kernel may have.
func rulesOfLog(events []event.Event) []conversionRules {
	var id watchdog.Identity
	for _, e := range events {
		if e.Kind == event.Version && id.Version == "" {
			id.Version = e.Text
		}
		id.Messages = append(id.Messages, e.Text)
	}
	var rules []conversionRules
	for _, c := range watchdog.Detect(id).Candidates {
		p, ok := c.Profile()
		if r := (conversionRules{p.DeltaX86, p.Arithmetic}); ok && !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	return rules
}

// logEvents reads the events of a log file, compressed or not.
func logEvents(t *testing.T, path string) []event.Event {
	t.Helper()
	r := klog.NewReader(openLog(t, path), filepath.Base(path))
	var events []event.Event
	for r.Next() {
		events = append(events, r.Event())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// printedHz returns the frequency that the log prints for the watched clock of
// an incident, and whether it has one.
func printedHz(in *event.Incident, events []event.Event) (clocksource.Hz, bool) {
	var early, refined event.Opt[int64]
	for _, e := range events {
		if e.Source.Boot != in.Boot || e.Source.Line > in.Events[0].Source.Line {
			continue
		}
		switch e.Kind {
		case event.TSCDetected:
			early = e.FrequencyHz
		case event.TSCRefined:
			refined = e.FrequencyHz
		}
	}
	if in.Clock == "tsc" && refined.Known {
		early = refined
	}
	return clocksource.Hz(early.Value), early.Known && strings.HasPrefix(in.Clock, "tsc")
}

// registeredSet returns the frequencies that the latest registration line of
// the watched clock stands for.
func registeredSet(t *testing.T, in *event.Incident, events []event.Event) (clocksource.FrequencySet, bool) {
	t.Helper()
	var set clocksource.FrequencySet
	for _, e := range events {
		if e.Kind != event.Registered || e.Clocksource != in.Clock || e.Source.Boot != in.Boot || e.Source.Line > in.Events[0].Source.Line {
			continue
		}
		var err error
		set, err = clocksource.Frequencies(clocksource.Cycles(e.MaxCycles.Value), clocksource.Nanos(e.MaxIdleNS.Value), clocksource.Mask(e.Mask.Value), clocksource.ScaleKHz)
		if err != nil {
			t.Fatal(err)
		}
	}
	return set, set.Count > 0
}

// anyMeets reports that one of the ranges has a frequency of the set.
func anyMeets(ranges []clocksource.FrequencySet, set clocksource.FrequencySet) bool {
	return slices.ContainsFunc(ranges, func(s clocksource.FrequencySet) bool { return set.Highest >= s.Lowest && set.Lowest <= s.Highest })
}

// printedInterval returns the numbers of an interval of which both the counter
// values and the nanoseconds are there.
func printedInterval(clock string, i event.Interval, r conversionRules) (clocksource.PrintedInterval, bool) {
	mask := clocksource.Mask(i.Mask.Value)
	if k, ok := clocksource.KnownClock(clock); mask == 0 && ok {
		mask = k.Mask
	}
	return clocksource.PrintedInterval{
		Last: clocksource.Cycles(i.Last.Value), Now: clocksource.Cycles(i.Now.Value), Mask: mask,
		NS: clocksource.Nanos(i.NS.Value), Delta: r.delta, Arithmetic: r.arithmetic,
	}, i.Now.Known && i.Last.Known && i.NS.Known && mask != 0
}

// referenceSays explains the reference's numbers: "" if no rule and no legal rate does.
func referenceSays(in *event.Incident, rules []conversionRules) string {
	var says []string
	for _, r := range rules {
		p, _ := printedInterval(in.Reference, in.ReferenceInterval, r)
		rates, err := p.Rates(in.Reference)
		var text []string
		for _, rate := range rates {
			text = append(text, fmt.Sprint(uint64(rate.Hz)))
		}
		switch {
		case errors.Is(err, clocksource.ErrNoCycles):
			text = []string{fmt.Sprintf("any (0 ns by the rule %s)", r.delta)}
		case err != nil:
			text = []string{err.Error()}
		}
		if s := strings.Join(text, ", "); s != "" && !slices.Contains(says, s) {
			says = append(says, s)
		}
	}
	return strings.Join(says, " or ")
}

// watchedSays explains the watched clock's numbers by a set of frequencies in whole kHz.
func watchedSays(in *event.Incident, rules []conversionRules) (ranges []clocksource.FrequencySet, note string) {
	for _, r := range rules {
		p, _ := printedInterval(in.Clock, in.WatchedInterval, r)
		found, err := p.Frequencies(clocksource.ScaleKHz)
		if errors.Is(err, clocksource.ErrNoCycles) {
			return nil, fmt.Sprintf("any (0 ns by the rule %s)", r.delta)
		}
		if err != nil {
			note = err.Error()
		}
		for _, s := range found {
			if !slices.Contains(ranges, s) {
				ranges = append(ranges, s)
			}
		}
	}
	return ranges, note
}

// TestHexAndNanosecondsOfTheGivenLogsAgree holds every verdict that prints
// counter values beside nanoseconds against the arithmetic of the kernels that
// may have printed it: the reference at one of its legal rates, the watched
// clock at a frequency in whole kHz, the printed one where the log has one.
func TestHexAndNanosecondsOfTheGivenLogsAgree(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*")
	if err != nil {
		t.Fatal(err)
	}
	wrong := maps.Clone(disagreements)
	disagree := func(name, clock, why string) {
		key := name + " " + clock
		if _, known := wrong[key]; !known {
			t.Errorf("%s: %s", key, why)
		}
		delete(wrong, key)
	}
	var references, watched, printed, registered int
	var table strings.Builder
	for _, path := range paths {
		name, _, _ := strings.Cut(filepath.Base(path), ".log")
		events := logEvents(t, path)
		var rules []conversionRules
		for _, in := range event.Collect(events) {
			_, hasReference := printedInterval(in.Reference, in.ReferenceInterval, conversionRules{})
			_, hasWatched := printedInterval(in.Clock, in.WatchedInterval, conversionRules{})
			if !in.Kind.Condemns() || !hasReference && !hasWatched {
				continue
			}
			if rules == nil {
				rules = rulesOfLog(events)
			}
			reference, frequency := "-", "-"
			if hasReference {
				references++
				if reference = referenceSays(&in, rules); reference == "" {
					disagree(name, in.Reference, fmt.Sprintf("no legal rate makes %d ns of its counter values by the rules %v", in.ReferenceInterval.NS.Value, rules))
				}
			}
			if hasWatched {
				watched++
				ranges, note := watchedSays(&in, rules)
				frequency = describe(ranges) + note
				if frequency == "" {
					frequency = "none"
					disagree(name, in.Clock, fmt.Sprintf("no frequency makes %d ns of its counter values by the rules %v", in.WatchedInterval.NS.Value, rules))
				}
				if hz, ok := printedHz(&in, events); ok && len(ranges) > 0 {
					printed++
					frequency += fmt.Sprintf(", printed %.3f MHz", float64(hz)/1e6)
					if !anyMeets(ranges, clocksource.FrequencySet{Lowest: hz, Highest: hz}) {
						disagree(name, in.Clock, "the printed frequency is not among them: "+frequency)
					}
				}
				if set, ok := registeredSet(t, &in, events); ok && len(ranges) > 0 {
					registered++
					frequency += fmt.Sprintf(", registered at %.3f to %.3f MHz", float64(set.Lowest)/1e6, float64(set.Highest)/1e6)
					if !anyMeets(ranges, set) {
						disagree(name, in.Clock, "the registration line names none of them: "+frequency)
					}
				}
			}
			fmt.Fprintf(&table, "%-36s %-9s %-32s %-12s %s\n", name, in.Reference, reference, in.Clock, frequency)
		}
	}
	t.Logf("\n%s", table.String())
	t.Logf("%d references and %d watched clocks with both kinds of numbers, %d printed frequencies, %d registration lines", references, watched, printed, registered)
	if references < 28 || watched < 30 || printed < 4 || registered < 2 {
		t.Error("the test lost its subject")
	}
	for key, why := range wrong {
		t.Errorf("%s agrees now: %s", key, why)
	}
	const golden = "testdata/agreement.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("the table changed; where that is meant, run the test with -update (-want +got):\n%s", diff)
	}
}

// describe writes ranges with their width.
func describe(ranges []clocksource.FrequencySet) string {
	var parts []string
	for _, s := range ranges {
		parts = append(parts, fmt.Sprintf("%.3f to %.3f MHz, %d kHz (%.2f ppm)", float64(s.Lowest)/1e6, float64(s.Highest)/1e6, s.Count, float64(s.Width())))
	}
	return strings.Join(parts, " or ")
}

// Numbers that contradict each other are told, and change no verdict.
func TestALogWhoseNumbersContradictEachOtherSaysSo(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases/qemu-earlykhz-61-50000.log")
	if err != nil {
		t.Fatal(err)
	}
	log := string(raw)
	const altered = "no frequency makes the printed nanoseconds of the counter values of tsc"
	for _, c := range []struct{ name, old, new, want string }{
		{"as the kernel printed it", "", "", ""},
		{"a digit of the reference's nanoseconds", "wd_nsec: 530465200", "wd_nsec: 530475200", "no rate that hpet can have"},
		{"a digit of the reference's counter", "wd_now: ff09173", "wd_now: ff09273", "no rate that hpet can have"},
		{"two digits of the TSC's nanoseconds change places", "cs_nsec: 505204522", "cs_nsec: 505240522", altered},
		{"a digit of the TSC's counter is lost", "cs_last: 152e8a8da", "cs_last: 152e8a8d", altered},
		{"the lines of a machine with another TSC", "505204522 cs_now: 19ba16f54 cs_last: 152e8a8da", "503646106 cs_now: 74ca94f19b5 cs_last: 74c466e112f", "the lines are of a tsc of 3293.811 MHz, and the log prints 2415.000 MHz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := examine(strings.NewReader(strings.Replace(log, c.old, c.new, 1)), c.name)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Decisions) != 1 {
				t.Fatalf("%d decisions", len(d.Decisions))
			}
			why := d.Decisions[0].Why
			if told := strings.Contains(why, "altered"); told != (c.want != "") || !strings.Contains(why, c.want) || d.TSCVerdict != doctor.Bad {
				t.Errorf("verdict %s, got %q, want %q", d.TSCVerdict, why, c.want)
			}
		})
	}
}
