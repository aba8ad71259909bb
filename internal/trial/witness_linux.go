package trial

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/qemu/tap"
	"github.com/cswatch/cswatch/klog"
)

// Settle is how long after the switch to the TSC its calibration is surely over:
// what reads the HPET then is the watchdog. Delays begin there.
const Settle = 300 * time.Millisecond

// Witness hears what a kernel in QEMU reads of its HPET and what it logs, and delays
// reads from when the kernel has taken its TSC until it skips a check.
type Witness struct {
	pipe *tap.Tap
	dir  string

	mu       sync.Mutex
	reads    []tap.Read
	records  []stamped
	switched time.Time // when the kernel took the refined TSC, zero before
	checks   int       // seen since then, or since the start of a machine that was resumed
	checked  time.Time // when the last of them began
	wanted   int
	enough   chan struct{} // closed when so many checks were seen, or a while after a verdict
	closed   bool          // it is
	verdict  time.Time     // when the kernel said that it condemns the TSC
}

// afterVerdict is how long a resumed machine goes on after a verdict: the kernel
// switches clocks within a few ms. The reads of the HPET are for the time from then on.
const afterVerdict = 500 * time.Millisecond

// stamped is a record of the kernel log and when it came.
type stamped struct {
	at     time.Time
	record string
	event  event.Event
}

// NewWitness makes ready for one machine. hold says what delays it, nil for nothing.
func NewWitness(hold *tap.Hold) (*Witness, error) {
	w := &Witness{enough: make(chan struct{})}
	var err error
	if w.dir, err = os.MkdirTemp("", "cswatch-tap-"); err != nil {
		return nil, fmt.Errorf("make a folder for the log of QEMU: %w", err)
	}
	if w.pipe, err = tap.New(w.dir, hold, w.read); err != nil {
		return nil, errors.Join(err, os.RemoveAll(w.dir))
	}
	return w, nil
}

// Resumed tells that the machine goes on from a saved state, in which the kernel had
// taken its TSC: everything counts from the start.
func (w *Witness) Resumed(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.switched = now.Add(-Settle)
}

// Enough returns a channel that is closed when the watchdog has made so many checks.
func (w *Witness) Enough(checks int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = checks
	return w.enough
}

// end closes the channel of Enough. The lock must be held.
func (w *Witness) end() {
	if !w.closed {
		w.closed = true
		close(w.enough)
	}
}

// Args are QEMU's arguments.
func (w *Witness) Args() []string { return w.pipe.Args() }

// Close ends the listening and returns how often reads were delayed. QEMU must have ended.
func (w *Witness) Close() (tap.Counts, error) {
	counts, err := w.pipe.Close()
	return counts, errors.Join(err, os.RemoveAll(w.dir))
}

func (w *Witness) read(r tap.Read) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = append(w.reads, r)
	if w.switched.IsZero() || !w.verdict.IsZero() || r.At.Before(w.switched.Add(Settle)) || r.At.Sub(w.checked) < fidelity.Apart {
		return
	}
	// Checks are half a second apart. What follows within a fifth belongs to the same
	// one, or is a kernel that has condemned its TSC and reads the time from the HPET:
	// counted as checks, they would end the machine before it can say so.
	w.checked = r.At
	if w.checks++; w.checks == w.wanted {
		w.end()
	}
}

// Observe is told of every record of the guest as it comes.
func (w *Witness) Observe(s qemu.Stamped) {
	if s.Record.Kmsg == "" {
		return
	}
	now := time.Now()
	record, _, _ := strings.Cut(s.Record.Kmsg, "\n") // without its dictionary
	for r := klog.NewReader(strings.NewReader(record+"\n"), "kmsg"); r.Next(); {
		e := r.Event()
		w.mu.Lock()
		w.records = append(w.records, stamped{now, record, e})
		if e.Kind == event.Switched && e.Clocksource == "tsc" && w.switched.IsZero() {
			w.switched = now
			time.AfterFunc(Settle, w.pipe.Arm)
		}
		if e.Kind == event.TestSkipped || condemns(e.Kind) {
			w.pipe.Disarm()
		}
		if condemns(e.Kind) && w.verdict.IsZero() {
			w.verdict = now
			if w.wanted > 0 {
				time.AfterFunc(afterVerdict, func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.end()
				})
			}
		}
		w.mu.Unlock()
	}
}

// condemns reports whether an event says that the kernel gives up its TSC, or is about to.
func condemns(k event.Kind) bool {
	switch k {
	case event.SkewVerdict, event.FrequencyVerdict, event.InterCPUVerdict, event.DeltaVerdict, event.DelayVerdict, event.TSCUnstable:
		return true
	}
	return false
}

// Began reports whether the kernel has taken its TSC, with which delays begin.
func (w *Witness) Began() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.switched.IsZero()
}

// Fill adds to a boot what belongs to the watchdog of the TSC: from the first check
// after it was refined to the last before the guest ended, or to the verdict. The
// boot must say which kernel it is, and, where the machine was resumed, the HPET's rate.
func (w *Witness) Fill(b *fidelity.Boot) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.records {
		if s.event.Kind == event.HPETCounter {
			b.HPET = clocksource.Hz(s.event.FrequencyHz.Value)
		}
	}
	switch {
	case b.HPET == 0:
		return errors.New("the kernel log tells no rate of the HPET")
	case w.switched.IsZero():
		return errors.New("the kernel never took its TSC")
	}
	from := w.switched.Add(Settle)
	var reads []fidelity.Read
	for _, r := range w.reads {
		reads = append(reads, fidelity.Read{At: r.At.Sub(w.switched), CPU: r.CPU, Value: uint32(r.Value)})
	}
	checks := fidelity.Frame(reads, b.HPET)
	// The first may have begun before, the last may have been cut by the end.
	for len(checks) > 0 && checks[0].At < from.Sub(w.switched) {
		checks = checks[1:]
	}
	if len(checks) == 0 {
		return nil
	}
	begin := w.switched.Add(checks[0].At)
	condemned := false
	b.Checks = checks
	for _, s := range w.records {
		if s.at.Before(begin.Add(-Settle / 3)) {
			continue
		}
		b.Log = append(b.Log, s.record)
		if s.event.Kind == event.DelayVerdict && !condemned {
			condemned = true
			if err := b.EndAt(s.at.Sub(w.switched), int(s.event.Attempt.Value), s.event.DelayNS.Value); err != nil {
				return err
			}
		}
	}
	if !condemned && !w.verdict.IsZero() {
		b.Checks = slices.DeleteFunc(checks, func(c fidelity.Check) bool { return c.At > w.verdict.Sub(w.switched) })
	}
	return nil
}
