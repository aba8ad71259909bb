package hw

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

func TestMain(m *testing.M) {
	ChildMain()
	// A program with the race detector waits for a second before it ends. That is for
	// late reports, of which the children that read counters have none.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// skipUnless skips the test where the machine lacks what it needs, and says why.
func skipUnless(t *testing.T, err error) {
	t.Helper()
	var n *NotHere
	if errors.As(err, &n) {
		t.Skip(n)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLiveReferencesRunWithTheProcessorsCounter reads every reference that this
// machine has at a watchdog's pace, and compares the rates over two intervals.
func TestLiveReferencesRunWithTheProcessorsCounter(t *testing.T) {
	f, err := TSCFrequency(t.Context())
	skipUnless(t, err)
	references := []string{HPET, ACPIPM, MonotonicRaw, Monotonic, BootTime, RealTime, TAI, MonotonicVDSO, RealTimeVDSO, "ptp0"}
	for _, name := range references {
		t.Run(name, func(t *testing.T) {
			plan := Plan{Reference: name, Ticks: 3, Interval: 100 * time.Millisecond}
			if name == HPET || name == ACPIPM {
				plan.Interval = Pace
			}
			s, err := OpenStream(plan)
			skipUnless(t, err)
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			var groups []Group
			err = s.Run(t.Context(), func(k *Tick) error {
				for _, g := range k.Groups {
					g.Samples = append([]Sample(nil), g.Samples...)
					groups = append(groups, g)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(groups) != 3 {
				t.Fatalf("%d groups of read-backs, want 3", len(groups))
			}
			ref := s.Reference()
			for _, g := range groups {
				if g.Skipped != "" || len(g.Samples) != DefaultReadBacks {
					t.Errorf("CPU %d: %d read-backs (%s), want %d", g.CPU, len(g.Samples), g.Skipped, DefaultReadBacks)
				}
				for _, x := range g.Samples {
					delay := ref.Delay(x.Before, x.After)
					t.Logf("CPU %d delay %d ns, again %d ns, late %v %s", g.CPU, delay, ref.Delay(x.After, x.Again), x.Late, x.Cause)
					if delay < 0 || delay > clocksource.NanosPerSecond {
						t.Errorf("CPU %d: the reference went from %d to %d within a read-back", g.CPU, x.Before, x.After)
					}
				}
			}
			first, last := narrow(ref, groups[0]), narrow(ref, groups[2])
			byReference := float64(ref.Delay(first.Before, last.Before))
			byCounter := float64(last.Clock-first.Clock) / float64(f.Hz) * 1e9
			doubt := float64(ref.Delay(first.Before, first.After)+ref.Delay(last.Before, last.After)) + 2e9/float64(ref.Hz)
			t.Logf("%s %.0f ns, %s %.0f ns, %+.0f ppm; rate: %+v", name, byReference, ProcessorCounter, byCounter, (byCounter/byReference-1)*1e6, f)
			// Clocks that NTP steers may be 500 ppm off; a machine whose counters differ by 2 % is broken.
			if d := math.Abs(byReference - byCounter); d > doubt+0.02*byReference {
				t.Errorf("%s says %.0f ns and %s %.0f ns", name, byReference, ProcessorCounter, byCounter)
			}
		})
	}
}

// narrow returns the read-back with the least delay.
func narrow(ref Counter, g Group) Sample {
	best := g.Samples[0]
	for _, s := range g.Samples {
		if ref.Delay(s.Before, s.After) < ref.Delay(best.Before, best.After) {
			best = s
		}
	}
	return best
}

func TestLiveRealTimeClockTicks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	first, err := WatchRTC(ctx, "rtc0")
	skipUnless(t, err)
	last, err := WatchRTC(ctx, "rtc0")
	if err != nil {
		t.Fatal(err)
	}
	hz, doubt, err := Rate(first, last)
	t.Log(first, last, hz, doubt, err)
	if err != nil || hz == 0 {
		t.Errorf("rate %d, %v", hz, err)
	}
}

func TestLiveProbeSaysWhyForEach(t *testing.T) {
	for _, a := range Probe() {
		t.Logf("%s: %s: %s; %s [%s %d Hz] %v", a.Name, a.Can, a.Why, a.Remedy, a.From, a.Hz, a.Ways)
		if a.Can == "" || a.Why == "" || a.Needs == "" || a.Mask == 0 || a.From == "" {
			t.Errorf("incomplete: %+v", a)
		}
		if err := a.Err(); (err == nil) != (a.Can == "yes") {
			t.Errorf("%s: answer %s, error %v", a.Name, a.Can, err)
		}
		if isDevice(a.Name, "ptp") && a.Err() == nil {
			s, err := ComparePTP(a.Name)
			t.Log(s, err)
			if err != nil || s.Device == 0 || s.After < s.Before {
				t.Errorf("%s: %+v, %v", a.Name, s, err)
			}
		}
	}
}

func Example_streamOfReadBacks() {
	s, err := OpenStream(Plan{Reference: MonotonicRaw, Interval: 10 * time.Millisecond, Ticks: 2, ReadBacks: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	err = s.Run(context.Background(), func(t *Tick) error {
		g := t.Groups[0]
		fmt.Println(t.Number, len(g.Samples), g.Samples[0].After >= g.Samples[0].Before)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 0 1 true
	// 1 1 true
	// <nil>
}
