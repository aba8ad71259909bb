package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const plan = "boots = 6\n"

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memory returns a new folder, in memory where there is such a file system: some
// tests write ten thousand files, and none makes the machine fail.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cswatch-store")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
	return dir
}

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Create(filepath.Join(memory(t), "campaign"), "plan.toml", []byte(plan))
	ok(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func reopen(t testing.TB, dir string) (*Store, Repairs) {
	t.Helper()
	s, found, err := Open(dir)
	ok(t, err)
	t.Cleanup(func() { s.Close() })
	return s, found
}

type answer struct {
	N    int
	Text string
}

// run carries a trial out from begin to end.
func run(t testing.TB, s *Store, id string, n int) {
	t.Helper()
	ok(t, s.Begin(id))
	ok(t, s.End(id, filesOf(id), answer{n, "<of " + id + ">"}, map[string]int{"n": n}))
}

func filesOf(id string) []File {
	return []File{{"console.log", []byte("console of " + id + "\n")}, {"empty", nil}}
}

// campaign is one with four trials that ended, one that was lost and one interrupted.
func campaign(t testing.TB) (dir string) {
	t.Helper()
	s := newStore(t)
	for n, id := range []string{"b", "a", "d", "c"} {
		run(t, s, id, n)
	}
	ok(t, s.Begin("e"))
	ok(t, s.Lose("e", "QEMU died", "lost", File{"console.log", []byte("half")}))
	ok(t, s.Begin("f"))
	ok(t, s.Close())
	return s.dir
}

func states(s *Store) map[string]State {
	all := map[string]State{}
	for _, e := range s.Entries() {
		all[e.Trial] = e.State
	}
	return all
}

func sound(t testing.TB, dir string) {
	t.Helper()
	problems, err := Verify(dir, nil)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v; problems: %v", err, problems)
	}
}

func TestWhatWasKeptComesBack(t *testing.T) {
	dir := campaign(t)
	s, found := reopen(t, dir)
	if diff := cmp.Diff(Repairs{Interrupted: []string{"f"}}, found); diff != "" {
		t.Error(diff)
	}
	if string(s.Plan()) != plan {
		t.Errorf("plan %q", s.Plan())
	}
	var order []string
	for _, e := range s.Entries() {
		order = append(order, e.Trial+" "+string(e.State)+" "+string(e.Summary)+e.Why)
		if e.At.IsZero() {
			t.Errorf("nobody knows when %s was started", e.Trial)
		}
	}
	want := []string{`b ended {"n":0}`, `a ended {"n":1}`, `d ended {"n":2}`, `c ended {"n":3}`, `e lost "lost"QEMU died`, "f started "}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	var got answer
	if err := s.Result("d", &got); err != nil || got != (answer{2, "<of d>"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if data, err := s.File("d", "console.log"); err != nil || string(data) != "console of d\n" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := s.File("e", "console.log"); err != nil || string(data) != "half" {
		t.Errorf("the console of a trial that was lost: %q, %v", data, err)
	}
	if names, err := s.Files("d"); err != nil || !cmp.Equal(names, []string{"console.log", "empty"}) {
		t.Errorf("%v, %v", names, err)
	}
	ok(t, s.Lose("f", "stopped", nil))
	if left := s.Interrupted(); left != nil {
		t.Errorf("still interrupted: %v", left)
	}
	ok(t, s.Close())
	sound(t, dir)
}

func TestATrialHasOneOutcome(t *testing.T) {
	s, _ := reopen(t, campaign(t))
	ok(t, s.Begin("g"))
	var late *NotEntered
	for name, c := range map[string]struct {
		got  error
		want error
	}{
		"begin one that ended":           {s.Begin("a"), ErrTaken},
		"begin one that was lost":        {s.Begin("e"), ErrTaken},
		"begin one that was interrupted": {s.Begin("f"), ErrTaken},
		"begin one that runs":            {s.Begin("g"), ErrTaken},
		"end one that ended":             {s.End("a", nil, 1, 1), ErrNoRun},
		"end one that was lost":          {s.End("e", nil, 1, 1), ErrNoRun},
		"end one that was interrupted":   {s.End("f", nil, 1, 1), ErrNoRun},
		"end one that nobody began":      {s.End("h", nil, 1, 1), ErrNoRun},
		"lose one that ended":            {s.Lose("a", "why", nil), ErrNoRun},
		"lose one that nobody began":     {s.Lose("h", "why", nil), ErrNoRun},
		"the result of one that is lost": {s.Result("e", new(answer)), ErrLost},
		"the result of one that runs":    {s.Result("g", new(answer)), ErrNoEnd},
		"the result of no trial":         {s.Result("h", new(answer)), ErrNoEnd},
		"the result of a path":           {s.Result("../a", new(answer)), ErrNoEnd},
		"a file that a trial has not":    {second(s.File("a", "no")), fs.ErrNotExist},
		"the record as a file":           {second(s.File("a", resultName)), fs.ErrNotExist},
	} {
		if !errors.Is(c.got, c.want) || errors.As(c.got, &late) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func second(_ []byte, err error) error { return err }

func TestNamesThatAreNoneAreRefused(t *testing.T) {
	s := newStore(t)
	ok(t, s.Begin("t"))
	for _, id := range []string{"", ".", "..", "../x", "/x", "a/b", ".t", "A", "a b", "a\x00", "a\n", "é", strings.Repeat("a", 65)} {
		if s.Begin(id) == nil || s.End(id, nil, 1, 1) == nil || s.Lose(id, "", nil) == nil {
			t.Errorf("trial %q was taken", id)
		}
	}
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/b", ".x", "a b", "a\x00", "é", "result.json", strings.Repeat("a", 129)} {
		if err := s.End("t", []File{{name, nil}}, 1, 1); err == nil {
			t.Errorf("file %q was taken", name)
		}
	}
	for name, err := range map[string]error{
		"a file twice":                  s.End("t", []File{{"a", nil}, {"a", nil}}, 1, 1),
		"a result that is no JSON":      s.End("t", nil, func() {}, 1),
		"a summary that is no JSON":     s.End("t", nil, 1, func() {}),
		"a summary too large for lines": s.End("t", nil, 1, strings.Repeat("x", maxSummary)),
		"a reason too long":             s.Lose("t", strings.Repeat("x", maxWhy+1), nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "trial t") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	id := strings.Repeat("-", 64)
	run(t, s, id, 1)
	ok(t, s.End("t", filesOf("t"), json.RawMessage(`{ "blanks" : [ ] }`), nil)) // it still runs
	if _, found := reopenAfter(t, s); !found.None() {
		t.Errorf("%+v", found)
	}
	sound(t, s.dir)
	for _, name := range []string{"", "plan", "plan.", "x.toml", "../plan.toml", "plan.a.b", "index.jsonl"} {
		if _, err := Create(t.TempDir(), name, nil); err == nil {
			t.Errorf("plan %q was taken", name)
		}
	}
}

func reopenAfter(t testing.TB, s *Store) (*Store, Repairs) {
	t.Helper()
	ok(t, s.Close())
	return reopen(t, s.dir)
}

func TestAFolderWithSomethingInItIsLeftAlone(t *testing.T) {
	dir := campaign(t)
	if _, err := Create(dir, "plan.toml", []byte(plan)); !errors.Is(err, ErrExists) {
		t.Errorf("a campaign: %v", err)
	}
	other := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o600))
	if _, err := Create(other, "plan.toml", []byte(plan)); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("somebody's folder: %v", err)
	}
	_, _, err := Open(other)
	_, err2 := Read(other)
	_, err3 := Verify(other, nil)
	if !errors.Is(err, ErrNone) || !errors.Is(err2, ErrNone) || !errors.Is(err3, ErrNone) {
		t.Errorf("no campaign: %v; %v; %v", err, err2, err3)
	}
	if all, _ := os.ReadDir(other); len(all) != 1 {
		t.Errorf("something was put into it: %v", all)
	}
}

// A Create may be killed after any of its steps, and is then done again.
func TestACreateThatWasInterruptedIsDoneAgain(t *testing.T) {
	steps := []struct{ name, text string }{
		{lockName, ""}, {".plan.toml.new", "boo"}, {"plan.toml", plan}, {".index.jsonl.new", `{"sch`},
	}
	for n := range len(steps) + 1 {
		dir := t.TempDir()
		for _, step := range steps[:n] {
			ok(t, os.WriteFile(filepath.Join(dir, step.name), []byte(step.text), 0o600))
		}
		if n > 0 {
			ok(t, os.Mkdir(filepath.Join(dir, trialsName), 0o700))
		}
		s, err := Create(dir, "plan.toml", []byte(plan))
		if err != nil {
			t.Errorf("after %d steps: %v", n, err)
			continue
		}
		run(t, s, "a", 1)
		ok(t, s.Close())
		sound(t, dir)
	}
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "plan.toml"), []byte("another"), 0o600))
	if _, err := Create(dir, "plan.toml", []byte(plan)); err == nil {
		t.Error("another plan was written over")
	}
}

func TestOnlyOneProcessRunsACampaign(t *testing.T) {
	s := newStore(t)
	if _, _, err := Open(s.dir); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "another run is using it") {
		t.Errorf("error %v", err)
	}
	if _, err := Rebuild(s.dir); !errors.Is(err, ErrBusy) {
		t.Errorf("rebuild: error %v", err)
	}
}

func TestACampaignWithAnotherPlanIsRefused(t *testing.T) {
	dir := campaign(t)
	name := filepath.Join(dir, "plan.toml")
	for _, c := range []struct {
		mend func() error
		want string
	}{
		{func() error { return os.WriteFile(name, []byte("boots = 7\n"), 0o600) }, "the plan is not the one"},
		{func() error { return os.Remove(name) }, "the plan is not there"},
		{func() error {
			return errors.Join(os.WriteFile(name, []byte(plan), 0o600), os.WriteFile(filepath.Join(dir, "plan.json"), nil, 0o600))
		}, "two plans, plan.json and plan.toml"},
	} {
		ok(t, c.mend())
		_, _, err := Open(dir)
		_, err2 := Read(dir)
		problems, err3 := Verify(dir, nil)
		said := fmt.Sprint(problems)
		if err == nil || err2 == nil || err3 != nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err2.Error(), c.want) || !strings.Contains(said, c.want) {
			t.Errorf("%v; %v; %v; %v; want %s", err, err2, err3, said, c.want)
		}
	}
}

func TestReadersReadWhileTrialsRun(t *testing.T) {
	s := newStore(t)
	const jobs, trials = 3, 12
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			had := 0
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				r, err := Read(s.dir)
				if err != nil {
					t.Error(err)
					return
				}
				all := r.Entries()
				if len(all) < had {
					t.Errorf("%d trials after %d", len(all), had)
				}
				had = len(all)
				for _, e := range all {
					var got answer
					if e.State == Ended {
						if err := r.Result(e.Trial, &got); err != nil || got.Text != "<of "+e.Trial+">" {
							t.Errorf("%+v, %v", got, err)
						}
					}
				}
				if problems, err := Verify(s.dir, nil); err != nil || len(problems) > 0 {
					t.Errorf("%v, %v", problems, err)
				}
				if err := r.Begin("x"); !errors.Is(err, ErrReader) {
					t.Errorf("a reader begins a trial: %v", err)
				}
			}
			if had != jobs*trials {
				t.Errorf("%d trials at the end", had)
			}
		})
	}
	for j := range jobs {
		writers.Go(func() {
			for n := range trials {
				id := fmt.Sprintf("t-%d-%d", j, n)
				if err := s.Begin(id); err != nil {
					t.Error(err)
				}
				if err := s.End(id, filesOf(id), answer{n, "<of " + id + ">"}, n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}
