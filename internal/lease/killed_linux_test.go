package lease

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// borrowerVariable, when set, makes the test program a borrower: its value is the
// folder of the machine, a comma, and how it ends.
const borrowerVariable = "CSWATCH_TEST_BORROWER"

func TestMain(m *testing.M) {
	GuardianMain()
	// Programs under the race detector otherwise sleep for a second at their end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if what := os.Getenv(borrowerVariable); what != "" {
		borrow(what)
		return
	}
	os.Exit(m.Run())
}

// borrow switches back and forth, saying so, until it is killed or ends by itself.
func borrow(what string) {
	dir, end, _ := strings.Cut(what, ",")
	l, err := Take(Config{Sysfs: filepath.Join(dir, "sysfs"), State: filepath.Join(dir, "run", "cswatch"), BootID: filepath.Join(dir, "boot_id")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("guardian", l.guard.command.Process.Pid)
	for i := 0; ; i++ {
		if err := l.Switch([]string{"hpet", "acpi_pm"}[i%2]); err != nil {
			if errors.Is(err, ErrUnguarded) {
				err = l.Close()
			}
			fmt.Println("stopped:", err)
			return
		}
		if i == 0 {
			fmt.Println("switched")
		}
		switch end {
		case "panic":
			panic("a fault of the program")
		case "exit":
			os.Exit(3)
		}
	}
}

// borrower is a process that has switched the clocksource.
type borrower struct {
	command  *exec.Cmd
	lines    *bufio.Reader
	guardian int
}

// startBorrower starts a process in a group of its own, and returns when it has switched.
func startBorrower(t *testing.T, c Config, end string) *borrower {
	t.Helper()
	b := &borrower{command: exec.Command(os.Args[0])}
	b.command.Env = append(os.Environ(), borrowerVariable+"="+filepath.Dir(c.Sysfs)+","+end)
	b.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := b.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.command.Start(); err != nil {
		t.Fatal(err)
	}
	b.lines = bufio.NewReader(out)
	line := b.next(t)
	if b.guardian, err = strconv.Atoi(strings.TrimPrefix(line, "guardian ")); err != nil {
		t.Fatalf("the borrower said %q", line)
	}
	if line := b.next(t); line != "switched" {
		t.Fatalf("the borrower said %q", line)
	}
	return b
}

func (b *borrower) next(t *testing.T) string {
	t.Helper()
	line, err := b.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the borrower said %q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// until waits for what must come, however slow the machine is.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited a minute for %s", what)
}

// freed waits until the lock of a lease is free, which is after its guardian's end.
func freed(t *testing.T, c Config) {
	t.Helper()
	until(t, "the guardian's end", func() bool {
		f, err := state(c.State).lock()
		if err != nil {
			return false
		}
		return f.Close() == nil
	})
}

func TestTheGuardianGivesBackWhenTheBorrowerEndsWithoutDoingSo(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  string
		do   func(*borrower) error
	}{
		{"it panics", "panic", nil},
		{"it exits", "exit", nil},
		{"its process group is killed", "", func(b *borrower) error { return syscall.Kill(-b.command.Process.Pid, syscall.SIGKILL) }},
		{"its terminal goes away", "", func(b *borrower) error { return syscall.Kill(-b.command.Process.Pid, syscall.SIGHUP) }},
		{"everybody is interrupted", "", func(b *borrower) error {
			return errors.Join(syscall.Kill(b.guardian, syscall.SIGINT), syscall.Kill(-b.command.Process.Pid, syscall.SIGINT))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := machineWith(t, "tsc", "tsc", "hpet", "acpi_pm")
			b := startBorrower(t, c, tc.end)
			if tc.do != nil {
				if err := tc.do(b); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.command.Wait(); err == nil {
				t.Error("the borrower ended as if nothing were")
			}
			freed(t, c)
			if got := currentOf(t, c); got != "tsc" {
				t.Errorf("current is %s", got)
			}
			nothingLeft(t, c)
		})
	}
}

// The moments differ from run to run of the scheduler; the assertion holds at each of them.
func TestKilledAtAnyMomentTheOldClocksourceComesBack(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet", "acpi_pm")
	random := rand.New(rand.NewPCG(6, 1))
	for range 20 {
		b := startBorrower(t, c, "")
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		if err := syscall.Kill(-b.command.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = b.command.Wait()
		freed(t, c)
		if got := currentOf(t, c); got != "tsc" {
			t.Fatalf("current is %s", got)
		}
		if _, found, err := state(c.State).read(); found || err != nil {
			t.Fatalf("a record is left: %v", err)
		}
	}
}

func TestABorrowerWhoseGuardianWasKilledStopsAndGivesBack(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet", "acpi_pm")
	b := startBorrower(t, c, "")
	if err := syscall.Kill(b.guardian, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if line := b.next(t); line != "stopped: <nil>" {
		t.Errorf("it said %q", line)
	}
	if err := b.command.Wait(); err != nil {
		t.Error(err)
	}
	if got := currentOf(t, c); got != "tsc" {
		t.Errorf("current is %s", got)
	}
	nothingLeft(t, c)
}

func TestAGuardianThatIsToldToEndGivesBackAtOnce(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet", "acpi_pm")
	l, err := Take(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Switch("hpet"); err != nil {
		t.Fatal(err)
	}
	if err := l.guard.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-l.Unguarded()
	if got := currentOf(t, c); got != "tsc" {
		t.Errorf("current is %s", got)
	}
	if err := l.Switch("hpet"); !errors.Is(err, ErrUnguarded) {
		t.Errorf("switched without a guardian: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, c)
}

func TestTheNextStartGivesBackWhenBorrowerAndGuardianWereKilled(t *testing.T) {
	c := machineWith(t, "tsc", "tsc", "hpet", "acpi_pm")
	b := startBorrower(t, c, "")
	// The borrower is stopped first, so that it cannot give back for want of its guardian.
	if err := errors.Join(syscall.Kill(b.command.Process.Pid, syscall.SIGSTOP), syscall.Kill(b.guardian, syscall.SIGKILL),
		syscall.Kill(b.command.Process.Pid, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	_ = b.command.Wait()
	freed(t, c)
	left, found, err := state(c.State).read()
	if err != nil || !found || left.Old != "tsc" {
		t.Fatalf("the record is %+v, %v, %v", left, found, err)
	}
	put(t, filepath.Join(c.Sysfs, "current_clocksource"), left.To+"\n") // it may have been stopped between note and write
	if _, err := Take(c); err == nil || !strings.Contains(err.Error(), "was not recovered") {
		t.Errorf("a lease over what was left: %v", err)
	}
	r, err := Recover(c)
	if err != nil || r == nil || !r.Given || currentOf(t, c) != "tsc" {
		t.Errorf("recovered %+v, %v, current %s", r, err, currentOf(t, c))
	}
	nothingLeft(t, c)
}
