package cli

import (
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/dispatch"
)

// simulateProgress shows on a terminal how far a run is. Elsewhere it says nothing.
type simulateProgress struct {
	env   *Env
	on    bool
	label string // what is running, if that is a part of the whole
	meter dispatch.Meter
	last  time.Time
	shown bool
}

func newSimulateProgress(env *Env) *simulateProgress {
	return &simulateProgress{env: env, on: env.IsTerminal(env.Stderr)}
}

// tell is what [simulate.Runner] calls.
func (p *simulateProgress) tell(begin bool, boots, kept uint64) {
	if !p.on {
		return
	}
	now := time.Now()
	if begin {
		p.meter = dispatch.NewMeter(boots, kept, now)
	} else {
		p.meter.Add(boots)
	}
	const often = time.Second / 5
	if now.Sub(p.last) < often {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.env.Stderr, "\r\x1b[K%s", p.text(now))
}

func (p *simulateProgress) text(now time.Time) string {
	text := "simulate: "
	if p.label != "" {
		text += p.label + ", "
	}
	text += fmt.Sprintf("%d of %d boots, %.0f %%", p.meter.Done, p.meter.Total, p.meter.Share()*100)
	if left, ok := p.meter.Left(now); ok {
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// end takes the line away.
func (p *simulateProgress) end() {
	if p.shown {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}
