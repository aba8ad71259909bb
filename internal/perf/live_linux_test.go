package perf

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// liveSink keeps the loop from being left out.
var liveSink atomic.Uint64

// spinForTheProfile is the function that the profile has to find.
//
//go:noinline
func spinForTheProfile(n int) {
	x := uint64(1)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	liveSink.Store(x)
}

// open opens a profile, or skips the test where the machine permits none.
func open(t *testing.T, c Config) *Session {
	t.Helper()
	s, err := Open(c, nil)
	var refused *Refused
	if errors.As(err, &refused) {
		t.Skipf("nothing may be sampled here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A profile is repeated, each time longer, until there are samples enough: how fast they come is the machine's affair.
func TestTheOwnBusyLoopIsFound(t *testing.T) {
	for _, event := range []Event{CPUClock, TaskClock} {
		for _, chains := range []bool{false, true} {
			name := string(event)
			if chains {
				name += " with call chains"
			}
			t.Run(name, func(t *testing.T) {
				const enough, limit = 20, 8 * time.Second
				began := time.Now()
				for length := 200 * time.Millisecond; ; length *= 2 {
					s := open(t, Config{Events: []Event{event}, Chains: chains})
					if err := s.Start(); err != nil {
						t.Fatal(err)
					}
					for end := time.Now().Add(length); time.Now().Before(end); {
						spinForTheProfile(1 << 20)
					}
					p, err := s.Stop()
					if err != nil {
						t.Fatal(err)
					}
					found := samplesIn(p, "spinForTheProfile")
					if found < enough && time.Since(began) < limit {
						continue
					}
					if found < enough {
						t.Fatalf("%d of %d samples in the busy loop after %v, want %d; notes %v", found, p.Total().Samples, time.Since(began), enough, p.Notes)
					}
					checkLive(t, p, event, chains)
					return
				}
			})
		}
	}
}

func samplesIn(p *Profile, function string) int64 {
	var n int64
	for i := range p.Stacks {
		if strings.HasSuffix(p.Stacks[i].leaf().Symbol, "."+function) {
			n += p.Stacks[i].Weight.Samples
		}
	}
	return n
}

func checkLive(t *testing.T, p *Profile, event Event, chains bool) {
	t.Helper()
	if p.Event != event || p.Seconds <= 0 || p.CPUs < 1 || len(p.Attempts) == 0 {
		t.Errorf("event %s, %v s, %d CPUs, attempts %v", p.Event, p.Seconds, p.CPUs, p.Attempts)
	}
	deep := false
	for _, s := range p.Stacks {
		if s.PID != int32(os.Getpid()) {
			t.Errorf("a sample of process %d, %s", s.PID, s.Command)
		}
		if s.Weight.Sum < float64(s.Weight.Samples) {
			t.Errorf("%d samples stand for %v ns", s.Weight.Samples, s.Weight.Sum)
		}
		for i, f := range s.Frames {
			// The direct caller is not there: a function that calls nothing keeps no frame pointer of its own.
			deep = deep || i > 0 && f.Symbol == "testing.tRunner"
		}
	}
	keepsFramePointers := runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
	if deep != chains && keepsFramePointers {
		t.Errorf("with chains %v the caller is seen: %v", chains, deep)
	}
}

func TestAnotherProcessIsProfiledUntilItEnds(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to profile")
	}
	c := exec.Command("sh", "-c", `while read -r line; do [ "$line" = end ] && exit; done`)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan error, 1)
	go func() { reaped <- c.Wait() }()
	s := open(t, Config{Target: Target{PIDs: []int{c.Process.Pid}}, Events: []Event{CPUClock, TaskClock}})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte(strings.Repeat("busy\n", 10000) + "end\n"))
	in.Close()
	if err := <-reaped; err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Ended():
	case <-time.After(30 * time.Second):
		t.Fatal("the end of the process was not noticed for 30 s")
	}
	p, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Stacks {
		if x.PID != int32(c.Process.Pid) {
			t.Errorf("a sample of process %d", x.PID)
		}
	}
	if _, err := Open(Config{Target: Target{PIDs: []int{c.Process.Pid}}}, nil); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("a profile of a process that has ended: error %v", err)
	}
}

func TestASessionIsUsedOnceAndInOrder(t *testing.T) {
	s := open(t, Config{Events: []Event{CPUClock, TaskClock}})
	if _, err := s.Stop(); err == nil {
		t.Error("stopped before its start without an error")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err == nil {
		t.Error("started twice without an error")
	}
	if _, err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := s.Stop(); err == nil {
		t.Error("stopped twice without an error")
	}
	s.Close()
	s.Close()
	abandoned := open(t, Config{Events: []Event{CPUClock, TaskClock}})
	if err := abandoned.Start(); err != nil {
		t.Fatal(err)
	}
	abandoned.Close()
}

func TestTheVDSOOfThisMachineHasNames(t *testing.T) {
	p, size, err := readVDSO()
	if err != nil {
		t.Skipf("the vDSO cannot be read here: %v", err)
	}
	want := "__vdso_clock_gettime"
	if runtime.GOARCH == "arm64" {
		want = "__kernel_clock_gettime"
	}
	for _, s := range p.list {
		if s.name == want && size > 0 {
			return
		}
	}
	t.Skipf("the vDSO of this architecture has no %s: %d names", want, len(p.list))
}

// A file that was replaced while it is mapped is never read in its place.
func TestAReplacedFileIsNotTakenForTheOneThatIsMapped(t *testing.T) {
	path := t.TempDir() + "/program"
	if err := os.WriteFile(path, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	_, inode := deviceAndInode(info)
	o := object{kind: kindFile, name: path, inode: inode}
	f, err := openMapped(int32(os.Getpid()), o, mapped{})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	o.inode++
	if f, err := openMapped(int32(os.Getpid()), o, mapped{}); !errors.Is(err, errReplaced) {
		t.Errorf("another inode: %v, error %v", f, err)
	}
	o.name = t.TempDir()
	if f, err := openMapped(int32(os.Getpid()), o, mapped{}); err == nil {
		t.Errorf("a folder is opened: %v", f)
	}
}

func TestErrorsOfTheKernelAreTurnedIntoReasons(t *testing.T) {
	user := asUser(2, 0)
	for _, tt := range []struct {
		errno unix.Errno
		event Event
		s     Sight
		want  string
	}{
		{unix.ENOENT, Cycles, user, "virtual machines (ENOENT)"},
		{unix.ENOENT, CPUClock, user, "does not know this event"},
		{unix.EOPNOTSUPP, Cycles, user, "not sampled"},
		{unix.ENODEV, Cycles, user, "CPU 3"},
		{unix.EACCES, Cycles, user, "perf_event_paranoid at 2"},
		{unix.EPERM, Cycles, with(user, func(s *Sight) { s.Paranoid = nil; s.Status.Seccomp = 2 }), "seccomp"},
		{unix.EPERM, Cycles, with(user, func(s *Sight) { s.Paranoid = nil; s.Lockdown = "confidentiality" }), "locked down"},
		{unix.EMFILE, Cycles, user, "ulimit -n"},
		{unix.ENOSYS, Cycles, user, "no perf events"},
		{unix.EINVAL, Cycles, user, "too old"},
		{unix.EBUSY, Cycles, user, "to itself"},
	} {
		if got := (&noEvent{cpu: 3, errno: tt.errno}).reason(tt.event, tt.s); !strings.Contains(got, tt.want) {
			t.Errorf("%s of %s: %q, want %q in it", unix.ErrnoName(tt.errno), tt.event, got, tt.want)
		}
	}
}

func TestListsOfCPUsAreRead(t *testing.T) {
	got, err := parseCPUs("0-2,5,8-8")
	if diff := cmp.Diff([]int{0, 1, 2, 5, 8}, got); err != nil || diff != "" {
		t.Errorf("error %v, CPUs (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "x", "2-1", "-1", "0-99999999", "1,"} {
		if got, err := parseCPUs(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

// What a container holds must not lead the profiler to files outside of it.
func TestASymbolicLinkInAContainerLeadsNowhereElse(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{outside + "/secret": "outside", root + "/program": "inside"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"absolute": outside + "/secret", "upwards": "../../../../../../../../.." + outside + "/secret", "within": "/program"} {
		if err := os.Symlink(to, root+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(root+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	if fd, err := unix.Openat2(unix.AT_FDCWD, root, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}); err != nil {
		t.Skipf("openat2, of Linux 5.6, is not there: %v", err)
	} else {
		unix.Close(fd)
	}
	for name, inside := range map[string]bool{"/program": true, "/within": true, "/absolute": false, "/upwards": false, "/fifo": false, "/none": false} {
		f, err := openWithin(root, name)
		if (err == nil) != inside {
			t.Errorf("%s: error %v, want inside %v", name, err, inside)
		}
		if err == nil {
			f.Close()
		}
	}
}

// The kernel writes around the end of a ring, and counts on for ever.
func TestARingIsReadAcrossItsEnd(t *testing.T) {
	page := &unix.PerfEventMmapPage{}
	r := &ring{page: page, data: make([]byte, 64)}
	page.Data_head, page.Data_tail = 1<<40, 1<<40
	written := 0
	for _, n := range []int{0, 8, 56, 40, 64, 24, 64} {
		var want []byte
		for range n {
			r.data[page.Data_head%64] = byte(written)
			want = append(want, byte(written))
			page.Data_head++
			written++
		}
		if got := r.drain(); string(got) != string(want) || page.Data_tail != page.Data_head {
			t.Fatalf("%d bytes after %d: read %v, want %v", n, written-n, got, want)
		}
	}
	page.Data_head += 65 // no kernel does that
	if got := r.drain(); len(got) != 0 || page.Data_tail != page.Data_head {
		t.Errorf("read %d bytes of a ring that was overrun", len(got))
	}
}
