package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cswatch/cswatch/internal/journal"
)

// savedName begins the name of an index that was put aside.
const savedName = indexName + ".damaged"

func isSaved(name string) bool { return strings.HasPrefix(name, savedName) }

// Repairs is what Open mended after a crash, or found that it cannot mend.
type Repairs struct {
	Cut         int      // bytes of the index's last line, which was not whole
	Header      bool     // the first line of the index was written again
	Adopted     []string // trials whose outcome lay in their folder only, and now is in the index
	Interrupted []string // trials that were begun and have no outcome: to be given up with Lose
	Removed     []string // folders of outcomes that were not whole, of trials that have one
}

// None reports whether the campaign was in order.
func (r Repairs) None() bool {
	return r.Cut == 0 && !r.Header && len(r.Adopted)+len(r.Interrupted)+len(r.Removed) == 0
}

// repair brings index and folders together. The index is taken as it is; what it
// lacks comes from the folders.
func (s *Store) repair() (Repairs, error) {
	done := Repairs{Cut: len(s.x.extent.Rest)}
	if s.x.extent.Lines == 0 {
		if err := s.lines.Append(indexHeader{IndexSchema, s.planSum}, true); err != nil {
			return done, fmt.Errorf("write the index's first line: %w", err)
		}
		done.Header = true
	}
	if err := os.MkdirAll(filepath.Join(s.dir, trialsName), 0o777); err != nil {
		return done, err
	}
	names, err := listTrials(s.dir)
	if err != nil {
		return done, err
	}
	var unfinished []string
	for _, name := range names {
		if id, ok := begun(name); ok {
			unfinished = append(unfinished, id)
		} else if CheckID(name) == nil {
			adopted, err := s.adopt(name)
			if err != nil {
				return done, err
			}
			if adopted {
				done.Adopted = append(done.Adopted, name)
			}
		}
	}
	for _, id := range unfinished {
		e := s.x.by[id]
		switch {
		case e == nil: // its line was not whole
			err = s.enter(Entry{Trial: id, State: Started})
		case e.State.outcome():
			done.Removed = append(done.Removed, newName(id))
			err = os.RemoveAll(s.unfinished(id))
		}
		if err != nil {
			return done, err
		}
	}
	done.Interrupted = s.Interrupted()
	return done, nil
}

// adopt enters an outcome that the index does not have.
func (s *Store) adopt(id string) (bool, error) {
	if e := s.x.by[id]; e != nil && e.State.outcome() {
		return false, nil
	}
	folder := filepath.Join(s.dir, trialsName, id)
	if !isFolder(folder) {
		return false, nil // somebody's file: Verify tells of it
	}
	r, text, err := readRecord(s.dir, id, s.planSum)
	if err == nil {
		err = errors.Join(r.check(s.dir)...)
	}
	if err != nil {
		return false, fmt.Errorf("trial %s has no outcome in the index, and its folder is not as it was written: move %s away and open the campaign again: %w", id, folder, err)
	}
	return true, s.enter(r.entry(text))
}

// Rebuilt is what Rebuild did.
type Rebuilt struct {
	Saved   string   // file that the index was copied to; empty if there was none
	Dropped []string // lines that were not taken over, and why
}

// Rebuild makes the index of a campaign anew where a line of it is damaged, which
// no crash does: the lines that are good stay, in their order, and the next Open
// adds the outcomes that they lack from the folders. The damaged index is kept
// beside it. An outcome whose folder is gone makes its trial an interrupted one. What only a damaged line told is lost: when a trial was started, and
// the order of its outcome among the others.
func Rebuild(dir string) (Rebuilt, error) {
	done, err := rebuild(dir, plainDisk)
	if err != nil {
		return done, fmt.Errorf("rebuild the index of the campaign in %s: %w", dir, err)
	}
	return done, nil
}

func rebuild(dir string, d disk) (Rebuilt, error) {
	plan, err := loadPlan(dir) // without a plan this is no campaign: no lock is put into it
	if err != nil {
		return Rebuilt{}, err
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return Rebuilt{}, err
	}
	defer lock.Close()
	name := filepath.Join(dir, indexName)
	old, err := readRegular(name, journal.MaxBytes)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return Rebuilt{}, err
	}
	x, err := readIndex(bytes.NewReader(old), true)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("%s: %w: move it away, and rebuild from the folders alone", name, err)
	}
	if x.plan != "" && x.plan != sum(plan) {
		return Rebuilt{}, fmt.Errorf("the plan (sha256 %s) is not the one of the index (%s): put the plan back first", sum(plan), x.plan)
	}
	var done Rebuilt
	for _, err := range x.damaged {
		done.Dropped = append(done.Dropped, err.Error())
	}
	for _, p := range x.twice {
		done.Dropped = append(done.Dropped, p.String())
	}
	gone, err := x.withoutFolder(dir)
	if err != nil {
		return done, err
	}
	for _, e := range gone {
		done.Dropped = append(done.Dropped, fmt.Sprintf("trial %s: its outcome (%s) has no folder: it counts as interrupted", e.Trial, e.State))
		*e = Entry{Trial: e.Trial, State: Started, At: e.At}
	}
	text, err := x.text(sum(plan))
	if err != nil {
		return done, err
	}
	if !missing {
		saved := filepath.Join(dir, savedName)
		for n := 2; ; n++ {
			if _, err := os.Lstat(saved); errors.Is(err, os.ErrNotExist) {
				break
			} else if err != nil {
				return done, err
			}
			saved = filepath.Join(dir, fmt.Sprintf("%s.%d", savedName, n))
		}
		if err := d.replace(saved, old); err != nil {
			return done, err
		}
		done.Saved = saved
	}
	return done, d.replace(name, text)
}

// withoutFolder returns the outcomes that have no folder.
func (x *index) withoutFolder(dir string) ([]*Entry, error) {
	names, err := listTrials(dir)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	var gone []*Entry
	for _, e := range x.entries {
		if e.State.outcome() && !there[e.Trial] {
			gone = append(gone, e)
		}
	}
	return gone, nil
}

// text returns the lines of an index that says what this one says.
func (x *index) text(plan string) ([]byte, error) {
	lines := []any{indexHeader{IndexSchema, plan}}
	for _, e := range x.entries {
		if e.State.outcome() && !e.At.IsZero() {
			lines = append(lines, Entry{Trial: e.Trial, State: Started, At: e.At})
		}
		outcome := *e
		if e.State.outcome() {
			outcome.At = Entry{}.At
		}
		lines = append(lines, outcome)
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	for _, line := range lines {
		if err := to.Encode(line); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}
