package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cswatch/cswatch/internal/journal"
)

// Files of the state folder.
const (
	recordFile = "clocksource.json"
	lockFile   = "clocksource.lock"
)

// record is what is borrowed, for whoever finds it after a crash.
type record struct {
	Boot string `json:"boot_id"` // a record of an earlier boot is void: the kernel has chosen anew
	PID  int    `json:"pid"`     // of the borrower
	Old  string `json:"old"`     // to give back
	To   string `json:"to"`      // what it was switched to last
}

// state is the folder in which a machine's only lease is kept.
type state string

func (s state) path(name string) string { return filepath.Join(string(s), name) }

// read returns the record, and false where there is none.
func (s state) read() (r record, found bool, err error) {
	b, err := os.ReadFile(s.path(recordFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, false, nil
	case err != nil:
		return r, false, fmt.Errorf("read what an earlier run left: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil || r.Old == "" {
		return r, false, fmt.Errorf("read what an earlier run left: %s is damaged (%w): look at the current clocksource, then remove the file",
			s.path(recordFile), errors.Join(err, errors.New("want the name of a clocksource in it")))
	}
	return r, true, nil
}

// write replaces the record as a whole.
func (s state) write(r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	err = journal.Replace(s.path(recordFile), append(b, '\n'), 0o644)
	if err != nil {
		return fmt.Errorf("note which clocksource is borrowed: %w", err)
	}
	return journal.SyncFolder(string(s))
}

func (s state) remove() error {
	if err := os.Remove(s.path(recordFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the note of the borrowed clocksource: %w", err)
	}
	return nil
}

// lock opens the lock, which the borrower and its guardian share until both have ended.
func (s state) lock() (*os.File, error) {
	if err := os.MkdirAll(string(s), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the lease: %w: it takes root", err)
	}
	f, err := os.OpenFile(s.path(lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the lease: %w: it takes root", err)
	}
	if err := journal.Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// bootID returns the id of the running boot.
func (c Config) bootID() (string, error) {
	b, err := os.ReadFile(c.BootID)
	if err != nil {
		return "", fmt.Errorf("read the id of this boot: %w: want Linux with /proc mounted", err)
	}
	return strings.TrimSpace(string(b)), nil
}
