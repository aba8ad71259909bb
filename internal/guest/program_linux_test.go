package guest

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestTheProgramsOutputIsHandedOverLineByLine(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]string{}
	say := func(r Record) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Output.Stream] = append(got[r.Output.Stream], r.Output.Text)
	}
	const text = `printf 'one\n\ntwo\r\nthree'; echo bad >&2; printf '\377\n' >&2; printf '%070000d\n' 0; echo after; exit 3`
	p, err := startProgram([]string{"/bin/sh", "-c", text}, say)
	if err != nil {
		t.Fatal(err)
	}
	if code := <-p.ended; code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if want := []string{"bad", "\uFFFD"}; !slices.Equal(got["stderr"], want) {
		t.Errorf("stderr %q, want %q", got["stderr"], want)
	}
	want := []string{"one", "", "two", "three" + strings.Repeat("0", outputLimit-5), "after"}
	if !slices.Equal(got["stdout"], want) {
		t.Errorf("stdout has %d lines, want %d", len(got["stdout"]), len(want))
	}
}

func TestAProgramThatDoesNotEndIsKilledWithItsChildren(t *testing.T) {
	// The program's PATH is the guest's, which has no sleep here.
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	pids := make(chan string, 1)
	p, err := startProgram([]string{"/bin/sh", "-c", sleep + " 1000 & echo $!; wait"}, func(r Record) { pids <- r.Output.Text })
	if err != nil {
		t.Fatal(err)
	}
	if child, err := strconv.Atoi(<-pids); err != nil || syscall.Kill(child, 0) != nil {
		t.Fatalf("the program started no child: %v", err)
	}
	// The child holds the pipes, which end with it: this returns only if it is killed too.
	if code := p.kill(); code != -1 {
		t.Errorf("exit code %d, want -1", code)
	}
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	if _, err := startProgram([]string{"/no/such/program", "x"}, func(Record) {}); err == nil || !strings.Contains(err.Error(), "start /no/such/program x") {
		t.Errorf("error %v", err)
	}
}

func TestMainRefusesToRunOnAHost(t *testing.T) {
	if err := Main(); err == nil || !strings.Contains(err.Error(), "process 1") {
		t.Errorf("error %v", err)
	}
}
