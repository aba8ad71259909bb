package hw

import (
	"sync/atomic"
	"time"
)

const (
	// meetTime is how long one side of an exchange waits for the other to be scheduled at all.
	meetTime = 10 * time.Millisecond
	// spinTime is how long it looks without a pause, which is a wake-up's time: the other side is
	// commonly there in less. Then it sleeps until it is woken, so that a CPU whose neighbour is taken does not burn its time.
	spinTime = 150 * time.Microsecond
	// firstLook is how long the first one looks who comes to a meeting: the other has yet to be woken by
	// Go's scheduler, from thread to thread, and to sleep meanwhile costs less where waking up takes its time.
	firstLook = 30 * time.Microsecond
	// spinCheck is after how many looks at a word the time is looked at,
	// which costs as much as some twenty looks.
	spinCheck = 128
)

// meeting is where the two sides of an exchange find each other awake. Its word
// has a bit for each side that is there, one for a meeting that is off, and above them
// a count of those who left, so that a sleeper never takes a new state for the one it saw.
type meeting struct {
	word padded
}

const (
	bothHere uint32 = 1<<0 | 1<<1
	isOff    uint32 = 1 << 2
	oneLeft  uint32 = 1 << 3
)

// meet waits for the other side and reports whether both are there, awake, at this
// moment. Side 0 is the control side, 1 the remote one; now is a clock.
//
// Who comes wakes the other and looks for it; who has looked long enough leaves and
// sleeps. Who comes second makes the meeting, and nobody leaves one that is made.
func (m *meeting) meet(side uint32, now func() time.Duration) bool {
	w, own := &m.word.Uint32, uint32(1)<<side
	start := now()
	for {
		before := w.Or(own)
		switch {
		case before&isOff != 0:
			return false
		case before&bothHere != 0: // the other one, as the own bit was not set
			return true
		}
		long := firstLook
		if before >= oneLeft { // else nobody has gone to sleep here yet
			wakeWord(w)
			long = spinTime
		}
		if met, off := m.look(now, long); met || off {
			return met
		}
		v := w.Load()
		if v&bothHere != own || v&isOff != 0 || !w.CompareAndSwap(v, v&^own+oneLeft) {
			continue // it has changed in this moment
		}
		v = v&^own + oneLeft
		left := meetTime - (now() - start)
		if left > 0 {
			waitWord(w, v, left)
		} else if w.CompareAndSwap(v, v|isOff) {
			wakeWord(w)
			return false
		}
	}
}

// look spins until the meeting is made or off, for that long at most.
func (m *meeting) look(now func() time.Duration, long time.Duration) (met, off bool) {
	start := now()
	for spins := 1; ; spins++ {
		switch v := m.word.Load(); {
		case v&isOff != 0:
			return false, true
		case v&bothHere == bothHere:
			return true, false
		case spins%spinCheck == 0 && now()-start > long:
			return false, false
		}
	}
}

// cancel ends a meeting that cannot be made. One that is made stays so.
func (m *meeting) cancel() {
	w := &m.word.Uint32
	for v := w.Load(); v&bothHere != bothHere && v&isOff == 0; v = w.Load() {
		if w.CompareAndSwap(v, v|isOff) {
			wakeWord(w)
		}
	}
}

// padded is a counter with a cache line of its own (two: processors fetch pairs).
type padded struct {
	atomic.Uint32
	_ [124]byte
}
