package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cswatch/cswatch/internal/journal"
)

// Reasons why a campaign is not opened or a trial not taken. They come wrapped.
var (
	ErrExists = errors.New("a campaign is kept there already: resume it, or name another folder")
	ErrNone   = errors.New("no campaign is kept there")
	ErrBusy   = journal.ErrBusy                                // another process runs the campaign
	ErrTaken  = errors.New("the trial was begun already")      // or has an outcome
	ErrReader = errors.New("the campaign is open for reading") // or no longer open
	ErrNoRun  = errors.New("the trial is not running here")    // to end what was not begun, or twice
	ErrLost   = errors.New("the trial is lost: it has no result")
	ErrNoEnd  = errors.New("the trial has no outcome yet")
)

// Store is a campaign in a folder. Its methods may be called by several goroutines.
type Store struct {
	dir     string
	plan    []byte
	planSum string
	disk    disk
	lock    *os.File // nil for readers

	mu      sync.Mutex
	x       *index
	lines   *journal.Writer // nil for readers
	running map[string]bool // trials begun by this Store; true while their outcome is written
}

// Plan returns the plan that the campaign was created with, to the byte.
func (s *Store) Plan() []byte { return slices.Clone(s.plan) }

// Entries returns what is known of each trial, in the order in which they came
// into the index.
func (s *Store) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Entry, len(s.x.entries))
	for i, e := range s.x.entries {
		all[i] = *e
	}
	return all
}

// Entry returns what is known of one trial, and whether it was ever begun.
func (s *Store) Entry(id string) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.x.by[id]; e != nil {
		return *e, true
	}
	return Entry{}, false
}

// Interrupted returns the trials that were begun by a process that is no more, and
// have no outcome: they are to be given up with Lose. For a reader they may be running.
func (s *Store) Interrupted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, e := range s.x.entries {
		if _, ours := s.running[e.Trial]; e.State == Started && !ours {
			ids = append(ids, e.Trial)
		}
	}
	return ids
}

// Begin says that a trial runs. It returns when that would outlive a failure of
// the machine. A trial that was begun ever before, by whomever, is refused: ErrTaken.
func (s *Store) Begin(id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		return fmt.Errorf("begin trial %s: %w", id, ErrReader)
	}
	if e := s.x.by[id]; e != nil {
		return fmt.Errorf("begin trial %s: %w (%s)", id, ErrTaken, e.State)
	}
	folder := s.unfinished(id)
	err := os.Mkdir(folder, 0o777)
	if err == nil {
		err = journal.SyncFolder(filepath.Dir(folder))
	}
	if err == nil {
		err = s.enter(Entry{Trial: id, State: Started, At: time.Now().UTC()})
	}
	if err != nil {
		os.Remove(folder)
		return fmt.Errorf("begin trial %s: %w", id, err)
	}
	s.running[id] = false
	return nil
}

// End keeps the outcome of a trial that this Store began: its files, its result,
// and a summary, a small value that stands in the index too (256 KiB of JSON at
// most). It returns when all of that would outlive a failure of the machine.
//
// With an error that wraps [NotEntered] the outcome is kept, and only the index
// lacks it; with any other one nothing is kept, and the trial still runs.
func (s *Store) End(id string, files []File, result, summary any) error {
	return s.finish(record{Trial: id, State: Ended}, files, result, summary)
}

// Lose says that a trial, one of this Store or an interrupted one, ended without a
// result, and why. What files there are can be kept nevertheless. Errors are those of End.
func (s *Store) Lose(id, why string, summary any, files ...File) error {
	return s.finish(record{Trial: id, State: Lost, Why: why}, files, nil, summary)
}

// NotEntered says that an outcome is kept in its folder but could not be written
// into the index. The next Open enters it.
type NotEntered struct {
	Trial string
	Err   error
}

func (e *NotEntered) Error() string {
	return fmt.Sprintf("trial %s is kept, but the index lacks it until the campaign is opened again: %v", e.Trial, e.Err)
}

func (e *NotEntered) Unwrap() error { return e.Err }

func (s *Store) finish(r record, files []File, result, summary any) error {
	if err := CheckID(r.Trial); err != nil {
		return err
	}
	r.Schema, r.Plan = TrialSchema, s.planSum
	text, err := r.encode(files, result, summary)
	if err != nil {
		return fmt.Errorf("keep trial %s: %w", r.Trial, err)
	}
	ours, err := s.claim(r.Trial, r.State)
	if err != nil {
		return fmt.Errorf("keep trial %s: %w", r.Trial, err)
	}
	// Trials may be large, and are written side by side.
	err = s.publish(r.Trial, files, text)

	s.mu.Lock()
	defer s.mu.Unlock()
	var late *NotEntered
	if err != nil && !errors.As(err, &late) {
		if delete(s.running, r.Trial); ours {
			s.running[r.Trial] = false
		}
		return fmt.Errorf("keep trial %s: %w", r.Trial, err)
	}
	delete(s.running, r.Trial)
	if err == nil {
		if err = s.enter(r.entry(text)); err == nil {
			return nil
		}
		late = &NotEntered{r.Trial, err}
	}
	s.x.put(r.entry(text), 0) // it has this outcome, whatever the file says
	return late
}

// claim sees to it that only one writes the outcome of a trial, and tells
// whether the trial was begun by this Store.
func (s *Store) claim(id string, state State) (ours bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.x.by[id]
	writing, ours := s.running[id]
	switch {
	case s.lines == nil:
		return false, ErrReader
	case e == nil:
		return false, ErrNoRun
	case e.State != Started:
		return false, fmt.Errorf("%w: it has an outcome (%s)", ErrNoRun, e.State)
	case writing:
		return false, fmt.Errorf("%w: its outcome is being written", ErrNoRun)
	case !ours && state != Lost:
		return false, fmt.Errorf("%w: it was interrupted, and can only be given up", ErrNoRun)
	}
	s.running[id] = true
	return ours, nil
}

// publish writes the folder of an outcome and lets it appear.
func (s *Store) publish(id string, files []File, record []byte) error {
	unfinished, folder := s.unfinished(id), filepath.Join(s.dir, trialsName, id)
	if err := s.disk.fill(unfinished, files, record); err != nil {
		return err
	}
	_, err := os.Lstat(folder)
	if err == nil { // a folder that is empty would be replaced
		err = fmt.Errorf("%s is there already, and not by this process: move it away", folder)
	} else if errors.Is(err, os.ErrNotExist) {
		err = os.Rename(unfinished, folder)
	}
	if err != nil {
		return errors.Join(err, empty(unfinished))
	}
	if err := journal.SyncFolder(filepath.Dir(folder)); err != nil {
		return &NotEntered{id, err}
	}
	return nil
}

// enter appends a line to the index. The caller has the mutex.
func (s *Store) enter(e Entry) error {
	if s.lines == nil {
		return ErrReader
	}
	if err := s.lines.Append(e, true); err != nil {
		return fmt.Errorf("append to the index: %w", err)
	}
	s.x.put(e, 0)
	return nil
}

func (s *Store) unfinished(id string) string { return filepath.Join(s.dir, trialsName, newName(id)) }

// outcome reads the record of a trial that has an outcome, and sees to it that it
// is the one of the index.
func (s *Store) outcome(id string) (*record, error) {
	e, _ := s.Entry(id)
	if !e.State.outcome() {
		return nil, ErrNoEnd
	}
	r, text, err := readRecord(s.dir, id, s.planSum)
	if err != nil {
		return nil, err
	}
	if sum(text) != e.SHA256 {
		return nil, fmt.Errorf("%s is not the one that the index has (sha256 %s)", filepath.Join(s.dir, trialsName, id, resultName), e.SHA256)
	}
	return r, nil
}

// Result decodes the result of a trial: ErrLost, ErrNoEnd where it has none.
func (s *Store) Result(id string, result any) error {
	r, err := s.outcome(id)
	if err == nil && r.State == Lost {
		err = ErrLost
	}
	if err == nil {
		err = json.Unmarshal(r.Result, result)
	}
	if err != nil {
		return fmt.Errorf("read the result of trial %s: %w", id, err)
	}
	return nil
}

// Files returns the names of the files of a trial that has an outcome.
func (s *Store) Files(id string) ([]string, error) {
	r, err := s.outcome(id)
	if err != nil {
		return nil, fmt.Errorf("list the files of trial %s: %w", id, err)
	}
	names := make([]string, len(r.Files))
	for i, f := range r.Files {
		names[i] = f.Name
	}
	return names, nil
}

// File reads a file of a trial that has an outcome. It is as it was written, or
// an error: fs.ErrNotExist where the trial has none of that name.
func (s *Store) File(id, name string) ([]byte, error) {
	r, err := s.outcome(id)
	if err != nil {
		return nil, fmt.Errorf("read a file of trial %s: %w", id, err)
	}
	data, err := r.file(s.dir, name)
	if err != nil {
		return nil, fmt.Errorf("read a file of trial %s: %w", id, err)
	}
	return data, nil
}

// Close gives the campaign up for the next process. Trials that still run are
// interrupted then.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		return nil
	}
	err := s.lines.Close()
	s.lines = nil
	if err = errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("close the campaign in %s: %w", s.dir, err)
	}
	return nil
}
