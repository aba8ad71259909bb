package perf

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	ChildMain()
	os.Exit(m.Run())
}

func TestACommandIsHeldUntilItIsLetGo(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	c := exec.Command("sh", "-c", `echo "$0 $1 ${CSWATCH_PERF_HOLD-none} $$"; : > "$2"; exit 7`, "name", "two words", mark)
	if c.Err != nil {
		t.Skip("no shell to hold")
	}
	var out bytes.Buffer
	c.Stdout = &out
	h, err := Hold(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran before it was let go")
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("it ended with %v, want code 7", err)
	}
	want := "name two words none "
	if got, pid, _ := strings.Cut(out.String(), want); got != "" || strings.TrimSpace(pid) != strconv.Itoa(c.Process.Pid) {
		t.Errorf("it printed %q, want %q and its process ID %d", out.String(), want, c.Process.Pid)
	}
}

func TestACommandThatIsDroppedNeverRuns(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	c := exec.Command("sh", "-c", `: > "$0"`, mark)
	if c.Err != nil {
		t.Skip("no shell to hold")
	}
	h, err := Hold(c)
	if err != nil {
		t.Fatal(err)
	}
	h.Drop()
	if _, err := os.Stat(mark); err == nil || c.ProcessState == nil {
		t.Errorf("the mark: %v, the state %v", err, c.ProcessState)
	}
}

func TestACommandThatCannotRunSaysWhy(t *testing.T) {
	if _, err := Hold(exec.Command("there-is-no-such-program")); err == nil || !strings.Contains(err.Error(), "there-is-no-such-program") {
		t.Errorf("a program that is not there: error %v", err)
	}
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("no program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	h, err := Hold(exec.Command(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "exec format error") {
		t.Errorf("a text: error %v", err)
	}
	if h.Command.ProcessState == nil {
		t.Error("its process is still there")
	}
}

func TestTheProfileOfAHeldCommandHasAllOfIt(t *testing.T) {
	c := exec.Command("sh", "-c", `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3`)
	if c.Err != nil {
		t.Skip("no shell to profile")
	}
	h, err := Hold(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Target: Target{PIDs: []int{c.Process.Pid}}, Events: []Event{CPUClock, TaskClock}}, nil)
	if err != nil {
		h.Drop()
		t.Skipf("nothing may be sampled here: %v", err)
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	<-s.Ended()
	p, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if c.ProcessState.ExitCode() != 3 {
		t.Errorf("it ended with code %d, want 3", c.ProcessState.ExitCode())
	}
	for _, x := range p.Stacks {
		if x.Command == "sh" && x.PID == int32(c.Process.Pid) {
			return
		}
	}
	t.Errorf("no sample of the shell in %d: %v", p.Total().Samples, p.Notes)
}

func TestSeveralProcessesAreProfiledUntilTheLastEnds(t *testing.T) {
	var held []*Held
	var pids []int
	for range 2 {
		c := exec.Command("sh", "-c", `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done`)
		if c.Err != nil {
			t.Skip("no shell to profile")
		}
		h, err := Hold(c)
		if err != nil {
			t.Fatal(err)
		}
		held, pids = append(held, h), append(pids, c.Process.Pid)
	}
	s, err := Open(Config{Target: Target{PIDs: pids}, Events: []Event{CPUClock, TaskClock}}, nil)
	if err != nil {
		for _, h := range held {
			h.Drop()
		}
		t.Skipf("nothing may be sampled here: %v", err)
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for i, h := range held {
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		h.Command.Wait()
		select {
		case <-s.Ended():
			if i == 0 {
				t.Fatal("the end came with that of the first")
			}
		default:
		}
	}
	<-s.Ended()
	p, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int32]bool{}
	for _, x := range p.Stacks {
		seen[x.PID] = true
	}
	if len(seen) != 2 || !seen[int32(pids[0])] || !seen[int32(pids[1])] {
		t.Errorf("samples of %v, want of %v", seen, pids)
	}
}
