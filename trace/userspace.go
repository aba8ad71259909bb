package trace

import "github.com/cswatch/cswatch/watchdog"

// A kernel's watchdog reads with interrupts off. A recorder in user space can be
// interrupted and lose its CPU in the middle of a read-back: what an era makes of
// one that was late for that is not what it would have made of the kernel's own.

// lateness notes what a late read-back that the era got says of a kernel.
func (p *player) lateness(clock int, late Cause) {
	if p.header.Source != Live {
		return
	}
	doubts := &p.doubts[clock]
	switch {
	case late == Preempted:
		doubts.add(DoubtUserSpace, "the recorder lost its CPU during a read-back, which cannot happen to a kernel")
	case late == Interrupted:
		doubts.add(DoubtUserSpace, "an interrupt came into a read-back, and a kernel reads with interrupts off")
	case late == Unexplained && !p.header.InterruptsCounted:
		doubts.add(DoubtUserSpace, "an interrupt may have come into a late read-back: the recorder did not count them")
	case late == Unexplained:
		p.bus[clock]++
	}
}

// unmarked notes attempts that were slow for the era and not for the recorder,
// whose limit was another: nobody looked why.
func (r *Replay) unmarked(v *watchdog.Verdict, own *reasons) {
	if r.header.Source != Live || v.Attempts == 0 || v.ReadLimit == 0 || own.doubt&(DoubtUserSpace|DoubtAttempts) != 0 {
		return
	}
	slow := v.Attempts - 1
	if v.Delay > v.ReadLimit {
		slow++
	}
	if slow > r.player.bus[v.Clock] {
		own.add(DoubtUserSpace, "a read-back was late for this era and not for the recorder, which did not look why")
	}
}

// heals reports whether a tick at which only user space was late leaves nothing
// behind but its pair: then the doubt ends with the next pair that is taken in
// time. It does not where the clock was given up, or the timer or a rotation moved.
func heals(k watchdog.Kind, own *reasons) bool {
	return own.doubt == DoubtUserSpace && (k == watchdog.Agreed || k == watchdog.Initialised || k == watchdog.RemoteTimedOut)
}
