package fidelity

import (
	"fmt"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Read is one read of the HPET's counter.
type Read struct {
	At    time.Duration // by a clock outside, to tell how often the counter wrapped between two reads
	CPU   int
	Value uint32
}

// Apart is what separates two checks on one CPU. Attempts of one check follow
// each other within milliseconds even where something holds the processor,
// checks after half a second.
const Apart = 200 * time.Millisecond

// Frame gathers reads, in order, into checks. A check begins on another CPU, for
// the watchdog moves on with each, or where reads are far apart.
func Frame(reads []Read, hpet clocksource.Hz) []Check {
	var checks []Check
	var now uint64
	for i, r := range reads {
		if i == 0 {
			now = uint64(r.Value)
			checks = append(checks, Check{At: r.At, Begin: now, CPU: r.CPU})
			continue
		}
		last := reads[i-1]
		gap := unwrap(r.Value-last.Value, r.At-last.At, hpet)
		now += gap
		if r.CPU != last.CPU || duration(gap, hpet) > Apart {
			checks = append(checks, Check{At: r.At, Begin: now, CPU: r.CPU})
			continue
		}
		c := &checks[len(checks)-1]
		c.Gaps = append(c.Gaps, gap)
	}
	return checks
}

// EndAt ends the boot with the check that condemned the TSC: the last one that had
// begun at the given time outside and whose last attempt took as long as the kernel
// says, or just the last one where none did. What the kernel reads from the HPET
// afterwards is for keeping time, and its word may come later than that.
func (b *Boot) EndAt(at time.Duration, attempts int, delayNS int64) error {
	p, err := b.Profile()
	if err != nil {
		return err
	}
	for len(b.Checks) > 0 && b.Checks[len(b.Checks)-1].At > at {
		b.Checks = b.Checks[:len(b.Checks)-1]
	}
	if len(b.Checks) == 0 {
		return fmt.Errorf("end the boot of %s: the verdict stands before the first check", b.Release)
	}
	last := len(b.Checks) - 1
	const rounding = 20 // ns, of ticks and of the kernel's arithmetic
	for i := last; i >= 0; i-- {
		if gap := (attempts - 1) * p.Read.References(); gap >= 0 && gap < len(b.Checks[i].Gaps) && max(b.NS(b.Checks[i].Gaps[gap])-delayNS, delayNS-b.NS(b.Checks[i].Gaps[gap])) <= rounding {
			last = i
			break
		}
	}
	b.Checks = b.Checks[:last+1]
	c := &b.Checks[last]
	if gaps := attempts*p.Read.References() - 1; gaps >= 0 && gaps < len(c.Gaps) {
		c.Gaps = c.Gaps[:gaps]
	}
	return nil
}

// unwrap returns the ticks between two reads, given the difference of the 32-bit
// values and roughly how long it took.
func unwrap(difference uint32, took time.Duration, hpet clocksource.Hz) uint64 {
	const turn = 1 << 32
	about := uint64(max(took, 0)/time.Microsecond) * uint64(hpet) / 1_000_000
	ticks := uint64(difference)
	if about > ticks {
		ticks += (about - ticks + turn/2) / turn * turn
	}
	return ticks
}

// NS returns how long ticks of the boot's HPET take, in nanoseconds.
func (b *Boot) NS(ticks uint64) int64 { return int64(duration(ticks, b.HPET)) }

// duration is how long ticks of the HPET take, good for hours.
func duration(ticks uint64, hpet clocksource.Hz) time.Duration {
	seconds, rest := ticks/uint64(hpet), ticks%uint64(hpet)
	return time.Duration(seconds)*time.Second + time.Duration(rest*uint64(time.Second)/uint64(hpet))
}
