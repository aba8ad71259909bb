package hook

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// command returns the command that does as told. It has all the time it wants, unless a test shortens it.
func command(t testing.TB, log slog.Handler, does string, args ...string) *Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := CommandConfig{Path: self, Args: append([]string{childWord, does}, args...)}
	if log != nil {
		config.Log = slog.New(log)
	}
	c, err := NewCommand(config)
	if err != nil {
		t.Fatal(err)
	}
	c.after = func(time.Duration) <-chan time.Time { return nil }
	return c
}

// fifo makes one, and returns its name.
func fifo(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// holders is the reading end of a FIFO, once a child is ready, and its number. It is at its end when nobody has the FIFO any more.
func holders(t testing.TB, name string) (*bufio.Reader, int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	in := bufio.NewReader(f)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return in, pid
}

// timers are those that a command asks for, in the order in which it does.
type timers chan timer

type timer struct {
	after time.Duration
	ring  chan time.Time
}

func (s timers) after(d time.Duration) <-chan time.Time {
	t := timer{d, make(chan time.Time, 1)}
	s <- t
	return t.ring
}

// next returns the next one, which has to be of that length.
func (s timers) next(t testing.TB, after time.Duration) timer {
	t.Helper()
	got := <-s
	if got.after != after {
		t.Errorf("a timer of %v, want %v", got.after, after)
	}
	return got
}

// telling runs a command until it has an outcome.
func telling(ctx context.Context, c *Command) <-chan error {
	result := make(chan error, 1)
	go func() {
		outcome, err := c.Tell(ctx, sample())
		result <- errors.Join(err, errors.New("outcome "+string(outcome)))
	}()
	return result
}

func TestACommandGetsWhatIsPromisedAndNothingElse(t *testing.T) {
	for _, name := range os.Environ() {
		name, value, _ := strings.Cut(name, "=")
		t.Setenv(name, value) // puts it back
		os.Unsetenv(name)
	}
	own := map[string]string{
		"PATH": "/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "LC_ALL": "C", "LOGNAME": "l", "TMPDIR": os.TempDir(), "TZ": "UTC", "USER": "u",
		"NOTIFY_SOCKET": "@secret", "LISTEN_FDS": "1", "CREDENTIALS_DIRECTORY": "/secret", "CSWATCH_EVENT_KIND": "forged", "LD_PRELOAD": "",
	}
	for name, value := range own {
		t.Setenv(name, value)
	}
	// A descriptor that this program was given open, as by a service manager.
	leak := filepath.Join(t.TempDir(), "leak")
	f, err := os.Create(leak)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inherited, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 50)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	file := filepath.Join(t.TempDir(), "report")

	c := command(t, nil, "report", file, "two words", "$HOME;*", "")
	plain := exec.Command(c.path, c.args...)
	if out, err := plain.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !slices.Contains(descriptors(readReport(t, file)), leak) {
		t.Error("the descriptor is not handed on even without care: nothing is shown here")
	}
	if outcome, err := c.Tell(context.Background(), sample()); outcome != OK || err != nil {
		t.Fatalf("%s, %v", outcome, err)
	}
	r := readReport(t, file)
	if diff := cmp.Diff([]string{file, "two words", "$HOME;*", ""}, r.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	want := sample().Environment()
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "LOGNAME", "TMPDIR", "TZ", "USER"} {
		want = append(want, name+"="+own[name])
	}
	slices.Sort(want)
	slices.Sort(r.Environment)
	if diff := cmp.Diff(want, r.Environment); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sampleDocument, r.Input); diff != "" {
		t.Errorf("standard input (-want +got):\n%s", diff)
	}
	if r.Folder != "/" || !r.Leader {
		t.Errorf("folder %s, leader of its group %v", r.Folder, r.Leader)
	}
	if slices.Contains(descriptors(r), leak) {
		t.Errorf("a descriptor of ours is open: %v", r.Descriptors)
	}
	for fd, to := range r.Descriptors {
		if pipe := strings.HasPrefix(to, "pipe:"); pipe != (fd < 3) && !strings.HasPrefix(to, "anon_inode:") {
			t.Errorf("descriptor %d is %s", fd, to) // its own are the folder's, closed, and the poller's
		}
	}
}

func descriptors(r report) []string {
	var list []string
	for _, to := range r.Descriptors {
		list = append(list, to)
	}
	return list
}

func readReport(t testing.TB, file string) report {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheExitCodeIsTheOutcome(t *testing.T) {
	for _, c := range []struct {
		code string
		want Outcome
		err  string
	}{{"0", OK, ""}, {"1", Failed, "exit status 1"}, {"75", Failed, "exit status 75"}} {
		outcome, err := command(t, nil, "exit", c.code).Tell(context.Background(), sample())
		if outcome != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasSuffix(err.Error(), c.err) {
			t.Errorf("exit code %s: %s, %v", c.code, outcome, err)
		}
	}
}

func TestACommandThatIsGoneFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := NewCommand(CommandConfig{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the slot is free again
		if outcome, err := c.Tell(context.Background(), sample()); outcome != Failed || err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("%s, %v", outcome, err)
		}
	}
}

func TestTheBeginningOfTheOutputIsLoggedAndTheRestIsRead(t *testing.T) {
	log := &records{}
	if outcome, err := command(t, log, "print", "1000000").Tell(context.Background(), sample()); outcome != OK {
		t.Fatalf("%s, %v", outcome, err)
	}
	said := log.said("output of the command")
	if len(said) != 1 || said[0]["bytes_left_out"] != strconv.Itoa(1000000-4096) || said[0]["event"] != sample().ID() || said[0]["level"] != "INFO" {
		t.Fatalf("%d records", len(said))
	}
	want := strings.Repeat("a", 1000) + strings.Repeat("b", 1000) + strings.Repeat("c", 1000) + strings.Repeat("d", 1000) + strings.Repeat("e", 96)
	if said[0]["output"] != want {
		t.Errorf("output %q", said[0]["output"])
	}
}

func TestACommandThatSaysNothingIsNotLogged(t *testing.T) {
	log := &records{}
	if outcome, err := command(t, log, "exit", "0").Tell(context.Background(), sample()); outcome != OK || log.text() != "" {
		t.Errorf("%s, %v, logged %s", outcome, err, log.text())
	}
}

func TestACommandThatRunsTooLongIsAskedToEnd(t *testing.T) {
	name, clock := fifo(t), make(timers, 4)
	c := command(t, nil, "obedient", name)
	c.after = clock.after
	result := telling(context.Background(), c)
	limit := clock.next(t, DefaultCommandLimit)
	in, _ := holders(t, name)
	limit.ring <- time.Time{}
	if err := <-result; !strings.Contains(err.Error(), "was ended after 30s") || !strings.Contains(err.Error(), "outcome timed-out") {
		t.Error(err)
	}
	if _, err := io.ReadAll(in); err != nil { // until nobody has the FIFO
		t.Error(err)
	}
}

func TestACommandThatDoesNotObeyIsKilledWithItsDescendants(t *testing.T) {
	name, clock := fifo(t), make(timers, 4)
	c := command(t, nil, "stubborn", name)
	c.after = clock.after
	result := telling(context.Background(), c)
	limit := clock.next(t, DefaultCommandLimit)
	in, _ := holders(t, name)
	limit.ring <- time.Time{}
	asked := clock.next(t, grace) // SIGTERM was sent
	select {
	case err := <-result:
		t.Fatalf("ended by SIGTERM: %v", err)
	default:
	}
	asked.ring <- time.Time{}
	if err := <-result; !strings.Contains(err.Error(), "was ended after 30s") || !strings.Contains(err.Error(), "outcome timed-out") {
		t.Error(err)
	}
	if _, err := io.ReadAll(in); err != nil {
		t.Error(err)
	}
}

func TestACommandIsEndedWithTheProgram(t *testing.T) {
	name := fifo(t)
	c := command(t, nil, "obedient", name)
	q := newQueue(t, QueueConfig{Hook: c, Delivered: func(uint64) { t.Error("delivered") }})
	ctx, cancel := context.WithCancel(context.Background())
	var owner sync.WaitGroup
	owner.Go(func() { q.Run(ctx) })
	q.Add(sample())
	in, _ := holders(t, name)
	cancel()
	owner.Wait()
	if _, err := io.ReadAll(in); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]uint64{0, 0, 0, 0, 1}, counts(q)); diff != "" {
		t.Errorf("ok, failed, timed-out, dropped, length (-want +got):\n%s", diff)
	}
}

func TestWhatACommandLeavesBehindIsKilled(t *testing.T) {
	name := fifo(t)
	result := telling(context.Background(), command(t, nil, "leaves", name))
	in, _ := holders(t, name)
	if err := <-result; err.Error() != "outcome ok" {
		t.Error(err)
	}
	if _, err := io.ReadAll(in); err != nil {
		t.Error(err)
	}
}

func TestWhatHasLeftTheGroupHoldsNothingUp(t *testing.T) {
	name := fifo(t)
	c := command(t, nil, "escapes", name)
	c.pipes = time.Millisecond
	result := telling(context.Background(), c)
	_, pid := holders(t, name)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := <-result; err.Error() != "outcome ok" {
		t.Error(err)
	}
}

func TestASecondRunWaitsForTheFirst(t *testing.T) {
	name, clock := fifo(t), make(timers, 8)
	c := command(t, nil, "obedient", name)
	c.after = clock.after
	ctx, cancel := context.WithCancel(context.Background())
	first := telling(ctx, c)
	clock.next(t, DefaultCommandLimit)
	in, _ := holders(t, name)
	second := telling(context.Background(), c)
	clock.next(t, DefaultCommandLimit).ring <- time.Time{}
	if err := <-second; !strings.Contains(err.Error(), "the run before it has not ended") || !strings.Contains(err.Error(), "outcome timed-out") {
		t.Error(err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if more, err := io.ReadAll(in); err != nil || len(more) > 0 {
		t.Errorf("a second command ran: %q, %v", more, err)
	}
}

func TestACommandThatCannotRunIsAnErrorAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		config CommandConfig
		want   string
	}{
		{"nothing", CommandConfig{}, "it is empty"},
		{"a relative path", CommandConfig{Path: "bin/tell"}, `"bin/tell" is not an absolute path`},
		{"a NUL", CommandConfig{Path: "/bin/true", Args: []string{"a\x00"}}, "holds a NUL"},
		{"a negative limit", CommandConfig{Path: "/bin/true", Limit: -1}, "a time limit of -1ns"},
		{"a file that is not there", CommandConfig{Path: "/nonexistent/tell"}, "no such file"},
		{"a file that may not be executed", CommandConfig{Path: file}, "permission denied; it has to be a file that may be executed"},
		{"a folder", CommandConfig{Path: "/"}, "it has to be a file that may be executed"},
		{"a name that is not in PATH", CommandConfig{Path: "cswatch-no-such-command"}, "executable file not found in $PATH"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if h, err := NewCommand(c.config); h != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestANameIsLookedForInPATH(t *testing.T) {
	c, err := NewCommand(CommandConfig{Path: "sh", Args: []string{"-c", `test "$CSWATCH_EVENT_KIND" = condemned && cat > /dev/null`}})
	if err != nil {
		t.Fatal(err)
	}
	if outcome, err := c.Tell(context.Background(), sample()); outcome != OK {
		t.Errorf("%s, %v", outcome, err)
	}
}

func TestWithoutAPATHACommandHasAUsualOne(t *testing.T) {
	t.Setenv("PATH", "")
	if got := handedOn(); !slices.Contains(got, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") {
		t.Errorf("%q", got)
	}
}
