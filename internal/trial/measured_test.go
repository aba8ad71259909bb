package trial

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/sim"
)

// delayedResults are boots of 18 checks, every sixth of which met an episode of three
// attempts that took 250 us and more.
func delayedResults(t *testing.T, boots int) []*campaign.Result {
	t.Helper()
	d, err := campaign.ParseDelay("burst in=0.1 out=0.3 150us..300us")
	if err != nil {
		t.Fatal(err)
	}
	var all []*campaign.Result
	for range boots {
		r := &campaign.Result{Trial: campaign.Trial{Cell: campaign.Cell{Kernel: "5.10", Delay: d}}, Judgement: campaign.Judgement{Outcome: campaign.Stable}}
		for i := range 18 {
			c := campaign.Check{DelaysNS: []int64{14_000}, ReferenceNS: []int64{10_000}}
			if i%6 == 0 {
				c.DelaysNS = []int64{250_000 + int64(i)*1000, 260_000, 270_000, 14_000}
			}
			r.Checks = append(r.Checks, c)
		}
		all = append(all, r)
	}
	return all
}

func TestAMachineHasTheDelaysThatWereMeasured(t *testing.T) {
	results := delayedResults(t, 10)
	var held [3]sim.Process
	for i, bound := range []Bound{Least, Estimate, Most} {
		text, err := Measured("qemu-skylake", results, 10*time.Second, bound)
		if err != nil {
			t.Fatal(err)
		}
		m, err := sim.Parse(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		p := m.Processes[len(m.Processes)-1]
		if p.Kind != sim.HeldReads || !strings.HasPrefix(m.Name, "qemu-skylake-measured") {
			t.Fatalf("machine %s, process %+v", m.Name, p)
		}
		held[i] = p
		if low, high := p.Extra.Draw(1e-9), p.Extra.Draw(1-1e-9); low < 240_000 || high > 260_000+16 {
			t.Errorf("delays of %d to %d ns are added to a quiet read, want 240000 to 260000, and a bin more", low, high)
		}
		if first, again := m.First.Draw(0.5), m.Read.Draw(0.5); first < 14_000 || first > 14_100 || again < 10_000 || again > 10_100 {
			t.Errorf("other reads take %d and %d ns, want 14000 and 10000", first, again)
		}
		// 18 of the 20 checks of ten seconds.
		if want := int64(m.From) + 1e9; int64(p.From) != want {
			t.Errorf("delays begin at %d ns, want %d", p.From, want)
		}
	}
	// Out of an episode: 15 quiet checks and 3 that enter, per boot; within: 2 that stay, 1 that leaves.
	if e := held[1]; math.Abs(e.Enter-3.0/18) > 1e-4 || math.Abs(e.Leave-1.0/3) > 1e-4 {
		t.Errorf("enter %v, leave %v", e.Enter, e.Leave)
	}
	if !(held[0].Enter < held[1].Enter && held[1].Enter < held[2].Enter && held[0].Leave > held[1].Leave && held[1].Leave > held[2].Leave) {
		t.Errorf("bounds are not around the estimate: %v", held)
	}
}

func TestDelaysThatDifferOrWereNotMeasuredMakeNoMachine(t *testing.T) {
	mixed := delayedResults(t, 2)
	mixed[1].Trial.Cell.Delay.High++
	quiet := delayedResults(t, 1)
	for i := range quiet[0].Checks {
		quiet[0].Checks[i].DelaysNS = []int64{14_000}
	}
	control := delayedResults(t, 1)
	control[0].Trial.Cell.Delay = campaign.Delay{}
	for _, c := range []struct {
		name    string
		base    string
		results []*campaign.Result
		want    string
	}{
		{"two models", "qemu-skylake", mixed, "all must have the same"},
		{"no trials", "qemu-skylake", nil, "no trials with delays"},
		{"a control", "qemu-skylake", control, "has the delay none"},
		{"no attempt was delayed", "qemu-skylake", quiet, "none of 18 attempts took 150"},
		{"a machine that does not exist", "abacus", delayedResults(t, 1), "abacus"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if text, err := Measured(c.base, c.results, time.Second, Estimate); err == nil || text != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}
