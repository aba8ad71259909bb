package loopback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// made is a machine that is not there. Its clock advances by the rounds that are measured.
type made struct {
	clock    time.Duration
	current  string
	cpus     []int
	selected []string
	measured []string                           // test and clocksource of each round
	value    func(n int, source string) float64 // of round n, nil: 100
	after    func(n int, m *made)               // what happens after round n
	fails    map[string]error                   // clocksources that cannot be selected
	ignores  bool                               // selecting is accepted and does nothing
}

func (m *made) edges() edges {
	return edges{
		now:     func() time.Duration { return m.clock },
		current: func() string { return m.current },
		cpus:    func() ([]int, error) { return m.cpus, nil },
		measure: func(ctx context.Context, p Plan, test Test) (Round, error) {
			if err := ctx.Err(); err != nil {
				return Round{}, err
			}
			n := len(m.measured)
			m.measured = append(m.measured, string(test)+" "+m.current)
			m.clock += p.WarmUp + p.Round
			r := Round{Seconds: p.Round.Seconds(), Value: 100, Client: Use{CPU: p.Pin.Client, Thread: 0.5, Busy: 0.5}, Server: Use{CPU: p.Pin.Server, Thread: 0.9, Busy: 0.9}}
			if m.value != nil {
				r.Value = m.value(n, m.current)
			}
			if m.after != nil {
				m.after(n, m)
			}
			return r, nil
		},
	}
}

func (m *made) choose(_ context.Context, name string) error {
	if err := m.fails[name]; err != nil {
		return err
	}
	m.selected = append(m.selected, name)
	if !m.ignores {
		m.current = name
	}
	return nil
}

func newMade() *made { return &made{current: "tsc", cpus: []int{0, 1, 2, 3}} }

func TestBlocksGoThroughTheClocksourcesAndBack(t *testing.T) {
	m := newMade()
	o, err := m.edges().run(t.Context(), Plan{Tests: []Test{RR}, Sources: []string{"tsc", "hpet", "acpi_pm"}, Select: m.choose})
	if err != nil {
		t.Fatal(err)
	}
	one := []string{"rr tsc", "rr hpet", "rr acpi_pm", "rr acpi_pm", "rr hpet", "rr tsc"}
	if want := slices.Concat(one, one, one); !slices.Equal(m.measured, want) {
		t.Errorf("measured %q, want %q: three blocks are six rounds of each", m.measured, want)
	}
	switched := []string{"hpet", "acpi_pm", "hpet", "tsc"}
	if want := slices.Concat(switched, switched, switched); !slices.Equal(m.selected, want) {
		t.Errorf("selected %q, want %q: nothing that is current already", m.selected, want)
	}
	if o.Clocksource != "tsc" || o.ClocksourceAfter != "tsc" || len(o.Rounds) != 18 || len(o.Results) != 3 || len(o.Verdicts) != 2 || len(o.Warnings) > 0 {
		t.Errorf("it came to %+v", o)
	}
	for i, r := range o.Rounds {
		if r.Block != i/6 || !near(r.Start, float64(i)*1.2) {
			t.Errorf("round %d is of block %d and began at %v s", i, r.Block, r.Start)
		}
	}
	for _, r := range o.Results {
		if r.Rounds != 6 || !r.ReachedWidth || r.Value != 100 || r.RatioToBest != 1 {
			t.Errorf("result %+v", r)
		}
	}
}

func TestOneClocksourceIsMeasuredWithoutSelectingAny(t *testing.T) {
	m := newMade()
	o, err := m.edges().run(t.Context(), Plan{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.selected) > 0 || len(m.measured) != 18 || m.measured[0] != "stream tsc" || m.measured[17] != "crr tsc" {
		t.Errorf("selected %q, measured %q", m.selected, m.measured)
	}
	p := o.Plan
	if *p.Pin != (Placement{Client: 1, Server: 0}) || p.Round != time.Second || p.WarmUp != 200*time.Millisecond || p.Most != 30*time.Second ||
		p.Width != 0.025 || p.Flows != 1 || !slices.Equal(p.Tests, Tests()) || !slices.Equal(p.Sources, []string{"tsc"}) {
		t.Errorf("the plan with everything filled in: %+v, pinned %+v", p, p.Pin)
	}
	if len(o.Results) != 3 || o.Results[0].Size != 128<<10 || o.Results[1].Size != 1 || o.Results[0].RatioToBest != 1 || len(o.Verdicts) > 0 {
		t.Errorf("results %+v, verdicts %+v", o.Results, o.Verdicts)
	}
}

func TestATestGoesOnUntilItsIntervalIsNarrowOrTheTimeIsUp(t *testing.T) {
	steady := func(n int) float64 { return 100 + float64(n%2) }
	for _, c := range []struct {
		name   string
		value  func(n int) float64
		most   time.Duration
		width  float64
		rounds int
		wide   bool
	}{
		{"six rounds are the least", steady, 0, 0, 6, false},
		{"a noisy start is outweighed by later rounds", func(n int) float64 {
			if n == 0 {
				return 50
			}
			return steady(n)
		}, 0, 0, 9, false},
		{"noise goes on until the time is up", func(n int) float64 { return 100 + 50*float64(n%2) }, 0, 0, 25, true},
		{"a wider interval is enough if it is asked for", func(n int) float64 { return 100 + 50*float64(n%2) }, 0, 0.5, 6, false},
		{"a test takes no block that would not be done in time", steady, 5 * time.Second, 0, 4, true},
		{"and one block at least", steady, time.Millisecond, 0, 1, true},
	} {
		m := newMade()
		m.value = func(n int, _ string) float64 { return c.value(n) }
		o, err := m.edges().run(t.Context(), Plan{Tests: []Test{Stream}, Most: c.most, Width: c.width})
		if err != nil || len(o.Results) != 1 {
			t.Fatal(c.name, err, o.Results)
		}
		if r := o.Results[0]; r.Rounds != c.rounds || r.ReachedWidth == c.wide {
			t.Errorf("%s: %d rounds, narrow %v; want %d rounds", c.name, r.Rounds, r.ReachedWidth, c.rounds)
		}
		if warned := slices.ContainsFunc(o.Warnings, func(w Warning) bool { return w.Code == WarnWidth }); warned != c.wide {
			t.Errorf("%s: warnings %+v", c.name, o.Warnings)
		}
	}
}

func TestAChangeThatNobodyAskedForEndsTheRun(t *testing.T) {
	both := []string{"tsc", "hpet"}
	for _, c := range []struct {
		name    string
		sources []string
		m       func(*made)
		rounds  int
		says    string
	}{
		{"under a round, which is worth nothing then", nil, func(m *made) {
			m.after = func(n int, m *made) {
				if n == 3 {
					m.current = "acpi_pm"
				}
			}
		}, 3, "it should be tsc and is acpi_pm"},
		{"after a selection", both, func(m *made) {
			m.after = func(n int, m *made) {
				if n == 2 {
					m.current = "tsc"
				}
			}
		}, 2, "it should be hpet and is tsc"},
		{"a selection that did nothing", both, func(m *made) { m.ignores = true }, 1, "it should be hpet and is tsc"},
	} {
		m := newMade()
		c.m(m)
		p := Plan{Sources: c.sources}
		if c.sources != nil {
			p.Select = m.choose
		}
		o, err := m.edges().run(t.Context(), p)
		if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.says)
		}
		if len(o.Rounds) != c.rounds || len(o.Results) == 0 || !slices.ContainsFunc(o.Warnings, func(w Warning) bool { return w.Code == WarnPartial }) {
			t.Errorf("%s: %d rounds, want %d; results %+v, warnings %+v", c.name, len(o.Rounds), c.rounds, o.Results, o.Warnings)
		}
	}
}

func TestWhatWasMeasuredOutlivesTheEndOfTheRun(t *testing.T) {
	gone := errors.New("the kernel refused")
	m := newMade()
	m.fails = map[string]error{"hpet": gone}
	o, err := m.edges().run(t.Context(), Plan{Sources: []string{"tsc", "hpet"}, Select: m.choose})
	if !errors.Is(err, gone) || !strings.Contains(err.Error(), "select the clocksource hpet") || len(o.Rounds) != 1 {
		t.Errorf("error %v after %d rounds", err, len(o.Rounds))
	}
	ctx, cancel := context.WithCancel(t.Context())
	m = newMade()
	m.after = func(n int, _ *made) {
		if n == 7 {
			cancel()
		}
	}
	o, err = m.edges().run(ctx, Plan{})
	if !errors.Is(err, context.Canceled) || len(o.Rounds) != 8 || len(o.Results) != 2 {
		t.Errorf("error %v after %d rounds, %d results", err, len(o.Rounds), len(o.Results))
	}
}

func TestTheThreadsStandOnTheFirstTwoCPUs(t *testing.T) {
	for _, c := range []struct {
		cpus []int
		pin  *Placement
		want Placement
		warn bool
	}{
		{[]int{0, 1, 2}, nil, Placement{1, 0}, false},
		{[]int{4, 6}, nil, Placement{6, 4}, false},
		{[]int{5}, nil, Placement{5, 5}, true},
		{[]int{0, 1, 2}, &Placement{2, 2}, Placement{2, 2}, false},
	} {
		m := newMade()
		m.cpus = c.cpus
		o, err := m.edges().run(t.Context(), Plan{Tests: []Test{RR}, Pin: c.pin})
		warned := slices.ContainsFunc(o.Warnings, func(w Warning) bool { return w.Code == WarnOneCPU })
		if err != nil || *o.Plan.Pin != c.want || warned != c.warn {
			t.Errorf("of %v: %+v, warned %v, error %v", c.cpus, o.Plan.Pin, warned, err)
		}
	}
}

func TestAWrongPlanIsRefused(t *testing.T) {
	choose := func(context.Context, string) error { return nil }
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{Tests: []Test{"udp"}}, `there is no test "udp": want stream, rr, crr`},
		{Plan{Tests: []Test{RR, RR}}, "the test rr is named twice"},
		{Plan{Size: MaxSize + 1}, "messages of 16777217 bytes"},
		{Plan{Flows: -1}, "-1 flows"},
		{Plan{Sources: []string{"tsc", "tsc"}, Select: choose}, `"tsc" is empty or named twice`},
		{Plan{Sources: []string{""}, Select: choose}, `"" is empty or named twice`},
		{Plan{Sources: []string{"tsc"}}, "nothing that selects them"},
		{Plan{Sources: strings.Split("a b c d e f g h i j k l m n o p q", " "), Select: choose}, "17 clocksources, want at most 16"},
		{Plan{Pin: &Placement{Client: -1}}, "CPU -1, want 0 to 8191"},
		{Plan{Round: time.Hour}, "1h0m0s for a round, want at most 1m0s"},
		{Plan{WarmUp: -1}, "for the warm-up"},
		{Plan{Most: 2 * time.Hour}, "2h0m0s for a test, want at most 1h0m0s"},
		{Plan{Width: 1}, "intervals within 1 of the value"},
	} {
		if err := c.plan.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	if err := (Plan{}).Validate(); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(block([]string{"a", "b"}), block([]string{"a"})); got != "[a b b a] [a]" {
		t.Errorf("blocks are %s", got)
	}
}
