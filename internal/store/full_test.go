package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/journal"
)

// room is what is left on a disk, in bytes of files' text.
type room struct{ left int }

func (r *room) disk(f *os.File) journal.Storage { return &roomFile{f, r} }

type roomFile struct {
	*os.File
	room *room
}

func (f *roomFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b[:min(len(b), f.room.left)])
	f.room.left -= n
	if err == nil && n < len(b) {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

// full looks at an error of a full disk.
func full(t *testing.T, err error, dir string) {
	t.Helper()
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("error %v", err)
	}
}

// runUntilFull runs trials and returns the outcomes that were kept, and the trial
// that was not, if any.
func runUntilFull(t *testing.T, s *Store, trials int) (kept map[string]State, left string) {
	t.Helper()
	kept = map[string]State{}
	for n := range trials {
		id := fmt.Sprintf("t%d", n)
		if err := s.Begin(id); err != nil {
			full(t, err, s.dir)
			return kept, ""
		}
		err := s.End(id, filesOf(id), answer{n, id}, n)
		var late *NotEntered
		if err == nil || errors.As(err, &late) {
			kept[id] = Ended
		}
		if err != nil {
			full(t, err, s.dir)
			if late == nil {
				left = id
			}
			return kept, left
		}
	}
	return kept, ""
}

// nothingHalf sees to it that no reader sees anything that is not whole.
func nothingHalf(t *testing.T, s *Store, kept map[string]State) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, indexName))
	ok(t, err)
	if !strings.HasSuffix(string(text), "\n") {
		t.Errorf("the index ends within a line: %q", text)
	}
	names, err := listTrials(s.dir)
	ok(t, err)
	for _, name := range names {
		if _, isBegun := begun(name); isBegun {
			if left, err := os.ReadDir(filepath.Join(s.dir, trialsName, name)); err != nil || len(left) > 0 {
				t.Errorf("left in %s: %v, %v", name, left, err)
			}
		} else if kept[name] != Ended {
			t.Errorf("%s is there, and was not kept", name)
		}
	}
	r, err := Read(s.dir)
	ok(t, err)
	for _, e := range r.Entries() {
		if e.State == Ended {
			ok(t, r.Result(e.Trial, new(answer)))
		}
	}
}

func TestADiskThatIsFullAtAnyByteLosesNothing(t *testing.T) {
	t.Parallel()
	const trials = 3
	parent := memory(t)
	for size := 0; ; size++ {
		dir := filepath.Join(parent, fmt.Sprint(size))
		r := &room{size}
		s, err := create(dir, "plan.toml", []byte(plan), r.disk)
		if err != nil {
			full(t, err, dir)
			if _, err := Read(dir); !errors.Is(err, ErrNone) {
				t.Fatalf("room for %d: half a campaign: %v", size, err)
			}
			s, err := Create(dir, "plan.toml", []byte(plan))
			ok(t, err)
			ok(t, s.Close())
			continue
		}
		kept, left := runUntilFull(t, s, trials)
		nothingHalf(t, s, kept)
		if left != "" && size%2 == 0 { // somebody has made room
			r.left = 1 << 20
			ok(t, s.End(left, nil, answer{}, nil))
			kept[left], left = Ended, ""
		}
		ok(t, s.Close())
		s, found := reopen(t, dir)
		if left != "" {
			kept[left] = Started
		}
		if diff := cmp.Diff(kept, states(s)); diff != "" || found.Cut > 0 || len(found.Removed) > 0 {
			t.Fatalf("room for %d: %+v\n%s", size, found, diff)
		}
		for _, id := range found.Interrupted {
			ok(t, s.Lose(id, "the disk was full", nil))
		}
		ok(t, s.Close())
		sound(t, dir)
		ok(t, os.RemoveAll(dir))
		if len(kept) == trials && left == "" && r.left > 0 && len(found.Adopted) == 0 {
			return
		}
	}
}

func TestMendingOnAFullDiskMendsNothingWrong(t *testing.T) {
	dir := campaign(t)
	name := filepath.Join(dir, indexName)
	ok(t, os.Truncate(name, 30))
	for size := range 700 {
		s, _, err := openOn(dir, (&room{size}).disk)
		if err == nil {
			ok(t, s.Close())
			break
		}
		full(t, err, dir)
	}
	s, found := reopen(t, dir)
	if len(s.Entries()) != 6 || !cmp.Equal(found.Interrupted, []string{"f"}) {
		t.Errorf("%+v", s.Entries())
	}
	ok(t, s.Lose("f", "stopped", nil))
	ok(t, s.Close())
	sound(t, dir)
}

func TestGivingUpOnAFullDiskCanBeTriedAgain(t *testing.T) {
	dir := campaign(t)
	r := &room{10}
	s, _, err := openOn(dir, r.disk)
	ok(t, err)
	full(t, s.Lose("f", "stopped", nil), dir)
	if err := s.End("f", nil, 1, 1); !errors.Is(err, ErrNoRun) {
		t.Errorf("an interrupted trial ends: %v", err)
	}
	if left := s.Interrupted(); !cmp.Equal(left, []string{"f"}) {
		t.Errorf("interrupted: %v", left)
	}
	r.left = 1 << 20
	ok(t, s.Lose("f", "stopped", nil))
	ok(t, s.Close())
	sound(t, dir)
}

func TestAnOutcomeOfWhichOnlyTheLineDoesNotFitIsKept(t *testing.T) {
	r := &room{1 << 20}
	s, err := create(memory(t), "plan.toml", []byte(plan), r.disk)
	ok(t, err)
	run(t, s, "a", 1)
	ok(t, s.Begin("b"))
	record := record{Schema: TrialSchema, Trial: "b", Plan: s.planSum, State: Ended}
	text, err := record.encode(nil, answer{}, 2)
	ok(t, err)
	r.left = len(text) + 5
	err = s.End("b", nil, answer{}, 2)
	var late *NotEntered
	if full(t, err, s.dir); !errors.As(err, &late) || late.Trial != "b" {
		t.Errorf("error %v", err)
	}
	if e, _ := s.Entry("b"); e.State != Ended || s.Result("b", new(answer)) != nil {
		t.Errorf("%+v", e)
	}
	for _, err := range []error{s.Begin("b"), s.End("b", nil, 1, 1), s.Lose("b", "", nil)} {
		if !errors.Is(err, ErrTaken) && !errors.Is(err, ErrNoRun) {
			t.Errorf("a second outcome: %v", err)
		}
	}
	s, found := reopenAfter(t, s)
	if diff := cmp.Diff(Repairs{Adopted: []string{"b"}}, found); diff != "" {
		t.Error(diff)
	}
	ok(t, s.Close())
	sound(t, s.dir)
}
