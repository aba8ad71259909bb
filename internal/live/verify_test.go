package live

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

func TestAnEraThatAsksOtherCPUsAfterAVerdictDoesSo(t *testing.T) {
	offline := errors.New("it is offline")
	cases := []struct {
		name    string
		era     watchdog.Era
		cpus    int
		current string
		remote  func(cpu int, read clocksource.Cycles) (clocksource.Cycles, error)
		want    *Verification
	}{
		{"CPUs that agree", watchdog.E5, 3, "tsc", nil, &Verification{}},
		{"some are behind and one is ahead", watchdog.E5, 3, "tsc", func(cpu int, read clocksource.Cycles) (clocksource.Cycles, error) {
			return read + clocksource.Cycles(1_000_000*(2*cpu-3)), nil
		}, &Verification{Verification: watchdog.Verification{Behind: []int{0, 1}, Ahead: []int{2}}}},
		{"one does not answer", watchdog.E5, 2, "tsc", func(int, clocksource.Cycles) (clocksource.Cycles, error) { return 0, offline },
			&Verification{Silent: []int{1}, Why: "it is offline"}},
		{"there is no other", watchdog.E5, 1, "tsc", nil, &Verification{}},
		{"the clock is not in use", watchdog.E5, 3, "hpet", nil, nil},
		{"an era without the check", watchdog.E4, 3, "tsc", nil, nil},
		{"and a later one without it", watchdog.E12, 3, "tsc", nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(c.cpus)
			s.remote = c.remote
			s.rate = func(tick int) clocksource.Nanos { // which every era condemns
				if tick >= 3 {
					return 300_000
				}
				return 0
			}
			config := configOf(s, c.era, 6)
			config.Header.Current = c.current
			w, err := New(config, s, s)
			if err != nil {
				t.Fatal(err)
			}
			var got *Verification
			condemned := false
			err = w.Run(t.Context(), func(tick *Tick) error {
				if tick.Condemned() != nil {
					condemned, got = true, tick.Verification
				} else if tick.Verification != nil {
					t.Errorf("tick %d made a check after no verdict", tick.Number)
				}
				return nil
			})
			if err != nil || !condemned {
				t.Fatalf("condemned %v, error %v", condemned, err)
			}
			if (got == nil) != (c.want == nil) {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
			if got == nil {
				return
			}
			// All others are asked only where chance draws each of them.
			if asked := len(got.Checked) > 0; asked != (c.cpus > 1) || got.Checked == nil {
				t.Errorf("asked %v of %d CPUs", got.Checked, c.cpus)
			}
			for _, side := range []struct {
				name      string
				got, want []int
			}{{"ahead", got.Ahead, c.want.Ahead}, {"behind", got.Behind, c.want.Behind}, {"silent", got.Silent, c.want.Silent}} {
				var want []int
				for _, cpu := range side.want {
					for _, asked := range got.Checked {
						if asked == cpu {
							want = append(want, cpu)
						}
					}
				}
				if d := cmp.Diff(want, side.got, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s: %s", side.name, d)
				}
			}
			if got.Why != c.want.Why {
				t.Errorf("why %q, want %q", got.Why, c.want.Why)
			}
		})
	}
}
