package report

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

func some[T any](v T) event.Opt[T] { return event.Some(v) }

// events reads a page as a log.
func events(t *testing.T, text string) []event.Kind {
	t.Helper()
	var kinds []event.Kind
	r := klog.NewReader(strings.NewReader(text), "page")
	for r.Next() {
		kinds = append(kinds, r.Event().Kind)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return kinds
}

// keysOfLine returns the keys of a line in their order.
func keysOfLine(t *testing.T, line string) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(line))
	var keys []string
	depth, isKey := 0, false
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return keys
		}
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			isKey = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			isKey = depth == 1
			continue
		}
		if depth == 1 {
			if name, ok := token.(string); ok && isKey {
				keys = append(keys, name)
			}
			isKey = !isKey
		}
	}
}

func TestALineHasOnlyTheNumbersToWhichTheDecisionCame(t *testing.T) {
	always := []string{"schema", "era", "retries", "tick", "check", "time_ns", "cpu", "clocksource", "reference", "kind", "attempts", "allowed_attempts"}
	delay := []string{"readback_delay_ns", "read_limit_ns"}
	skew := []string{"interval_ns", "clocksource_interval_ns", "skew_ns", "skew_ppm", "limit_ns"}
	cases := []struct {
		name string
		v    watchdog.Verdict
		want []string
	}{
		{"a clock that is condemned already", watchdog.Verdict{Kind: watchdog.AlreadyCondemned, ReadLimit: 100}, nil},
		{"an era that does not look at the delay", watchdog.Verdict{Kind: watchdog.Initialised, Attempts: 1}, nil},
		{"an era that does", watchdog.Verdict{Kind: watchdog.Initialised, Attempts: 1, Delay: 90, ReadLimit: 100, SkipLimit: 50}, delay},
		{"a slow reference", watchdog.Verdict{Kind: watchdog.Skipped, Attempts: 3, Delay: 190, ReadLimit: 100, Sequence: 60, SkipLimit: 50},
			append(slices.Clone(delay), "watchdog_delay_ns", "skip_limit_ns")},
		{"a comparison", watchdog.Verdict{Kind: watchdog.Agreed, Attempts: 1, ReadLimit: 100, Compared: true, SkewLimit: 10,
			Watched: watchdog.Interval{NS: 500}, Reference: watchdog.Interval{NS: 501}, Skew: -1}, append(slices.Clone(delay), skew...)},
		{"a comparison that came too late", watchdog.Verdict{Kind: watchdog.TooLong, Attempts: 1, Compared: true,
			Watched: watchdog.Interval{NS: 500}, Reference: watchdog.Interval{NS: 501}}, skew[:4]},
		{"a comparison of nothing", watchdog.Verdict{Kind: watchdog.Agreed, Attempts: 1, Compared: true}, skew[:3]},
		{"CPUs out of order", watchdog.Verdict{Kind: watchdog.CondemnedCPUs, Attempts: 1, Earlier: 5, Later: 1 << 60, LateCPU: 2},
			[]string{"earlier_cpu", "later_cpu", "earlier_cycles", "later_cycles"}},
	}
	watch := Watch{Era: watchdog.E6, Retries: 3, Reference: "hpet", Clocks: []string{"tsc"}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tick := watch.Of(&c.v)
			line := output(t, func(w io.Writer) error { return NewTickWriter(w).Tick(&tick) })
			if diff := cmp.Diff(slices.Concat(always, c.want, []string{"exact"}), keysOfLine(t, line)); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			var back Tick
			if err := json.Unmarshal([]byte(line), &back); err != nil {
				t.Fatal(err)
			}
			tick.Watch.Clocks, tick.Watch.Reference = nil, ""
			if diff := cmp.Diff(tick, back); diff != "" {
				t.Errorf("the line does not hold the tick (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALineCarriesTheVerdictsNumbers(t *testing.T) {
	watch := Watch{Era: watchdog.E12, Release: "7.1.0", Retries: 2, Clocks: []string{"tsc", "jiffies"}}
	v := watchdog.Verdict{Tick: 7, Time: 8, CPU: 3, Kind: watchdog.CondemnedSkew, Clock: 1, Attempts: 2, Allowed: 3, Delay: 10, ReadLimit: 11, Compared: true,
		Watched: watchdog.Interval{NS: 1_000_000}, Reference: watchdog.Interval{NS: 2_000_000}, Skew: -1_000_000, SkewLimit: 12}
	want := Tick{Schema: TickSchema, Watch: watch, Tick: 7, Check: 7, Time: 8, CPU: 3, Clocksource: "jiffies", Kind: watchdog.CondemnedSkew,
		Attempts: 2, Allowed: 3, Delay: some(clocksource.Nanos(10)), ReadLimit: some(clocksource.Nanos(11)),
		Interval: some(clocksource.Nanos(2_000_000)), Own: some(clocksource.Nanos(1_000_000)), Skew: some(clocksource.Nanos(-1_000_000)),
		SkewPPM: some(clocksource.PPM(-500_000)), Limit: some(clocksource.Nanos(12)), Exact: true}
	if diff := cmp.Diff(want, watch.Of(&v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c := NewReplayColumn(watch, RetriesDefault)
	want.Tick, want.Exact, want.Doubts, want.Why = 70, false, []string{"timer", "cpu"}, "so"
	if diff := cmp.Diff(want, c.Of(&trace.Result{Verdict: v, Seq: 70, Doubts: trace.DoubtTimer | trace.DoubtCPU, Why: "so"})); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
}

func TestAVerdictOnAClockThatHasNoNameIsWritten(t *testing.T) {
	watch := Watch{Era: watchdog.E6}
	for _, clock := range []int{-1, 0, 4} {
		tick := watch.Of(&watchdog.Verdict{Clock: clock})
		if line := output(t, func(w io.Writer) error { return NewTickWriter(w).Tick(&tick) }); !strings.Contains(line, `"clocksource":""`) {
			t.Errorf("clock %d: %s", clock, line)
		}
	}
}

func TestTheLastLineIsTheSummary(t *testing.T) {
	line := output(t, func(w io.Writer) error { return ReplaySummary(NewTickWriter(w), replayed("tsc")) })
	if !strings.HasPrefix(line, `{"schema":"cswatch.tick/v1","summary":{"schema":"cswatch.replay/v1",`) || strings.Count(line, "\n") != 1 {
		t.Errorf("the summary is %.120s", line)
	}
}

type lost struct{}

var errFull = errors.New("no space left")

func (lost) Write([]byte) (int, error) { return 0, errFull }

func TestALostLineIsAnError(t *testing.T) {
	w := NewTickWriter(lost{})
	if err := w.Tick(&Tick{}); !errors.Is(err, errFull) {
		t.Errorf("a tick: %v", err)
	}
	if err := w.Summary(1); !errors.Is(err, errFull) {
		t.Errorf("the summary: %v", err)
	}
}
