package event

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told writes incidents as "kind clock reference" with what follows from them.
func told(incidents []Incident) string {
	var b strings.Builder
	for _, in := range incidents {
		b.WriteString(strings.TrimSpace(string(in.Kind) + " " + in.Clock + " " + in.Reference))
		if in.Header {
			b.WriteString(" header")
		}
		if in.Marked {
			b.WriteString(" marked")
		}
		if in.CPUsAhead+in.CPUsBehind != "" {
			b.WriteString(" order")
		}
		if in.SwitchedTo != "" {
			b.WriteString(" ->" + in.SwitchedTo)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestCollectAssemblesWhatBelongsTogether(t *testing.T) {
	watchdog := Event{Kind: TSCUnstable, Clocksource: "tsc", Detail: "clocksource watchdog"}
	syncFailed := Event{Kind: TSCUnstable, Clocksource: "tsc", Detail: "check_tsc_sync_source failed"}
	for _, c := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"a verdict with all that follows", []Event{
			{Kind: DelayVerdict, Reference: "hpet"}, watchdog, {Kind: TSCBrokenBIOS}, {Kind: SchedUnstable},
			{Kind: VerifyStarted, Clocksource: "tsc"}, {Kind: VerifyAhead, CPUs: "1"}, {Kind: Switched, Clocksource: "hpet"}},
			"read-delay  hpet header marked order ->hpet\n"},
		{"a skew block without its header", []Event{
			{Kind: ReferenceInterval, Reference: "hpet", Now: Some[Hex](2), Last: Some[Hex](1)}, {Kind: WatchedInterval, Clocksource: "tsc", Now: Some[Hex](2), Last: Some[Hex](1)}, watchdog},
			"skew tsc hpet marked\n"},
		{"two blocks in a row", []Event{
			{Kind: SkewVerdict, Clocksource: "tsc"}, {Kind: ReferenceInterval, Reference: "hpet", IntervalNS: Some[int64](1)}, {Kind: WatchedInterval, Clocksource: "tsc", IntervalNS: Some[int64](1)},
			{Kind: ReferenceInterval, Reference: "hpet", IntervalNS: Some[int64](2)}, {Kind: WatchedInterval, Clocksource: "tsc", IntervalNS: Some[int64](2)}},
			"skew tsc hpet header\nskew tsc hpet\n"},
		{"the two lines of a skip", []Event{{Kind: BusyReference, Reference: "hpet"}, {Kind: TestSkipped, Clocksource: "tsc", DelayNS: Some[int64](1)}},
			"skip tsc hpet header\n"},
		{"7.1's lines, in the order that it prints them", []Event{
			{Kind: FrequencyVerdict, Clocksource: "tsc"}, {Kind: ReferenceSpan, Reference: "hpet", IntervalNS: Some[int64](1)}, {Kind: WatchedSpan, Clocksource: "tsc", IntervalNS: Some[int64](1)}, watchdog},
			"frequency-skew tsc hpet header marked\n"},
		{"a failed synchronisation test", []Event{{Kind: SyncTest}, {Kind: Warp, Cycles: Some[int64](5)}, syncFailed},
			"sync-test tsc header marked\n"},
		{"a passed one is nothing", []Event{{Kind: SyncTest, Detail: "passed"}}, ""},
		{"only the mark", []Event{watchdog}, "marked tsc marked\n"},
		{"only the refusal", []Event{{Kind: OverrideRefused, Clocksource: "tsc"}}, "override tsc\n"},
		{"another boot takes nothing from the one before", []Event{
			{Kind: DelayVerdict, Reference: "hpet"}, {Kind: Switched, Clocksource: "hpet", Source: Source{Boot: 2}}},
			"read-delay  hpet header\n"},
		{"a copy is passed over", []Event{{Kind: DelayVerdict, Reference: "hpet"}, {Kind: DelayVerdict, Reference: "hpet", Source: Source{Duplicate: true}}},
			"read-delay  hpet header\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(Collect(c.events))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkewLineGivesTheIntervalsThatOtherLinesLack(t *testing.T) {
	in := Collect([]Event{{Kind: SkewAmount, Clocksource: "tsc", Reference: "acpi_pm", SkewNS: Some[int64](-485515617), ReferenceIntervalNS: Some[int64](485515617)}})
	if len(in) != 1 || in[0].WatchedInterval.NS != Some[int64](0) || in[0].ReferenceInterval.NS != Some[int64](485515617) {
		t.Fatalf("got %+v, want a watched interval of 0 ns", in)
	}
}

func TestCyclesAreMasked(t *testing.T) {
	for _, c := range []struct {
		name            string
		now, last, mask Hex
		want            uint64
	}{
		{"no wrap", 0x1c29fb9, 0x151e3b8, 0xffffffff, 0x70bc01},
		{"a wrap of 32 bits", 5, 0xfffffff0, 0xffffffff, 0x15},
		{"a wrap of 24 bits", 5, 0xfffff0, 0xffffff, 0x15},
		{"64 bits backwards", 1, 2, 1<<64 - 1, 1<<64 - 1},
	} {
		got, ok := Interval{Now: Some(c.now), Last: Some(c.last), Mask: Some(c.mask)}.Cycles()
		if !ok || got != c.want {
			t.Errorf("%s: %#x (%v), want %#x", c.name, got, ok, c.want)
		}
	}
	if got, ok := (Interval{Now: Some[Hex](1 << 40), Last: Some[Hex](1)}).Cycles(); !ok || got != 1<<40-1 {
		t.Errorf("without a mask: %#x (%v), want a 64-bit difference", got, ok)
	}
	if _, ok := (Interval{Now: Some[Hex](1)}).Cycles(); ok {
		t.Error("a difference from one value")
	}
}

func TestEventsSurviveJSON(t *testing.T) {
	e := Event{Kind: WatchedInterval, Source: Source{File: "a", Line: 3, Boot: 1}, Text: "t", Clocksource: "tsc", Now: Some[Hex](1<<64 - 1), SkewNS: Some[int64](0), RatePPM: Some[Rate](-1.5)}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again Event
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := string(b); !strings.Contains(s, `"skew_ns":0`) || strings.Contains(s, "delay_ns") {
		t.Errorf("%s: want a known zero and no unknown number", s)
	}
}

func TestKindsListsEveryConstantOnce(t *testing.T) {
	source, err := os.ReadFile("kind.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), " Kind = \""); n != len(Kinds()) {
		t.Errorf("%d kinds are declared, %d are listed", n, len(Kinds()))
	}
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		if seen[k] {
			t.Errorf("%s twice", k)
		}
		seen[k] = true
	}
}
