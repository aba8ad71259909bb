package tally

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// stamps are those of a machine that was booted an hour before noon.
var stamps = Stamps{Now: noon, Monotonic: time.Hour}

// logged feeds lines "seconds text" to a tally as the kernel's log.
func logged(t *Tally, lines ...string) {
	var b strings.Builder
	for i, l := range lines {
		at, text, _ := strings.Cut(l, " ")
		var seconds float64
		fmt.Sscan(at, &seconds)
		fmt.Fprintf(&b, "4,%d,%d,-;%s\n", i, int64(seconds*1e6), text)
	}
	r := klog.NewReader(strings.NewReader(b.String()), "/dev/kmsg")
	for r.Next() {
		e := r.Event()
		t.Add(e, stamps.At(e.Time))
	}
	t.Settle(stamps.At)
}

const (
	delayed = "13.669682 clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable"
	marked  = "13.669700 tsc: Marking TSC unstable due to clocksource watchdog"
	fell    = "13.669800 clocksource: Switched to clocksource hpet"
)

func TestVerdictsAreCountedOnceAndByCause(t *testing.T) {
	block := []string{
		"2.5 clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:",
		"2.5 clocksource:                       'hpet' wd_nsec: 500000000 wd_now: 6b49d3 wd_last: 1f2f15 mask: ffffffff",
		"2.5 clocksource:                       'tsc' cs_nsec: 525000000 cs_now: 5f5e100 cs_last: 1312d00 mask: ffffffffffffffff",
	}
	cases := []struct {
		name  string
		lines []string
		want  string
	}{
		{"a healthy boot has none", []string{"0.2 clocksource: Switched to clocksource tsc-early", "1.2 clocksource: Switched to clocksource tsc"}, ""},
		{"a read that took too long", []string{delayed, marked, fell}, "tsc hpet read-delay 1"},
		{"skew", append(slices.Clone(block), "2.6 "+marked[10:]), "tsc hpet skew 1"},
		{"under the name that the TSC has in a kernel's first seconds", []string{
			"1.5 clocksource: Marking clocksource tsc-early unstable due to frequency skew",
			"1.5 clocksource: Watchdog    hpet interval:      500000000ns", "1.5 clocksource: Clocksource tsc-early interval:  476190476ns", "1.6 " + marked[10:]}, "tsc hpet frequency-skew 1"},
		{"only the mark is left of it", []string{marked}, "tsc  marked 1"},
		{"a refusal beside the verdict is not another one", []string{delayed, marked, "99 clocksource: Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode"}, "tsc hpet read-delay 1"},
		{"only a refusal tells of it", []string{"99 clocksource: Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode"}, "tsc  override 1"},
		{"a reason of the kernel's own", []string{"0.1 tsc: Marking TSC unstable due to TSC halts in idle states deeper than C2"}, "tsc  by-reason 1"},
		{"harmless time-outs of 7.1 are none", []string{"9 clocksource: Watchdog hpet read timed out. Readout took: 60000ns"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			y := New("boot")
			logged(y, c.lines...)
			var got []string
			for _, g := range y.View().Clocks.Condemned {
				got = append(got, fmt.Sprintf("%s %s %s %d", g.Clock, g.Reference, g.Cause, g.Count))
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("given up: %q, want %q", s, c.want)
			}
			entries := 0
			for _, e := range y.View().Timeline {
				if e.Kind == Condemned {
					entries++
				}
			}
			if want := len(got); entries != want {
				t.Errorf("%d entries, want %d", entries, want)
			}
		})
	}
}

func TestAVerdictWhoseLinesComeApartIsEnteredOnce(t *testing.T) {
	y := New("boot")
	logged(y, marked)
	logged(y, marked, fell)
	logged(y, "20 clocksource: Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode")
	n := 0
	for _, e := range y.View().Timeline {
		if e.Kind == Condemned {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestSwitchesAreCountedByWhatTheLogAndSysfsSay(t *testing.T) {
	type step struct {
		log     string // a line, or
		current string // what sysfs says
	}
	cases := []struct {
		name  string
		steps []step
		want  string
	}{
		{"the boot's own", []step{{log: "0.2 clocksource: Switched to clocksource tsc-early"}, {log: "1.2 clocksource: Switched to clocksource tsc"}, {current: "tsc"}},
			"none>tsc-early 1, tsc-early>tsc 1"},
		{"sysfs agrees with the log that came first", []step{{log: "1 clocksource: Switched to clocksource tsc"}, {current: "tsc"}, {log: fell}, {current: "hpet"}, {current: "hpet"}},
			"none>tsc 1, tsc>hpet 1"},
		{"sysfs was faster than the log", []step{{log: "1 clocksource: Switched to clocksource tsc"}, {current: "hpet"}, {log: fell}, {current: "hpet"}, {current: "hpet"}},
			"none>tsc 1, tsc>hpet 1"},
		{"the log's line was lost", []step{{log: "1 clocksource: Switched to clocksource tsc"}, {current: "hpet"}, {current: "hpet"}, {current: "hpet"}},
			"none>tsc 1, tsc>hpet 1"},
		{"there is no log", []step{{current: "tsc"}, {current: "tsc"}, {current: "hpet"}, {current: "hpet"}, {current: "tsc"}, {current: "tsc"}},
			"tsc>hpet 1, hpet>tsc 1"},
		{"the log does not go back to the beginning, and sysfs was faster", []step{{current: "hpet"}, {log: "1 clocksource: Switched to clocksource hpet"}, {current: "hpet"}}, "none>hpet 1"},
		{"sysfs was wrong for a moment", []step{{current: "tsc"}, {current: "hpet"}, {current: "tsc"}, {current: "hpet"}, {current: "tsc"}}, ""},
		{"back and forth", []step{{log: "1 clocksource: Switched to clocksource tsc"}, {log: "2 clocksource: Switched to clocksource hpet"}, {log: "3 clocksource: Switched to clocksource tsc"}, {log: "4 clocksource: Switched to clocksource hpet"}},
			"none>tsc 1, tsc>hpet 2, hpet>tsc 1"},
		{"a clocksource that nobody knows", []step{{log: "1 clocksource: Switched to clocksource zork"}, {log: "2 clocksource: Switched to clocksource blorb"}}, "none>other 1, other>other 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			y := New("boot")
			for _, s := range c.steps {
				if s.log != "" {
					logged(y, s.log)
				} else {
					y.Observe(s.current, []string{"tsc", "hpet", "acpi_pm"}, Moment{At: noon})
				}
			}
			var got []string
			for _, s := range y.View().Clocks.Switches {
				got = append(got, fmt.Sprintf("%s>%s %d", s.From, s.To, s.Count))
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("switches %q, want %q", s, c.want)
			}
		})
	}
}

func TestTheBestClocksourceStaysSoWhenItIsCondemned(t *testing.T) {
	cases := []struct {
		name      string
		available []string
		log       []string
		trust     doctor.Trust
		want      string
	}{
		{"the kernel lists the best one first", []string{"tsc", "hpet", "acpi_pm"}, nil, "", "tsc"},
		{"a TSC that was given up", []string{"hpet", "acpi_pm"}, []string{delayed, marked, fell}, "", "tsc"},
		{"a TSC of which only the doctor knows", []string{"hpet", "acpi_pm"}, nil, doctor.TrustNo, "tsc"},
		{"kvm-clock is not worse than a TSC that was given up", []string{"kvm-clock", "hpet"}, []string{delayed, marked}, doctor.TrustNo, "kvm-clock"},
		{"Hyper-V's page", []string{"hyperv_clocksource_tsc_page", "acpi_pm"}, nil, doctor.TrustNo, "hyperv_clocksource_tsc_page"},
		{"arm64", []string{"arch_sys_counter"}, nil, doctor.TrustNotApplicable, "arch_sys_counter"},
		{"nothing is known", nil, nil, "", ""},
		{"one that nobody knows", []string{"zork"}, []string{delayed}, "", "other"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			y := New("boot")
			logged(y, c.log...)
			if c.available != nil {
				y.Observe(c.available[0], c.available, Moment{At: noon})
			}
			if c.trust != "" {
				y.Diagnose(&doctor.Diagnosis{Status: doctor.StatusOK, KernelTrustsTSC: c.trust}, Moment{At: noon})
			}
			if got := y.View().Best; got != c.want {
				t.Errorf("best %q, want %q", got, c.want)
			}
		})
	}
}

func TestARestoredTallyGoesOnWhereItWas(t *testing.T) {
	y := New("boot")
	logged(y, "1 clocksource: Switched to clocksource tsc", delayed, marked, fell)
	y.Read(4, 4, 0, 0, 0, Moment{At: noon})
	y.Observe("hpet", []string{"hpet", "acpi_pm"}, Moment{At: noon})
	y.Tell("command", 1)
	y.Diagnose(&doctor.Diagnosis{Status: doctor.StatusCritical, Summary: "s"}, Moment{At: noon})
	b, err := json.Marshal(y.State())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	z, err := Restore(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(y.State(), z.State()); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
	// The same lines do not come again, and what follows changes nothing that was entered.
	logged(z, "30 clocksource: Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode")
	z.Diagnose(&doctor.Diagnosis{Status: doctor.StatusCritical, Summary: "s"}, Moment{At: noon})
	var kinds []EntryKind
	for _, e := range z.Untold("command") {
		kinds = append(kinds, e.Kind)
	}
	if want := []EntryKind{Switched, Condemned, StatusChanged}; !slices.Equal(kinds, want) {
		t.Errorf("still to be told: %v, want %v", kinds, want)
	}
}

func TestOnlySwitchesThatMatterAreTold(t *testing.T) {
	for _, c := range []struct {
		from, to string
		lookback bool
		want     bool
	}{
		{"none", "tsc-early", true, false}, {"none", "hpet", false, false},
		{"tsc-early", "tsc", true, false}, {"tsc-early", "tsc", false, false},
		{"kvm-clock", "tsc", true, false}, {"kvm-clock", "tsc", false, true},
		{"tsc", "hpet", true, true}, {"tsc", "hpet", false, true}, {"kvm-clock", "acpi_pm", true, true},
		{"hpet", "tsc", false, false}, {"other", "tsc", false, true}, {"other", "tsc", true, false},
	} {
		e := Entry{Kind: Switched, From: c.from, To: c.to, Moment: Moment{Lookback: c.lookback}}
		if got := e.Matters(); got != c.want {
			t.Errorf("from %s to %s, lookback %v: told %v, want %v", c.from, c.to, c.lookback, got, c.want)
		}
	}
}

func TestAStateThatCannotBeGoneOnWithIsRefused(t *testing.T) {
	for name, change := range map[string]func(*State){
		"another schema":             func(s *State) { s.Schema = "cswatch.other/v1" },
		"no boot":                    func(s *State) { s.Boot = "" },
		"entries that are not there": func(s *State) { s.Timeline = []Entry{{Number: 7}} },
		"entries out of order":       func(s *State) { s.Entries = 3; s.Timeline = []Entry{{Number: 2}, {Number: 1}} },
		"too many names":             func(s *State) { s.Clocks.Seen = make([]string, 1000) },
		"a name that nobody knows":   func(s *State) { s.Clocks.Seen = []string{"zork"} },
		"names out of order":         func(s *State) { s.Clocks.Seen = []string{"tsc", "hpet"} },
		"a switch that is there twice": func(s *State) {
			s.Clocks.Switches = []Switch{{"tsc", "hpet", 1}, {"tsc", "hpet", 2}}
		},
		"a switch from nowhere": func(s *State) { s.Clocks.Switches = []Switch{{"zork", "hpet", 1}} },
		"a cause that is none":  func(s *State) { s.Clocks.Condemned = []Condemning{{Clock: "tsc", Cause: "retry"}} },
		"an event that is none": func(s *State) { s.Log.Kinds["zork"] = 1 },
		"an entry of no kind":   func(s *State) { s.Entries, s.Timeline = 1, []Entry{{Number: 1, Kind: "zork"}} },
	} {
		s := New("boot").State()
		change(&s)
		if _, err := Restore(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAFloodStaysBounded(t *testing.T) {
	y := New("boot")
	e := event.Event{Kind: event.Retried, Retries: event.Some[int64](2), Reference: "hpet", Text: "a line"}
	for i := range 100_000 {
		e.Source.Line = i
		y.Add(e, Moment{At: noon})
	}
	for i := range 1000 {
		y.Add(event.Event{Kind: event.Switched, Clocksource: fmt.Sprint("clock", i)}, Moment{At: noon})
	}
	v := y.View()
	events, left := y.Events()
	if len(v.Timeline) > 2*perKind || len(events) > 2*2*keepEvents || left[event.Retried] != 100_000-2*keepEvents || v.Log.Kinds[event.Retried] != 100_000 {
		t.Errorf("%d entries, %d events, %d left out, %d counted", len(v.Timeline), len(events), left[event.Retried], v.Log.Kinds[event.Retried])
	}
	if len(v.Clocks.Seen) > maxNames || len(v.Clocks.Switches) > 2 {
		t.Errorf("%d names, %d pairs: a log makes more and more of them", len(v.Clocks.Seen), len(v.Clocks.Switches))
	}
}

func TestStampsBecomeTimesWithTheirDoubts(t *testing.T) {
	stamp := func(d time.Duration) event.Time { return event.Time{PrintkNS: event.Some(int64(d))} }
	cases := []struct {
		name   string
		stamps Stamps
		time   event.Time
		at     time.Time
		doubt  string
	}{
		{"half an hour ago", stamps, stamp(30 * time.Minute), noon.Add(-30 * time.Minute), ""},
		{"right now, a little ahead", stamps, stamp(time.Hour + 10*time.Millisecond), noon, ""},
		{"no stamp", stamps, event.Time{}, noon, "no stamp"},
		{"in the future", stamps, stamp(3 * time.Hour), noon, "future"},
		{"the machine has slept", Stamps{Now: noon, Monotonic: time.Hour, Slept: 8 * time.Hour}, stamp(30 * time.Minute), noon.Add(-30 * time.Minute), "slept for 8h"},
		{"a doubt of the line's own", stamps, event.Time{PrintkNS: event.Some[int64](0), Doubt: "jumped"}, noon.Add(-time.Hour), "jumped"},
	}
	for _, c := range cases {
		m := c.stamps.At(c.time)
		if !m.At.Equal(c.at) || (c.doubt == "") != (m.Doubt == "") || !strings.Contains(m.Doubt, c.doubt) {
			t.Errorf("%s: %v, doubt %q; want %v, %q", c.name, m.At, m.Doubt, c.at, c.doubt)
		}
	}
}

func TestTicksOfTheLiveWatchAreCounted(t *testing.T) {
	y := New("boot")
	if !math.IsNaN(y.View().Watch.Skew) {
		t.Error("there is a skew before the first comparison")
	}
	y.Watching(watchdog.E9, 2, "tsc", "hpet", machine.Yes, "")
	verdict := func(k watchdog.Kind, skew clocksource.Nanos) watchdog.Verdict {
		v := watchdog.Verdict{Era: watchdog.E9, Kind: k, Attempts: 2, Compared: true, Skew: skew}
		v.Reference.NS = clocksource.NanosPerSecond / 2
		return v
	}
	y.Check(&Check{Verdicts: []watchdog.Verdict{verdict(watchdog.Agreed, 50)}, Delays: []clocksource.Nanos{2000, 60_000}, Late: []trace.Cause{trace.Unexplained}, Exchange: Completed}, Moment{At: noon})
	y.Check(&Check{Verdicts: []watchdog.Verdict{verdict(watchdog.CondemnedSkew, 1_000_000)}, Exchange: Completed, Between: [2]int{0, 3}, Backwards: 900, Resets: 1}, Moment{At: noon})
	y.Check(&Check{Verdicts: []watchdog.Verdict{verdict(watchdog.CondemnedSkew, 1_000_000)}, Exchange: Busy, Backwards: 0}, Moment{At: noon})
	w := y.View().Watch
	if w.Ticks != 3 || w.Suspends != 1 || w.Delays.Count != 2 || w.Delays.Cumulative()[50e-6] != 1 || w.Delays.Cumulative()[62.5e-6] != 2 || w.Attempts.Cumulative()[2] != 3 || w.Skew != 0.002 {
		t.Errorf("watch %+v", w)
	}
	if diff := cmp.Diff(map[watchdog.Kind]uint64{watchdog.Agreed: 1, watchdog.CondemnedSkew: 2}, w.Verdicts); diff != "" {
		t.Error(diff)
	}
	if w.Exchanges[Completed] != 2 || w.Exchanges[Busy] != 1 || w.Backwards != 1 || w.Most != 900 || w.Late[trace.Unexplained] != 1 {
		t.Errorf("watch %+v", w)
	}
	var kinds []EntryKind
	for _, e := range y.View().Timeline {
		kinds = append(kinds, e.Kind)
	}
	if want := []EntryKind{Suspended, LiveCondemned, Backwards}; !slices.Equal(kinds, want) {
		t.Errorf("entries %v, want %v: one for each, however often it is seen", kinds, want)
	}
}

func TestAReferenceThatIsNotIndependentConvictsNobody(t *testing.T) {
	y := New("boot")
	y.Watching(watchdog.E9, 2, "tsc", "monotonic_raw", machine.No, "")
	v := watchdog.Verdict{Kind: watchdog.CondemnedSkew, Compared: true}
	y.Check(&Check{Verdicts: []watchdog.Verdict{v}}, Moment{At: noon})
	if n := len(y.View().Timeline); n != 0 {
		t.Errorf("%d entries, want none", n)
	}
}

func TestTheHistoryHoldsTheLastHours(t *testing.T) {
	y := New("boot")
	at := noon
	for i := range 500 {
		y.Check(&Check{Delays: []clocksource.Nanos{clocksource.Nanos(i), clocksource.Nanos(i) + 2, clocksource.Nanos(i) + 1}}, Moment{At: at})
		y.Price(machine.Cost{ReadNS: 20})
		at = at.Add(time.Minute)
		y.Tick(at)
	}
	h := y.View().History
	if len(h) != maxPoints || !h[len(h)-1].At.Equal(at) || h[len(h)-1].DelayNS != 500 || h[len(h)-1].MaxNS != 501 || h[0].ReadBacks != 3 || h[0].ReadNS != 20 {
		t.Errorf("%d points, the last %+v", len(h), h[len(h)-1])
	}
	if !slices.IsSortedFunc(h, func(a, b Point) int { return a.At.Compare(b.At) }) {
		t.Error("the points are out of order")
	}
}

func TestHealthIsNewsWhenItChanges(t *testing.T) {
	y := New("boot")
	bad := fmt.Errorf("no permission")
	for i, c := range []struct {
		err  error
		news bool
	}{{nil, true}, {nil, false}, {bad, true}, {bad, false}, {fmt.Errorf("gone"), true}, {nil, true}} {
		if got := y.Report(Kmsg, c.err, time.Millisecond, noon); got != c.news {
			t.Errorf("report %d: news %v, want %v", i, got, c.news)
		}
	}
	if h := y.View().Collectors[Kmsg]; h.Failures != 3 || !h.OK || h.Error != "" || !h.LastSuccess.Equal(noon) {
		t.Errorf("health %+v", h)
	}
}

func TestAViewIsACopy(t *testing.T) {
	y := New("boot")
	logged(y, "1 clocksource: Switched to clocksource tsc")
	v := y.View()
	kinds := maps.Clone(v.Log.Kinds)
	logged(y, "2 clocksource: Switched to clocksource hpet", delayed, marked)
	y.Check(&Check{Exchange: Completed}, Moment{At: noon})
	if diff := cmp.Diff(kinds, v.Log.Kinds); diff != "" || len(v.Timeline) != 1 || len(v.Clocks.Switches) != 1 || v.Watch.Ticks != 0 || v.Watch.Exchanges[Completed] != 0 {
		t.Errorf("the view changed: %s", diff)
	}
}
