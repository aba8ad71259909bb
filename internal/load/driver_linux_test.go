package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/loopback"
)

// The loads here last for as long as it takes to start and to stop them.

// page returns a file that can be mapped in the place of an HPET.
func page(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hpet")
	if err := os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// once starts the load and ends it at once.
func once(t *testing.T, d Driver) Work {
	t.Helper()
	before := runtime.GOMAXPROCS(0)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	r, err := d.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	end()
	w, err := r.Wait()
	if err != nil {
		t.Error(err)
	}
	if w.Kind != d.Kind || w.DrivenNS <= 0 {
		t.Errorf("the load %s, driven for %d ns", w.Kind, w.DrivenNS)
	}
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("the Go scheduler may run %d goroutines at once, before %d", after, before)
	}
	return w
}

func TestLoadsAreDrivenOnTheCPUsThatTheProcessMayUse(t *testing.T) {
	cpus, err := hw.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	n := len(cpus)
	cases := []struct {
		name             string
		driver           Driver
		looping, reading int
	}{
		{"nothing", Driver{Kind: None}, 0, 0},
		{"a busy loop on every CPU", Driver{Kind: CPU}, n, 0},
		{"a busy loop on one CPU", Driver{Kind: CPU, cpus: cpus[:1]}, 1, 0},
		{"every CPU reads the HPET", Driver{Kind: HPET, AcceptLosingTSC: true, hpet: page(t)}, 0, n},
		{"both on a single CPU", Driver{Kind: Both, AcceptLosingTSC: true, hpet: page(t), cpus: cpus[:1]}, 1, 1},
		{"both on two CPUs, which may be one", Driver{Kind: Both, AcceptLosingTSC: true, hpet: page(t), cpus: []int{cpus[0], cpus[n-1]}}, 1, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := once(t, c.driver)
			if w.LoopingCPUs != c.looping || w.ReadingCPUs != c.reading {
				t.Errorf("%d CPUs loop and %d read, want %d and %d", w.LoopingCPUs, w.ReadingCPUs, c.looping, c.reading)
			}
			if idle := w.Idle(); idle != nil {
				t.Errorf("it did nothing: %q", idle)
			}
			if (w.Loops > 0) != (c.looping > 0) || (w.Reads > 0) != (c.reading > 0) || w.Bytes > 0 {
				t.Errorf("it did %+v", w)
			}
		})
	}
}

// A stream that is ended at once may have brought nothing: it gets longer until it has.
func TestAStreamRunsOverLoopback(t *testing.T) {
	if err := loopback.Raise(); errors.Is(err, unix.EPERM) {
		t.Skip(err)
	}
	for d := time.Millisecond; ; d *= 2 {
		ctx, end := context.WithCancel(t.Context())
		r, err := Driver{Kind: Net}.Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
		end()
		w, err := r.Wait()
		if err != nil || w.Loops+w.Reads > 0 || d > time.Minute {
			t.Fatalf("within %v it did %+v, error %v", d, w, err)
		}
		if w.Idle() == nil {
			return
		}
	}
}

func TestWhatCannotBeDrivenIsSaidBeforeAnythingRuns(t *testing.T) {
	cpus, err := hw.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(t.TempDir(), "hpet")
	cases := []struct {
		name   string
		driver Driver
		want   string
	}{
		{"a kind that does not exist", Driver{Kind: "io"}, `"io": want none, cpu, hpet, both, net`},
		{"reads of the HPET that nobody accepted", Driver{Kind: HPET, hpet: page(t)}, ErrLosesTSC.Error()},
		{"both that nobody accepted", Driver{Kind: Both, hpet: page(t)}, "or accept the loss"},
		{"no HPET", Driver{Kind: HPET, AcceptLosingTSC: true, hpet: absent}, "drive the load hpet: open " + absent + ": no such file or directory: boot a kernel with CONFIG_HPET"},
		{"an HPET that cannot be mapped", Driver{Kind: Both, AcceptLosingTSC: true, hpet: t.TempDir()}, "boot with hpet_mmap=1"},
		{"a CPU that is not there", Driver{Kind: CPU, cpus: []int{cpus[0], 1 << 20}}, "bind the thread to CPU 1048576"},
		{"no CPU", Driver{Kind: CPU, cpus: []int{}}, "the process may use no CPU"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := runtime.GOMAXPROCS(0)
			r, err := c.driver.Start(t.Context())
			if r != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, error %v, want one that says %q", r, err, c.want)
			}
			if w, err := c.driver.Run(t.Context()); w != (Work{}) || err == nil {
				t.Errorf("Run did %+v, error %v", w, err)
			}
			if after := runtime.GOMAXPROCS(0); after != before {
				t.Errorf("the Go scheduler may run %d goroutines at once, before %d", after, before)
			}
		})
	}
}

func TestTheWordThatIsReadIsTheMainCounter(t *testing.T) {
	path := page(t)
	counter, unmap, err := mapCounter(path)
	if err != nil {
		t.Fatal(err)
	}
	defer unmap()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{1, 2, 3, 4, 5}, mainCounter); err != nil {
		t.Fatal(err)
	}
	if *counter&0xff != 1 {
		t.Errorf("the word at %#x reads as %#x", mainCounter, *counter)
	}
}
