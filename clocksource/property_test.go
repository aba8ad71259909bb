package clocksource

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// invariants are what must hold after every operation.
func invariants(r Registry) error {
	if !slices.IsSortedFunc(r.Sources, func(a, b Source) int { return b.Rating - a.Rating }) {
		return fmt.Errorf("the list is not sorted by rating: %v", names(r))
	}
	registered := map[string]Source{}
	for _, s := range r.Sources {
		if _, twice := registered[s.Name]; twice {
			return fmt.Errorf("%s is registered twice", s.Name)
		}
		registered[s.Name] = s
	}
	if _, ok := registered[r.Current]; !ok && r.Current != DefaultClock && (r.Booted || r.Current != "") {
		return fmt.Errorf("current clock %q is not registered", r.Current)
	}
	if ref, ok := registered[r.Reference]; r.Reference != "" && (!ok || ref.Flags.Has(MustVerify) || r.Rules.ContinuousReference && !ref.Flags.Has(IsContinuous)) {
		return fmt.Errorf("reference %q: %+v", r.Reference, ref)
	}
	watched := map[string]bool{}
	for _, name := range r.Watched {
		s, ok := registered[name]
		if !ok || watched[name] || !s.Flags.Has(MustVerify) && !s.Flags.Has(Unstable) {
			return fmt.Errorf("%q is watched: %+v", name, s)
		}
		watched[name] = true
	}
	for _, s := range r.Sources {
		if s.Flags.Has(MustVerify) && !s.Flags.Has(Unstable) && !watched[s.Name] {
			return fmt.Errorf("%s is not watched", s.Name)
		}
		if s.Flags.Has(Unstable) && s.Flags.Has(Watchdog) {
			return fmt.Errorf("%s is condemned and its saved pair is valid", s.Name)
		}
		listed := slices.Contains(r.Available(), s.Name)
		if r.Oneshot && r.Rules.AvailableFilter && listed != s.Flags.Has(ValidForHRES) {
			return fmt.Errorf("%s is available %v with flags %v", s.Name, listed, s.Flags)
		}
	}
	if want := len(r.Watched) > 0 && (r.Reference != "" || r.Rules.RunsWithoutReference); r.Running && !want {
		return fmt.Errorf("the timer is armed with %v watched and reference %q", r.Watched, r.Reference)
	}
	if len(r.Override) > MaxName {
		return fmt.Errorf("a wish of %d bytes", len(r.Override))
	}
	return nil
}

// settled is what must hold once the thread has run.
func settled(r Registry) error {
	for _, name := range r.Watched {
		if s, _ := r.Source(name); s.Flags.Has(Unstable) || !s.Flags.Has(MustVerify) {
			return fmt.Errorf("%s is watched after the thread ran: %v", name, s.Flags)
		}
	}
	return nil
}

// effectsFit checks the effects of one operation against the state that it left.
func effectsFit(before, after Registry, effects []Effect) error {
	current, reference := before.Current, before.Reference
	if !before.Booted && after.Booted {
		current = DefaultClock
	}
	for _, e := range effects {
		switch e.Kind {
		case EffectSwitched:
			if e.Other != current {
				return fmt.Errorf("switched from %s, which was not current, but %s", e.Other, current)
			}
			current = e.Clock
		case EffectReferenceChanged:
			reference = e.Clock
		case EffectThreadNeeded:
			if !after.ThreadPending && !after.Booted {
				return fmt.Errorf("a thread was woken before the boot was done")
			}
		}
	}
	if current != after.Current || reference != after.Reference {
		return fmt.Errorf("effects lead to %s and %s, the registry has %s and %s", current, reference, after.Current, after.Reference)
	}
	return nil
}

// operate does one random operation and says which.
func operate(rng *rand.Rand, r *Registry) (string, []Effect) {
	all := []string{"jiffies", "hpet", "acpi_pm", "tsc-early", "tsc", "kvm-clock", "ticking", "wdtest-ktime"}
	name := all[rng.IntN(len(all))]
	switch rng.IntN(18) {
	case 0, 1, 2, 3:
		s := randomSource(rng, r.Rules, name)
		effects, _ := r.Register(s) // a name that is taken is an error
		return fmt.Sprintf("register %+v", s), effects
	case 4:
		_, effects, _ := r.Unregister(name)
		return "unregister " + name, effects
	case 5:
		return "boot done", r.BootDone()
	case 6:
		if r.CanOneshot() {
			r.SetOneshot(true)
		}
		return "oneshot", nil
	case 7, 8:
		return "condemn " + name, r.MarkUnstable(name)
	case 9:
		return "mark tsc", r.MarkTSCUnstable("a reason")
	case 10:
		return "run thread", r.RunThread()
	case 11:
		return "run pending", r.RunPending()
	case 12:
		return "grant " + name, r.GrantHRES(name)
	case 13:
		effects, _ := r.WriteCurrent([]byte(name + "\n"))
		return "write " + name, effects
	case 14:
		effects, _ := r.WriteUnbind([]byte(name)) // EBUSY and the like
		return "unbind " + name, effects
	case 15:
		r.SetReady(name)
		return "ready " + name, nil
	case 16:
		if rng.IntN(4) == 0 {
			return "late init", r.LateInit()
		}
		effects, _ := r.ReplaceTSC(r.Rules.TSC(2_300_000, true)) // tsc may be registered
		return "replace tsc", effects
	default:
		effects, _ := r.ChangeRating(name, rng.IntN(400))
		return "rate " + name, effects
	}
}

func randomSource(rng *rand.Rand, rules Rules, name string) Source {
	switch name {
	case "ticking":
		s := watchedClock(name, 50)
		s.Flags &^= IsContinuous
		return s
	case "jiffies":
		s, _ := rules.Jiffies(250)
		return s
	}
	s, _ := rules.Source(name, 100_000_000)
	if s.Flags.Has(MustVerify) && rng.IntN(4) == 0 {
		s.Flags &^= MustVerify
	}
	return s
}

func TestInvariantsHoldUnderRandomOperations(t *testing.T) {
	for _, rules := range []Rules{RulesAt(2, 6, 24), RulesAt(2, 6, 35), RulesAt(3, 6, 0), RulesAt(4, 4, 0), RulesAt(4, 17, 0), RulesAt(5, 10, 223), RulesAt(5, 15, 0), RulesAt(6, 12, 117), RulesAt(7, 0, 0), RulesAt(7, 3, 4)} {
		t.Run(rules.Release, func(t *testing.T) {
			for seed := range uint64(50) {
				rng := rand.New(rand.NewPCG(seed, 1))
				r := NewRegistry(rules)
				var history []string
				for range 60 {
					before, frozen := r, r.Clone() // before shares slices with r
					what, effects := operate(rng, &r)
					history = append(history, what)
					for _, err := range []error{invariants(r), effectsFit(before, r, effects)} {
						if err != nil {
							t.Fatalf("seed %d: %v\nafter %q", seed, err, history)
						}
					}
					if !reflect.DeepEqual(before, frozen) {
						t.Fatalf("seed %d: %q changed a copy made before:\n%s", seed, what, cmp.Diff(frozen, before))
					}
				}
				once := r.Clone()
				for _, s := range r.Sources {
					once.MarkUnstable(s.Name)
				}
				twice := once.Clone()
				for _, s := range r.Sources {
					if effects := twice.MarkUnstable(s.Name); effects != nil {
						t.Fatalf("seed %d: a second verdict on %s did %v", seed, s.Name, steps(effects))
					}
				}
				if !reflect.DeepEqual(once, twice) {
					t.Fatalf("seed %d: a second verdict changed the state", seed)
				}
				if r.BootDone(); !rules.RatingAtOnce {
					r.RunThread()
					if err := settled(r); err != nil {
						t.Fatalf("seed %d: %v\nafter %q", seed, err, history)
					}
				}
				data, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				var back Registry
				if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(r, back) {
					t.Fatalf("seed %d: %v: after JSON (-want +got):\n%s", seed, err, cmp.Diff(r, back))
				}
			}
		})
	}
}

func TestAQuietCheckCostsTheRegistryNoAllocation(t *testing.T) {
	r := pc(t, RulesAt(6, 12, 0))
	r.SetReady("tsc")
	if n := testing.AllocsPerRun(100, func() {
		for _, name := range r.Watched {
			if s, ok := r.Source(name); !ok || s.Flags.Has(Unstable) {
				t.Fatal("tsc is not there")
			}
			r.SetReady(name)
			r.GrantHRES(name)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
