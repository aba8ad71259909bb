package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cswatch/cswatch/internal/journal"
)

const (
	lockTries = 5
	lockPause = 10 * time.Millisecond
)

// Create begins a campaign in a folder, which is made if it is not there. The plan
// is kept to the byte in a file of the given name, plan.EXT. A folder that has a
// campaign is refused with ErrExists, and so is one that is not empty.
func Create(dir, planName string, plan []byte) (*Store, error) {
	return create(dir, planName, plan, plainDisk)
}

func create(dir, planName string, plan []byte, d disk) (*Store, error) {
	s, err := begin(dir, planName, plan, d)
	if err != nil {
		return nil, fmt.Errorf("create a campaign in %s: %w", dir, err)
	}
	return s, nil
}

func begin(dir, planName string, plan []byte, d disk) (*Store, error) {
	if !planForm.MatchString(planName) {
		return nil, fmt.Errorf("plan name %q: it must be plan. and 1 to 16 of a-z and 0-9", planName)
	}
	if len(plan) > maxPlan {
		return nil, fmt.Errorf("the plan is of %d MiB, and may have %d", len(plan)>>20, maxPlan>>20)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := vacant(dir, planName, plan); err != nil {
		return nil, err // before a lock is put into somebody's folder
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	s, err := lay(dir, planName, plan, d, lock)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return s, nil
}

// lay puts everything into a new campaign's folder. The index comes last: with it
// the folder is a campaign.
func lay(dir, planName string, plan []byte, d disk, lock *os.File) (*Store, error) {
	if err := vacant(dir, planName, plan); err != nil {
		return nil, err // another process may have been faster
	}
	if err := os.Mkdir(filepath.Join(dir, trialsName), 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	header, err := json.Marshal(indexHeader{IndexSchema, sum(plan)})
	if err != nil {
		return nil, err
	}
	if err := d.replace(filepath.Join(dir, planName), plan); err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	if err := d.replace(filepath.Join(dir, indexName), append(header, '\n')); err != nil {
		return nil, fmt.Errorf("write the index: %w", err)
	}
	if err := journal.SyncFolder(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, err
	}
	s, _, err := open(dir, d, lock)
	return s, err
}

// Vacant says why Create would refuse a folder, and makes none.
func Vacant(dir, planName string, plan []byte) error {
	err := vacant(dir, planName, plan)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("create a campaign in %s: %w", dir, err)
}

// vacant says why a campaign cannot begin in a folder. What an interrupted Create
// of the same plan left is no reason.
func vacant(dir, planName string, plan []byte) error {
	all, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		name := e.Name()
		ours := false
		switch name {
		case indexName:
			return ErrExists
		case lockName, newName(planName), newName(indexName):
			ours = e.Type().IsRegular()
		case trialsName:
			names, err := listTrials(dir)
			ours = err == nil && len(names) == 0
		case planName:
			had, err := readRegular(filepath.Join(dir, name), maxPlan)
			ours = err == nil && bytes.Equal(had, plan)
		}
		if !ours {
			return fmt.Errorf("the folder is not empty, there is %s: name a new one", name)
		}
	}
	return nil
}

// lockFolder takes the lock of a campaign. A Verify has it for an instant, to see
// whether somebody else has: so it is tried for a while.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		switch err := journal.Lock(f); {
		case err == nil:
			return f, nil
		case try == lockTries || !errors.Is(err, ErrBusy):
			f.Close()
			return nil, err
		}
		time.Sleep(lockPause)
	}
}

// Open goes on with a campaign. Only one process can at a time, others get
// ErrBusy. What a crash left is mended first, and told. It is for the caller to
// give up the trials that were interrupted; until then they have no outcome.
func Open(dir string) (*Store, Repairs, error) { return openOn(dir, plainDisk) }

func openOn(dir string, d disk) (*Store, Repairs, error) {
	s, done, err := openLocked(dir, d)
	if err != nil {
		return nil, done, fmt.Errorf("open the campaign in %s: %w", dir, err)
	}
	return s, done, nil
}

func openLocked(dir string, d disk) (*Store, Repairs, error) {
	if f, err := openIndex(dir, os.O_RDONLY); err != nil {
		return nil, Repairs{}, err // before a lock is put into somebody's folder
	} else if err := f.Close(); err != nil {
		return nil, Repairs{}, err
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, Repairs{}, err
	}
	s, done, err := open(dir, d, lock)
	if err != nil {
		lock.Close()
		return nil, done, err
	}
	return s, done, nil
}

// open opens a campaign whose lock the caller has.
func open(dir string, d disk, lock *os.File) (*Store, Repairs, error) {
	plan, err := loadPlan(dir)
	if err != nil {
		return nil, Repairs{}, err
	}
	f, err := openIndex(dir, os.O_RDWR)
	if err != nil {
		return nil, Repairs{}, err
	}
	s := &Store{dir: dir, plan: plan, planSum: sum(plan), disk: d, lock: lock, running: map[string]bool{}}
	done, err := s.start(f)
	if err != nil {
		f.Close()
		return nil, done, err
	}
	return s, done, nil
}

func (s *Store) start(f *os.File) (Repairs, error) {
	var err error
	if s.x, err = load(f, s.dir, s.plan); err != nil {
		return Repairs{}, err
	}
	if s.lines, err = journal.Continue(s.disk(f), s.x.extent); err != nil {
		return Repairs{}, err
	}
	return s.repair()
}

// Read looks at a campaign as it is at this moment, without a lock and without
// writing. A process that runs it goes on; what it is about to write is not seen.
func Read(dir string) (*Store, error) {
	s, err := read(dir)
	if err != nil {
		return nil, fmt.Errorf("read the campaign in %s: %w", dir, err)
	}
	return s, nil
}

func read(dir string) (*Store, error) {
	f, err := openIndex(dir, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plan, err := loadPlan(dir)
	if err != nil {
		return nil, err
	}
	x, err := load(f, dir, plan)
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, plan: plan, planSum: sum(plan), disk: plainDisk, x: x}, nil
}
