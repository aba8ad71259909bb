package lease

import (
	"errors"
	"fmt"

	"github.com/cswatch/cswatch/internal/journal"
)

// Recovered is what became of a lease whose borrower and guardian were killed.
type Recovered struct {
	Old     string // what was to be given back
	To      string // what the killed run had switched to
	Current string // what is current now
	// Given: the old one was made current again. Otherwise the current one was no longer
	// what the killed run had switched to, so that it was left alone.
	Given bool
}

// Recover gives back what a killed run has left, nil where there is nothing: no record,
// a record of an earlier boot, or a run that is still under way. Without the right to switch it is an error.
func Recover(c Config) (*Recovered, error) {
	c = c.withDefaults()
	f, s := folder(c.Sysfs), state(c.State)
	if _, found, err := s.read(); err != nil || !found {
		return nil, err
	}
	lock, err := s.lock()
	if errors.Is(err, journal.ErrBusy) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("give back the clocksource that a killed run has left: %w", err)
	}
	r, err := recoverLocked(c, f, s)
	return r, errors.Join(err, lock.Close())
}

func recoverLocked(c Config, f folder, s state) (*Recovered, error) {
	left, found, err := s.read() // again: its run may have ended in the meantime
	if err != nil || !found {
		return nil, err
	}
	boot, err := c.bootID()
	if err != nil {
		return nil, err
	}
	if left.Boot != boot {
		return nil, s.remove()
	}
	r := &Recovered{Old: left.Old, To: left.To}
	if r.Current, err = f.current(); err != nil {
		return nil, err
	}
	if r.Current != left.To || left.To == left.Old {
		return r, s.remove()
	}
	if err := giveBack(f, s, left.Old); err != nil {
		return nil, err
	}
	r.Given = true
	r.Current, err = f.current()
	return r, err
}
