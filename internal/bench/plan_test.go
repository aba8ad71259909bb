package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/hw"
)

func TestAPlanSaysEverythingThatIsWrongWithIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		plan Plan
		want []string
	}{
		{"the zero plan is right", Plan{}, nil},
		{"its defaults are right", Plan{}.withDefaults(), nil},
		{"an unknown part", Plan{Parts: []Part{"cost"}}, []string{`no part "cost"`}},
		{"an unknown clock", Plan{Clocks: []string{"monotonic_coarse"}}, []string{`no clock "monotonic_coarse"`}},
		{"a CPU that cannot be, and one twice", Plan{CPUs: []int{-1, 3, 3}}, []string{"CPU -1", "CPU 3 is named twice"}},
		{"counts and times out of range", Plan{Batches: -1, Rounds: 1 << 30, RoundTime: time.Hour}, []string{"-1 batches", "rounds, want at most", "1h0m0s for a round"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.plan.Validate()
			if (err != nil) != (len(tt.want) > 0) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func TestAPlanComesBackFromJSON(t *testing.T) {
	p := Plan{CPUs: []int{0, 2}, AcceptLosingTSC: true, CounterHz: 2_600_000_000}.withDefaults()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Plan
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(b) {
		t.Errorf("%s became %s, %v", b, again, err)
	}
}

func TestCountersAreReadAtAWatchdogsPaceUnlessTheLossIsAccepted(t *testing.T) {
	for _, name := range []string{hw.HPET, hw.ACPIPM, "ptp0", hw.MonotonicVDSO} {
		slow := counterPlan(name, 1, Plan{}.withDefaults())
		if slow.Interval < hw.Pace || slow.ReadBacks > hw.DefaultReadBacks || slow.AcceptLosingTSC {
			t.Errorf("%s is read by %+v", name, slow)
		}
		fast := counterPlan(name, 1, Plan{AcceptLosingTSC: true}.withDefaults())
		if fast.Interval >= hw.Pace || !fast.AcceptLosingTSC {
			t.Errorf("with the loss accepted %s is read by %+v", name, fast)
		}
		for _, p := range []hw.Plan{slow, fast} {
			if err := p.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
