package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// childEnv names the campaign that this test binary runs until it is killed.
const childEnv = "CSWATCH_TEST_STORE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Println("error", child(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child runs trials two at a time and says which have ended, until it is killed.
func child(dir string) error {
	s, found, err := Open(dir)
	if err != nil {
		return err
	}
	for _, id := range found.Interrupted {
		if err := s.Lose(id, "killed", nil); err != nil {
			return err
		}
	}
	var next atomic.Int64
	for _, e := range s.Entries() {
		n, err := strconv.ParseInt(strings.TrimPrefix(e.Trial, "t"), 10, 64)
		if err != nil {
			return err
		}
		next.Store(max(next.Load(), n))
	}
	failed := make(chan error)
	for range 2 {
		go func() {
			for {
				n := int(next.Add(1))
				id := fmt.Sprintf("t%d", n)
				err := s.Begin(id)
				if err == nil {
					err = s.End(id, filesOf(id), answer{n, id}, n)
				}
				if err != nil {
					failed <- err
					return
				}
				fmt.Println("ended", id)
			}
		}()
	}
	return <-failed
}

// It runs alone: a child has the locks of its parent from fork to exec, and a campaign
// that another test has just closed would seem to be run.
func TestAProcessThatIsKilledLosesNothing(t *testing.T) {
	self, err := os.Executable()
	ok(t, err)
	s := newStore(t)
	ok(t, s.Close())
	luck := rand.New(rand.NewPCG(1, 20))
	known := map[string]Entry{} // every outcome that was ever seen
	given := 0
	for round := range 20 {
		acknowledged := runAndKill(t, self, s.dir, luck)
		s, found := reopen(t, s.dir)
		now := map[string]Entry{}
		for _, e := range s.Entries() {
			if _, twice := now[e.Trial]; twice {
				t.Fatalf("round %d: %s is there twice", round, e.Trial)
			}
			now[e.Trial] = e
		}
		for _, id := range acknowledged {
			if now[id].State != Ended {
				t.Errorf("round %d: %s had ended, and is %q", round, id, now[id].State)
			}
		}
		for id, was := range known {
			if diff := cmp.Diff(was, now[id]); diff != "" {
				t.Errorf("round %d: an outcome changed:\n%s", round, diff)
			}
		}
		for _, id := range found.Interrupted {
			ok(t, s.Lose(id, "killed", nil))
			given++
		}
		for _, e := range s.Entries() {
			if !e.State.outcome() {
				t.Errorf("round %d: %+v", round, e)
			}
			known[e.Trial] = e
		}
		ok(t, s.Close())
		sound(t, s.dir)
	}
	t.Logf("%d outcomes, %d of them of trials that were interrupted", len(known), given)
}

// runAndKill lets a child run until it said a few times that a trial ended, and
// kills it within a few milliseconds from then. It returns the trials that it named.
func runAndKill(t *testing.T, self, dir string, luck *rand.Rand) (ended []string) {
	t.Helper()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	enough, wait := 1+luck.IntN(4), time.Duration(luck.Int64N(int64(5*time.Millisecond)))
	var kill sync.Once
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break // what is not whole was not said
		}
		ok(t, err)
		id, said := strings.CutPrefix(strings.TrimSpace(line), "ended ")
		if !said {
			t.Fatalf("the child says %q", line)
		}
		if ended = append(ended, id); len(ended) >= enough {
			kill.Do(func() {
				time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
			})
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return ended
}

func TestAnIndexThatWasCutAnywhereIsMended(t *testing.T) {
	t.Parallel()
	dir := campaign(t)
	name := filepath.Join(dir, indexName)
	whole, err := os.ReadFile(name)
	ok(t, err)
	want := map[string]State{"a": Ended, "b": Ended, "c": Ended, "d": Ended, "e": Lost, "f": Started}
	for cut := range len(whole) + 1 {
		ok(t, os.WriteFile(name, whole[:cut], 0o600))
		s, found, err := Open(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if diff := cmp.Diff(want, states(s)); diff != "" || len(s.Entries()) != len(want) {
			t.Fatalf("cut at %d: %d entries\n%s", cut, len(s.Entries()), diff)
		}
		if !cmp.Equal(found.Interrupted, []string{"f"}) {
			t.Errorf("cut at %d: interrupted %v", cut, found.Interrupted)
		}
		if rest := cut - bytes.LastIndexByte(whole[:cut], '\n') - 1; found.Cut != rest {
			t.Errorf("cut at %d: %d bytes were cut off, not %d", cut, found.Cut, rest)
		}
		for _, e := range s.Entries() {
			var got answer
			if e.State == Ended {
				if err := s.Result(e.Trial, &got); err != nil || string(e.Summary) != fmt.Sprintf(`{"n":%d}`, got.N) {
					t.Errorf("cut at %d: %v, %+v, %s", cut, err, got, e.Summary)
				}
			}
		}
		ok(t, s.Close())
		if problems, err := Verify(dir, nil); err != nil || len(problems) != 1 || problems[0].Trial != "f" {
			t.Fatalf("cut at %d: %v, %v", cut, problems, err)
		}
	}
}

// copyTree copies a campaign, to damage the copy.
func copyTree(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(memory(t), "copy")
	ok(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func TestWhatACrashLeavesIsMended(t *testing.T) {
	good := campaign(t)
	for name, c := range map[string]struct {
		crash func(dir string) error
		want  Repairs
	}{
		"killed while an outcome was written": {
			func(dir string) error {
				return os.WriteFile(filepath.Join(dir, trialsName, ".f.new", resultName), []byte(`{"schema"`), 0o600)
			},
			Repairs{Interrupted: []string{"f"}}},
		"killed between folder and line of a beginning": {
			func(dir string) error { return os.Mkdir(filepath.Join(dir, trialsName, ".g.new"), 0o700) },
			Repairs{Interrupted: []string{"f", "g"}}},
		"the folder of a beginning is gone": {
			func(dir string) error { return os.Remove(filepath.Join(dir, trialsName, ".f.new")) },
			Repairs{Interrupted: []string{"f"}}},
		"an outcome and a folder that was to be one": {
			func(dir string) error { return os.Mkdir(filepath.Join(dir, trialsName, ".a.new"), 0o700) },
			Repairs{Interrupted: []string{"f"}, Removed: []string{".a.new"}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyTree(t, good)
			ok(t, c.crash(dir))
			s, found := reopen(t, dir)
			if diff := cmp.Diff(c.want, found); diff != "" {
				t.Error(diff)
			}
			for _, id := range found.Interrupted {
				if _, err := os.Lstat(filepath.Join(dir, trialsName, newName(id))); err != nil && id != "f" {
					t.Errorf("what shows that %s was begun is gone before it was given up: %v", id, err)
				}
				ok(t, s.Lose(id, "stopped", nil))
			}
			ok(t, s.Close())
			sound(t, dir)
		})
	}
}

func TestAnOutcomeThatIsNotWholeIsNotAdopted(t *testing.T) {
	good := campaign(t)
	index, err := os.ReadFile(filepath.Join(good, indexName))
	ok(t, err)
	header := index[:bytes.IndexByte(index, '\n')+1]
	for name, damage := range map[string]func(folder string) error{
		"a file is shorter":    func(f string) error { return os.Truncate(filepath.Join(f, "console.log"), 3) },
		"a file is missing":    func(f string) error { return os.Remove(filepath.Join(f, "empty")) },
		"a file more":          func(f string) error { return os.WriteFile(filepath.Join(f, "more"), nil, 0o600) },
		"no record":            func(f string) error { return os.Remove(filepath.Join(f, resultName)) },
		"a record cut short":   func(f string) error { return os.Truncate(filepath.Join(f, resultName), 30) },
		"of another trial":     func(f string) error { return os.Rename(f, f+"x") },
		"a link in its place":  func(f string) error { return relink(filepath.Join(f, "console.log")) },
		"a record that is one": func(f string) error { return relink(filepath.Join(f, resultName)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyTree(t, good)
			ok(t, os.WriteFile(filepath.Join(dir, indexName), header, 0o600))
			ok(t, damage(filepath.Join(dir, trialsName, "b")))
			_, _, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), "trial b") || !strings.Contains(err.Error(), "move "+filepath.Join(dir, trialsName, "b")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// relink puts a link to the same bytes in a file's place.
func relink(name string) error {
	elsewhere := filepath.Join(filepath.Dir(name), "..", "..", "..", "elsewhere")
	return errors.Join(os.Rename(name, elsewhere), os.Symlink(elsewhere, name))
}
