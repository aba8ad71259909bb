package live

import (
	"math/rand/v2"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Verification is the check across CPUs that eras from 5.14 to 7.0 make after they
// condemned the current clock. It informs and changes nothing.
type Verification struct {
	watchdog.Verification
	// Silent are CPUs that did not answer; they count as ones that agree to the era.
	Silent []int  `json:"not_answered"`
	Why    string `json:"why_not_answered,omitzero"` // of the last of them
}

// verifier lets the era read the counter of other CPUs.
type verifier struct {
	world World
	cpu   int
	out   *Verification
}

var _ watchdog.Remote = verifier{}

// ReadRemote implements [watchdog.Remote].
func (v verifier) ReadRemote(_, cpu int) (before, remote, after clocksource.Cycles) {
	before, remote, after, err := v.world.ReadRemote(v.cpu, cpu)
	if err != nil {
		v.out.Silent, v.out.Why = append(v.out.Silent, cpu), err.Error()
	}
	return before, remote, after
}

// verify makes the check across CPUs where the era has condemned the clock at this tick and makes one.
func (w *Watch) verify(cpu int) {
	condemned := w.tick.Condemned()
	if condemned == nil {
		return
	}
	v := &Verification{Silent: []int{}}
	plan := watchdog.VerifyPlan{Random: rand.IntN}
	v.Verification = w.dog.VerifyFrom(condemned.Clock, cpu, w.online, plan, verifier{w.world, cpu, v})
	if !v.Started {
		return
	}
	for _, list := range []*[]int{&v.Checked, &v.Ahead, &v.Behind} {
		if *list == nil {
			*list = []int{} // an empty list in JSON, not null
		}
	}
	w.tick.Verification = v
}
