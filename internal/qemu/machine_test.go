package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
)

func TestEachOutcomeIsToldFromTheOthers(t *testing.T) {
	cases := []struct {
		name, steps string
		limit       time.Duration
		outcome     Outcome
		why         string
	}{
		{"the guest carries out its plan", "console boot;hello;kmsg 6,1,1,-;x;end", 0, Done, "the window passed"},
		{"QEMU does not end after the guest's end", "hello;end;hang", 0, Done, "the window passed"},
		{"the kernel panics", "console [    1.0] Kernel panic - not syncing: VFS: Unable to mount root fs;exit 0", 0, Panicked, "Kernel panic - not syncing: VFS: Unable to mount root fs"},
		{"the kernel panics after a while, in two pieces", "hello;fill;part Kernel panic - n;part ot syncing: Attempted to kill init!;exit 0", 0, Panicked, "Kernel panic - not syncing: Attempted to kill init!"},
		{"the kernel panics and hangs", "console Kernel panic - not syncing: hung;hang", 3 * time.Second, Panicked, "Kernel panic - not syncing: hung"},
		{"the guest hangs", "hello;hang", 3 * time.Second, Hung, "did not end within 3s; it had booted after"},
		{"the kernel hangs", "console Booting;hang", 3 * time.Second, NeverBooted, "process 1 did not run within 3s; the console's last line: Booting"},
		{"the kernel hangs in silence", "hang", 300 * time.Millisecond, NeverBooted, "the console's last line: (it is empty)"},
		{"the machine dies under the guest", "hello;console last;exit 0", 0, Died, "(QEMU's exit code 0) before the guest did; the console's last line: last"},
		{"the machine dies under the kernel", "console early;exit 0", 0, NeverBooted, "(QEMU's exit code 0) before process 1 ran; the console's last line: early"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, spec := fakeConfig(t), fakeSpec(t, c.steps)
			if strings.Contains(c.steps, ";x;") { // the kmsg record holds a semicolon, which separates steps
				spec.Extra[1] = strings.Replace(c.steps, ";x;", "|x;", 1)
			}
			if c.limit > 0 {
				spec.Limit = c.limit
			}
			r, err := config.Boot(limited(t), spec)
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome != c.outcome || !strings.Contains(r.Why, c.why) {
				t.Errorf("%s: %s; want %s: %s", r.Outcome, r.Why, c.outcome, c.why)
			}
			if (r.End != nil) != (c.outcome == Done) || (r.Hello != nil) != strings.Contains(c.steps, "hello") || (r.Booted > 0) != (r.Hello != nil) {
				t.Errorf("hello %v after %v, end %v", r.Hello, r.Booted, r.End)
			}
			if r.Wall < r.Booted || r.Wall <= 0 {
				t.Errorf("it booted after %v and ended after %v", r.Booted, r.Wall)
			}
		})
	}
}

func TestABootBringsBackWhatTheGuestSaid(t *testing.T) {
	config := fakeConfig(t)
	var observed []Stamped
	config.Observe = func(s Stamped) { observed = append(observed, s) }
	r, err := config.Boot(limited(t), fakeSpec(t, "files;noise;hello;kmsg 4,7,3400000,-|clocksource: Switched to clocksource tsc;out one;out two;trouble no /sys;end;stderr it is over;exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Damaged != 1 || r.ExitCode != 3 || r.Stderr != "it is over" || r.Dropped != 0 {
		t.Errorf("damaged %d, exit code %d, stderr %q, dropped %d", r.Damaged, r.ExitCode, r.Stderr, r.Dropped)
	}
	if diff := cmp.Diff(r.Records, observed); diff != "" {
		t.Errorf("observed other than brought back:\n%s", diff)
	}
	if !strings.Contains(r.Console, "-kernel 196 bytes\n") || !strings.Contains(r.Console, "-initrd ") {
		t.Errorf("console: %s", r.Console)
	}
	if r.Output("stdout") != "one\ntwo\n" || r.Output("stderr") != "" || len(r.Troubles()) != 1 {
		t.Errorf("output %q, %q, troubles %q", r.Output("stdout"), r.Output("stderr"), r.Troubles())
	}
	for i, s := range r.Records[1:] {
		if s.At < r.Records[i].At || s.At > r.Wall {
			t.Errorf("record %d came at %v, the one before at %v", i+1, s.At, r.Records[i].At)
		}
	}
	var back Result
	if err := json.Unmarshal([]byte(asJSON(t, r)), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("the result cannot be stored (-want +got):\n%s", diff)
	}
}

func TestTheKernelLogIsReadFromRecordsOrElseFromTheConsole(t *testing.T) {
	const line = "tsc: Marking TSC unstable due to clocksource watchdog"
	record := guest.Record{Type: guest.TypeKmsg, Kmsg: "4,7,3400000,-;" + line}
	for _, r := range []Result{
		{Records: []Stamped{{Record: record}}, Console: "[    1.000000] clocksource: Switched to clocksource hpet\n"},
		{Console: "[    3.400000] " + line + "\r\n"},
	} {
		events, err := r.Events()
		if err != nil || len(events) != 1 || events[0].Kind != event.TSCUnstable || events[0].Time.PrintkNS != event.Some[int64](3400000000) {
			t.Errorf("events %v, error %v", events, err)
		}
	}
}

func TestWhatAGuestMayFillIsBounded(t *testing.T) {
	r, err := fakeConfig(t).Boot(limited(t), fakeSpec(t, "fill;hello"+strings.Repeat(";flood", 3)+";end"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Console) != consoleKept || r.ConsoleCut < consoleKept/2 {
		t.Errorf("console of %d bytes, %d cut", len(r.Console), r.ConsoleCut)
	}
	if int64(len(r.Records))+r.Dropped != 122 || r.Dropped < 50 || r.Outcome != Done {
		t.Errorf("%s, %d records, %d dropped", r.Outcome, len(r.Records), r.Dropped)
	}
}

func TestQEMUThatRefusesIsAnError(t *testing.T) {
	r, err := fakeConfig(t).Boot(limited(t), fakeSpec(t, "stderr qemu: -cpu X: no such model;exit 1"))
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "(exit code 1): qemu: -cpu X: no such model") {
		t.Errorf("error %v", err)
	}
	if r.Outcome != NeverBooted {
		t.Errorf("outcome %s", r.Outcome)
	}
}

// At the limit, at a call of Kill and at the end of the context everything dies,
// also what QEMU itself has started.
func TestNothingOutlivesABoot(t *testing.T) {
	for _, way := range []string{"limit", "kill", "context", "end"} {
		t.Run(way, func(t *testing.T) {
			ctx, cancel := context.WithCancel(limited(t))
			defer cancel()
			config, spec := fakeConfig(t), fakeSpec(t, "child;hello;hang")
			if way == "end" {
				spec.Extra[1] = "child;hello;end"
			}
			if way == "limit" {
				spec.Limit = 5 * time.Second
			}
			hello := make(chan bool, 1)
			config.Observe = func(s Stamped) {
				if s.Record.Hello != nil {
					hello <- true
				}
			}
			m, err := config.Start(ctx, spec)
			if err != nil {
				t.Fatal(err)
			}
			<-hello
			switch way {
			case "kill":
				m.Kill()
			case "context":
				cancel()
			}
			r, err := m.Wait()
			if (way == "context") != errors.Is(err, context.Canceled) || (way == "context") == (err == nil) {
				t.Errorf("error %v", err)
			}
			want := map[string]Outcome{"limit": Hung, "kill": Stopped, "context": Stopped, "end": Done}[way]
			if r.Outcome != want {
				t.Errorf("%s: %s, want %s", r.Outcome, r.Why, want)
			}
			var child int
			if _, err := fmt.Sscanf(r.Console, "child %d", &child); err != nil {
				t.Fatalf("console %q: %v", r.Console, err)
			}
			if !gone(child) {
				t.Errorf("process %d, which QEMU started, still runs", child)
			}
			if again, err2 := m.Wait(); again.Outcome != r.Outcome || (err2 == nil) != (err == nil) {
				t.Error("a second Wait says something else")
			}
		})
	}
}

// A runner that is killed outright takes its virtual machines with it.
func TestQEMUDiesWithItsRunner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	config := fakeConfig(t)
	t.Setenv("TMPDIR", t.TempDir()) // the runner cannot clear away what it made
	runner := exec.Command(config.QEMU, runnerFlag, kernelFile(t, true), config.Guest)
	out, err := runner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("QEMU does not run: %v", err)
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = runner.Wait() // it was killed
	if !gone(pid) {
		t.Errorf("process %d still runs", pid)
	}
}

func TestWhatCannotBeBootedIsAnError(t *testing.T) {
	good := fakeConfig(t)
	notKernel := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(notKernel, []byte("this is no kernel"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name        string
		change      func(c *Config, s *Spec)
		unavailable bool
		want        string
	}{
		{"no QEMU", func(c *Config, _ *Spec) { c.QEMU = "/no/such/qemu" }, true, "/no/such/qemu is not installed: Debian and Ubuntu have it in the package qemu-system-x86"},
		{"no kernel", func(_ *Config, s *Spec) { s.Kernel = "/no/such/kernel" }, false, "make the kernel /no/such/kernel ready: open"},
		{"a folder for a kernel", func(_ *Config, s *Spec) { s.Kernel = "/" }, false, "make the kernel / ready: not a regular file"},
		{"a file that is no kernel", func(_ *Config, s *Spec) { s.Kernel = notKernel }, false, "no kernel image of the x86 architecture"},
		{"a vmlinux that QEMU cannot start", func(_ *Config, s *Spec) { s.Kernel = kernelFile(t, false) }, false, "no PVH entry point"},
		{"no guest program", func(c *Config, _ *Spec) { c.Guest = "/no/such/guest" }, false, "put a file into the initramfs: open /no/such/guest"},
		{"a file that is not there", func(_ *Config, s *Spec) { s.Files = []File{{Guest: "/x", Host: "/no/such/file"}} }, false, "open /no/such/file"},
		{"an impossible specification", func(_ *Config, s *Spec) { s.CPUs = -1 }, false, "-1 CPUs"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, spec := good, fakeSpec(t, "end")
			c.change(&config, &spec)
			r, err := config.Boot(limited(t), spec)
			if err == nil || !strings.Contains(err.Error(), c.want) || r.Outcome != "" {
				t.Errorf("outcome %q, error %v; want one that says %q", r.Outcome, err, c.want)
			}
			var unavailable *UnavailableError
			if errors.As(err, &unavailable) != c.unavailable {
				t.Errorf("error %v; unavailable: want %v", err, c.unavailable)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := good.Boot(ctx, fakeSpec(t, "end")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestQMPNeedsToBeAskedFor(t *testing.T) {
	m, err := fakeConfig(t).Start(limited(t), fakeSpec(t, "hello;end"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.QMP(limited(t)); err == nil || !strings.Contains(err.Error(), "without QMP") {
		t.Errorf("error %v", err)
	}
	if _, err := m.Wait(); err != nil {
		t.Error(err)
	}
}
