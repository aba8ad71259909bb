package lease

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cswatch/cswatch/internal/journal"
)

// Config says where things are. The zero value is the running machine.
type Config struct {
	Sysfs  string // the folder of the clocksources; "": /sys/devices/system/clocksource/clocksource0
	State  string // the folder of the record and the lock; "": /run/cswatch
	BootID string // the file with the id of the boot; "": /proc/sys/kernel/random/boot_id
	// Settle is how long Take waits for tsc-early to be replaced by tsc, which a kernel does within some two
	// seconds of its start; 0: 5 s.
	Settle time.Duration
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field     *string
		otherwise string
	}{{&c.Sysfs, sysfs}, {&c.State, "/run/cswatch"}, {&c.BootID, "/proc/sys/kernel/random/boot_id"}} {
		if *d.field == "" {
			*d.field = d.otherwise
		}
	}
	if c.Settle == 0 {
		c.Settle = 5 * time.Second
	}
	return c
}

// ErrHeld is the error of a second lease at the same time.
var ErrHeld = errors.New("another run has switched this machine's clocksource and will give it back: wait for its end")

// ErrUnguarded is the error of a lease whose guardian has ended.
var ErrUnguarded = errors.New("the guardian, which gives the clocksource back if this program cannot, has ended")

// Lease is the right to switch, until Close. Its methods may be called by any goroutine.
type Lease struct {
	folder folder
	state  state
	lock   *os.File
	guard  *guardian

	mu     sync.Mutex
	record record
	closed bool
}

// Take gets the lease and starts its guardian. It switches nothing yet. While another
// process has it, the error is ErrHeld. What a killed run has left must have been recovered before.
func Take(c Config) (*Lease, error) {
	c = c.withDefaults()
	l := &Lease{folder: folder(c.Sysfs), state: state(c.State)}
	old, err := l.folder.settled(c.Settle)
	if err != nil {
		return nil, err
	}
	if err := l.folder.writable(); err != nil {
		return nil, err
	}
	boot, err := c.bootID()
	if err != nil {
		return nil, err
	}
	l.record = record{Boot: boot, PID: os.Getpid(), Old: old, To: old}
	if l.lock, err = l.state.lock(); err != nil {
		if errors.Is(err, journal.ErrBusy) {
			err = ErrHeld
		}
		return nil, fmt.Errorf("switch the clocksource: %w", err)
	}
	if left, found, err := l.state.read(); err != nil || found && left.Boot == boot {
		if err == nil {
			err = fmt.Errorf("an earlier run left %s for %s and was not recovered", left.To, left.Old)
		}
		return nil, errors.Join(err, l.lock.Close())
	}
	// The guardian knows what to give back before anything is borrowed.
	if l.guard, err = startGuardian(job{Sysfs: c.Sysfs, State: c.State, Old: old}, l.lock); err != nil {
		return nil, errors.Join(err, l.lock.Close())
	}
	return l, nil
}

// Old is the clocksource that was current when the lease was taken, to which Close goes back.
func (l *Lease) Old() string { return l.record.Old }

// Current returns the clocksource that the kernel uses now.
func (l *Lease) Current() (string, error) { return l.folder.current() }

// Available returns those that it would accept, the best rated first. One that it
// condemns leaves the list.
func (l *Lease) Available() ([]string, error) { return l.folder.available() }

// Unguarded is closed when the guardian has ended before Close. Whoever holds the lease
// should close it then: nobody would if this program were killed.
func (l *Lease) Unguarded() <-chan struct{} { return l.guard.gone }

// Switch makes a clocksource current. An [IgnoredError] tells that the kernel accepted
// the name and did nothing.
func (l *Lease) Switch(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("switch the clocksource: it was given back already")
	}
	select {
	case <-l.guard.gone:
		return fmt.Errorf("switch the clocksource to %s: %w", name, ErrUnguarded)
	default:
	}
	if err := l.folder.choosable(name); err != nil {
		return err
	}
	l.record.To = name
	if err := l.state.write(l.record); err != nil {
		return err
	}
	return l.folder.choose(name)
}

// Close gives the clocksource back and ends the lease; a second call does nothing. An
// [IgnoredError] tells that the kernel does not take it back.
func (l *Lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	err := giveBack(l.folder, l.state, l.record.Old)
	// A guardian that is told nothing tries once more: it would be no use after an IgnoredError.
	if ignored := (*IgnoredError)(nil); err == nil || errors.As(err, &ignored) {
		l.guard.dismiss()
	}
	l.guard.wait()
	return errors.Join(err, l.lock.Close())
}

// The clocksource of a kernel's first seconds (4.16 and later), and the one that replaces it, with the same counter.
const early, late = "tsc-early", "tsc"

// settled returns the current clocksource, once it is not that of the first seconds or so much time has passed.
func (f folder) settled(most time.Duration) (string, error) {
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		name, err := f.current()
		if err != nil || name != early || time.Since(start) >= most {
			return name, err
		}
	}
}

// Successor returns the clocksource to go back to from one that was current, where the kernel now
// offers these. It is another one only for tsc-early, which is replaced by tsc.
func Successor(name string, offered []string) string {
	if name == early && !slices.Contains(offered, early) && slices.Contains(offered, late) {
		return late
	}
	return name
}

// giveBack makes the old clocksource current again, where it is not, and removes the
// record: also where the kernel refuses it, for nobody can do better later.
func giveBack(f folder, s state, old string) error {
	offered, err := f.available()
	current, unread := f.current()
	err = errors.Join(err, unread)
	if old = Successor(old, offered); err == nil && current != old {
		err = f.choose(old)
	}
	if ignored := (*IgnoredError)(nil); err != nil && !errors.As(err, &ignored) {
		return fmt.Errorf("give the clocksource back: %w", err)
	} else if err != nil {
		err = fmt.Errorf("give the clocksource back: %w", err)
	}
	return errors.Join(err, s.remove())
}
