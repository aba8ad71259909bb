package campaign

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// carry runs a plan to its end. outcome says what a trial comes to; at most so many
// of each batch are carried out before Next is asked again, in an order of its own.
func carry(t *testing.T, p *Plan, most int, outcome func(Trial) Verdict) (order []string, verdicts map[string]Verdict) {
	t.Helper()
	verdicts = map[string]Verdict{}
	rng := rand.New(rand.NewPCG(uint64(most), 0))
	for range 100_000 {
		next, err := p.Next(func(id string) (Verdict, bool) { v, ok := verdicts[id]; return v, ok })
		if err != nil {
			t.Fatal(err)
		}
		if len(next) == 0 {
			return order, verdicts
		}
		if most > 0 {
			rng.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
			next = next[:min(most, len(next))]
		}
		for _, trial := range next {
			if _, twice := verdicts[trial.ID]; twice {
				t.Fatalf("trial %s came twice", trial.ID)
			}
			order = append(order, trial.ID)
			verdicts[trial.ID] = outcome(trial)
		}
	}
	t.Fatal("the campaign does not end")
	return nil, nil
}

// edgeAt notices steps of a size and more, and knows nothing else.
func edgeAt(by time.Duration) func(Trial) Verdict {
	return func(t Trial) Verdict {
		if t.Cell.Fault.By >= by {
			return Verdict{Unstable, Skew}
		}
		return Verdict{Outcome: Stable}
	}
}

func TestTheSamePlanHasTheSameTrialsWhereverItWasStopped(t *testing.T) {
	p := somePlan()
	p.Grids[0].UntilWidth = 0.55
	p.Look = 2
	one, want := carry(t, p, 0, edgeAt(300*time.Microsecond))
	again, _ := carry(t, p, 0, edgeAt(300*time.Microsecond))
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("the order changed (-one +again):\n%s", diff)
	}
	for _, most := range []int{1, 3, 7} {
		_, got := carry(t, p, most, edgeAt(300*time.Microsecond))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stopped after each %d trials, other trials were carried out (-want +got):\n%s", most, diff)
		}
	}
}

func TestEachBlockHasOneBootOfEveryCellInAnOrderOfItsOwn(t *testing.T) {
	p := somePlan()
	p.Searches = nil
	next, err := p.Next(func(string) (Verdict, bool) { return Verdict{}, false })
	if err != nil {
		t.Fatal(err)
	}
	cells := 3 + 1 + 8
	if want := 3*6 + 4 + 8*3; len(next) != want {
		t.Fatalf("%d trials, want %d", len(next), want)
	}
	var orders [][]string
	for block := range 3 {
		var ids []string
		for _, trial := range next[block*cells : (block+1)*cells] {
			if trial.Repetition != block+1 {
				t.Errorf("trial %s stands in block %d", trial.ID, block+1)
			}
			ids = append(ids, trial.Cell.ID())
		}
		orders = append(orders, slices.Clone(ids))
		slices.Sort(ids)
		if n := len(slices.Compact(ids)); n != cells {
			t.Errorf("block %d has boots of %d cells, want %d", block+1, n, cells)
		}
	}
	if slices.Equal(orders[0], orders[1]) && slices.Equal(orders[1], orders[2]) {
		t.Error("all blocks have the same order")
	}
}

func TestIdsAndSeedsFollowFromThePlan(t *testing.T) {
	p := somePlan()
	trials := func() []Trial {
		next, err := p.Next(func(string) (Verdict, bool) { return Verdict{}, false })
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	before := map[string]Trial{}
	seeds := map[uint64]string{}
	for _, trial := range trials() {
		before[trial.ID] = trial
		if other, twice := seeds[trial.Seed]; twice {
			t.Errorf("trials %s and %s have the same seed", other, trial.ID)
		}
		seeds[trial.Seed] = trial.ID
	}
	// Longer cells and other cells beside them leave the ids as they are.
	p.Grids[0].Boots, p.Grids[1].CPUs = 9, []int{2, 8}
	found := 0
	for _, trial := range trials() {
		if was, ok := before[trial.ID]; ok {
			found++
			if diff := cmp.Diff(was, trial); diff != "" {
				t.Errorf("trial %s changed:\n%s", trial.ID, diff)
			}
		}
	}
	if found != len(before) {
		t.Errorf("%d of %d trials have the id that they had", found, len(before))
	}
	p.Seed++
	for _, trial := range trials() {
		if was, ok := before[trial.ID]; ok && was.Seed == trial.Seed {
			t.Errorf("trial %s has the same seed under another seed of the plan", trial.ID)
		}
	}
}

func TestACellStopsWhenItsIntervalIsNarrowEnough(t *testing.T) {
	p := somePlan()
	p.Searches, p.Grids = nil, p.Grids[:1]
	p.Look, p.Grids[0].Boots, p.Grids[0].UntilWidth = 5, 100, 0.3
	// Without an unstable boot the width is z^2/(n + z^2): below 0.3 from 9 boots on, seen at 10.
	_, verdicts := carry(t, p, 4, func(trial Trial) Verdict {
		if n, _ := trial.Cell.Retries(); n == 3 && trial.Repetition%2 == 0 {
			return Verdict{Unstable, ReadDelay}
		}
		return Verdict{Outcome: Stable}
	})
	boots := map[int]int{}
	for id := range verdicts {
		trial, ok := p.Find(id, func(id string) (Verdict, bool) { v, ok := verdicts[id]; return v, ok })
		if !ok || trial.ID != id {
			t.Fatalf("trial %s is not found", id)
		}
		n, _ := trial.Cell.Retries()
		boots[n]++
	}
	// Half of the boots unstable: the width is below 0.3 from 39 on, seen at 40.
	if want := map[int]int{0: 10, 3: 40, 50: 10}; !cmp.Equal(boots, want) {
		t.Errorf("boots by retries: %v, want %v", boots, want)
	}
}

func TestASearchFindsTheEdge(t *testing.T) {
	p := somePlan()
	p.Grids = nil
	for _, edge := range []time.Duration{51 * time.Microsecond, 300 * time.Microsecond, 444 * time.Microsecond, 1999 * time.Microsecond} {
		_, verdicts := carry(t, p, 3, edgeAt(edge))
		known := func(id string) (Verdict, bool) { v, ok := verdicts[id]; return v, ok }
		edges := p.Edges(known)
		if len(edges) != 1 {
			t.Fatalf("%d edges", len(edges))
		}
		e := edges[0]
		if !e.Over || e.Why != "" || e.Missed >= edge || e.Noticed < edge || float64(e.Noticed)/float64(e.Missed) > 1.1 {
			t.Errorf("the edge is at %v, and found between %v and %v (%s)", edge, e.Missed, e.Noticed, e.Why)
		}
		trials := 0
		for i, point := range e.Points {
			trials += point.Count.Trials + point.Aside
			if i > 0 && e.Points[i-1].By >= point.By {
				t.Errorf("points are not in order: %v", e.Points)
			}
		}
		if trials != len(verdicts) {
			t.Errorf("%d trials at the points, %d carried out", trials, len(verdicts))
		}
		for id := range verdicts {
			if trial, ok := p.Find(id, known); !ok || trial.ID != id || trial.Cell.Fault.CPU != 1 {
				t.Errorf("trial %s is found as %+v, %v", id, trial, ok)
			}
		}
	}
}

func TestASearchWithoutAnEdgeSaysSo(t *testing.T) {
	p := somePlan()
	p.Grids = nil
	for _, c := range []struct {
		name            string
		outcome         func(Trial) Verdict
		missed, noticed time.Duration
		why             string
		trials          int
	}{
		{"nothing is noticed", edgeAt(time.Hour), 2 * time.Millisecond, 0, "not even 2ms was noticed by most", 10},
		{"everything is noticed", edgeAt(0), 0, 50 * time.Microsecond, "even 50us was noticed by most", 10},
		{"nothing is told", func(Trial) Verdict { return Verdict{Outcome: Hung} }, 0, 0, "at cpu1 +50us no trial told anything", 10},
		{"only latency condemns", func(Trial) Verdict { return Verdict{Unstable, ReadDelay} }, 0, 0, "at cpu1 +50us no trial told anything", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, verdicts := carry(t, p, 0, c.outcome)
			e := p.Edges(func(id string) (Verdict, bool) { v, ok := verdicts[id]; return v, ok })[0]
			if !e.Over || e.Missed != c.missed || e.Noticed != c.noticed || e.Why != c.why || len(verdicts) != c.trials {
				t.Errorf("%d trials, %+v", len(verdicts), e)
			}
		})
	}
}

func TestATrialThatIsNotOfThePlanIsNotFound(t *testing.T) {
	p := somePlan()
	cells, err := p.Cells()
	if err != nil {
		t.Fatal(err)
	}
	none := func(string) (Verdict, bool) { return Verdict{}, false }
	id := cells[0].ID()
	if _, ok := p.Find(id+"-0006", none); !ok {
		t.Error("the last trial of the first cell is not found")
	}
	for _, wrong := range []string{"", "x", id, id + "-0007", id + "-0000", id + "-6", "00000000-0001", id + "--001"} {
		if trial, ok := p.Find(wrong, none); ok {
			t.Errorf("%q is found as %s", wrong, trial.ID)
		}
	}
}

func Example() {
	plan := &Plan{
		Schema: PlanSchema, Executor: InQEMU, Seed: 1, Window: Duration(10 * time.Second),
		Grids: []Grid{{Kernels: []string{"5.10"}, Set: []string{RetriesParameter + "=3,50"}, CPUs: []int{2}, Loads: []string{"none"},
			Delays: []Delay{{In: 1, Low: time.Millisecond, High: time.Millisecond, On: OnClock}}, Faults: []Fault{{}}, Boots: 1}},
	}
	next, err := plan.Next(func(string) (Verdict, bool) { return Verdict{}, false })
	if err != nil {
		fmt.Println(err)
	}
	for _, t := range next {
		fmt.Println(t.Cell.Kernel, t.Cell.Set, t.Cell.Delay)
	}
	// Unordered output:
	// 5.10 [clocksource.max_cswd_read_retries=3] always 1ms
	// 5.10 [clocksource.max_cswd_read_retries=50] always 1ms
}
