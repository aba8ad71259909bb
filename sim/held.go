package sim

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
)

// held walks through the attempts of one process of kind [HeldReads] in one boot: a
// chain of two states that takes a step with each attempt.
type held struct {
	process *Process
	index   int // of the process
	draws   stream
	attempt uint64 // number of the next one, since the process begins
	in      bool   // the last one was held
}

// Each attempt uses so many random numbers, one for each purpose.
const (
	drawStep = iota
	drawHold
	drawsPerAttempt
)

// begin starts the walk of a boot.
func (h *held) begin(seed, boot uint64) {
	h.draws = newStream(seed, boot, h.index)
	h.attempt, h.in = 0, false
}

// step is the state of an attempt behind one with the state in.
func (h *held) step(in bool, attempt uint64) bool {
	u := h.draws.unit(attempt*drawsPerAttempt + drawStep)
	if in {
		return u >= h.process.Leave
	}
	return u < h.process.Enter
}

// next is how long the attempt that begins at t is held.
func (h *held) next(t clocksource.Nanos) clocksource.Nanos {
	if t < h.process.From {
		return 0
	}
	at := h.attempt
	h.in = h.step(h.in, at)
	h.attempt++
	if !h.in {
		return 0
	}
	return h.process.Extra.Draw(h.draws.unit(at*drawsPerAttempt + drawHold))
}

// free returns how many of the next n attempts come before one that is held.
func (h *held) free(n uint64) uint64 {
	in := h.in
	for i := range n {
		if in = h.step(in, h.attempt+i); in {
			return i
		}
	}
	return n
}

// pass goes on behind so many attempts that are not held, of which there is one at least.
func (h *held) pass(n uint64) { h.attempt, h.in = h.attempt+n, false }

// validateHeld checks what only the kind held-reads has, and that it has nothing else.
func (p *Process) validateHeld() error {
	if p.Kind != HeldReads {
		if p.Enter != 0 || p.Leave != 0 || p.From != 0 {
			return fmt.Errorf("from, enter or leave in a process of kind %s: they are of %s", p.Kind, HeldReads)
		}
		return nil
	}
	if !(p.Enter >= 0 && p.Enter <= 1) || !(p.Leave >= 0 && p.Leave <= 1) {
		return fmt.Errorf("enter %v, leave %v: want probabilities, 0 to 1", p.Enter, p.Leave)
	}
	if p.From < 0 || p.From > longest {
		return fmt.Errorf("from %s: want 0 to a week", formatTime(p.From))
	}
	for _, r := range p.Rates {
		if r != 0 {
			return fmt.Errorf("a rate in a process of kind %s, whose attempts come when the watchdog makes them: want enter and leave", p.Kind)
		}
	}
	if length, bounded := p.Length.Max(); length != 0 || !bounded {
		return fmt.Errorf("a length in a process of kind %s, which lasts until an attempt leaves it: want leave", p.Kind)
	}
	if p.Scope != WholeMachine {
		return fmt.Errorf("scope %s: %s are of the whole machine", p.Scope, p.Kind)
	}
	return nil
}
