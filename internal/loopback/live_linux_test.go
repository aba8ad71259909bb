package loopback

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/internal/hw"
)

// start starts traffic on the CPUs that the process may use.
func start(t *testing.T, ctx context.Context, traffic Traffic) *Running {
	t.Helper()
	if err := Raise(); errors.Is(err, unix.EPERM) {
		t.Skip(err)
	}
	cpus, err := hw.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	traffic.Pin = &Placement{Client: cpus[len(cpus)-1], Server: cpus[0]}
	r, err := Start(ctx, traffic)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBothEndsOfTrafficCountTheSame(t *testing.T) {
	for _, c := range []struct {
		name    string
		traffic Traffic
	}{
		{"a stream", Traffic{Test: Stream}},
		{"streams of small messages", Traffic{Test: Stream, Size: 1000, Flows: 3}},
		{"requests", Traffic{Test: RR}},
		{"requests of more than a segment, by two", Traffic{Test: RR, Size: 200_000, Flows: 2}},
		{"requests with a connection each", Traffic{Test: CRR}},
		{"large ones, by two", Traffic{Test: CRR, Size: 100_000, Flows: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := runtime.GOMAXPROCS(0)
			r := start(t, t.Context(), c.traffic)
			var last Sample
			for deadline := time.Now().Add(time.Minute); last.ReceivedBytes+last.Transactions == 0 || last.At < 50*time.Millisecond; {
				if time.Now().After(deadline) {
					t.Fatalf("within a minute nothing came: %+v", last)
				}
				time.Sleep(10 * time.Millisecond)
				s, err := r.Sample()
				if err != nil {
					t.Fatal(err)
				}
				if s.At < last.At || s.SentBytes < last.SentBytes || s.Transactions < last.Transactions || s.Client.CPUTime < last.Client.CPUTime || s.Client.Segments < last.Client.Segments {
					t.Errorf("after %+v came %+v", last, s)
				}
				last = s
			}
			if !last.SegmentsKnown || last.Client.Segments == 0 || last.Client.CPUTime <= 0 || last.Server.CPUTime <= 0 || last.Client.CPU.All == 0 {
				t.Errorf("a sample without its use: %+v", last)
			}
			all, err := r.Stop()
			if err != nil {
				t.Fatal(err)
			}
			flows := uint64(max(1, c.traffic.Flows))
			// What the client has sent may be on its way when the sockets are shut down: at most what the sockets hold.
			if lost := all.SentBytes - all.ReceivedBytes; all.SentBytes < all.ReceivedBytes || lost > flows<<26 {
				t.Errorf("%d bytes were sent and %d received", all.SentBytes, all.ReceivedBytes)
			}
			if open := int64(all.Served) - int64(all.Transactions); open < 0 || open > int64(flows) {
				t.Errorf("%d requests were answered and %d answers read", all.Served, all.Transactions)
			}
			if (c.traffic.Test == Stream) != (all.Transactions == 0) || (c.traffic.Test == Stream) != (all.SentBytes > 0) {
				t.Errorf("it did %+v", all)
			}
			if after := runtime.GOMAXPROCS(0); after != before {
				t.Errorf("the Go scheduler may run %d goroutines at once, before %d", after, before)
			}
		})
	}
}

func TestTheThreadsOfTrafficHaveNamesAndAreBound(t *testing.T) {
	r := start(t, t.Context(), Traffic{Test: RR})
	defer func() { _, _ = r.Stop() }()
	for _, c := range []struct {
		w    *worker
		name string
		cpu  int
	}{{&r.flows[0].client, ClientThread, r.traffic.Pin.Client}, {&r.flows[0].server, ServerThread, r.traffic.Pin.Server}} {
		status, err := os.ReadFile("/proc/self/task/" + strconv.FormatInt(c.w.tid.Load(), 10) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Name:\t" + c.name + "\n", "Cpus_allowed_list:\t" + strconv.Itoa(c.cpu) + "\n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("the thread's status has no line %q:\n%s", want, status)
			}
		}
	}
}

// The threads neither keep Go's collector from running nor is their memory taken from them.
func TestTheCollectorRunsUnderTraffic(t *testing.T) {
	for _, test := range Tests() {
		r := start(t, t.Context(), Traffic{Test: test, Size: 5000, Flows: 2})
		for range 5 {
			runtime.GC()
			_ = make([]byte, 1<<20)
		}
		if _, err := r.Stop(); err != nil {
			t.Errorf("%s: %v", test, err)
		}
	}
}

// Each ends although its threads wait in the kernel.
func TestTrafficEndsWithItsContext(t *testing.T) {
	for _, test := range Tests() {
		ctx, cancel := context.WithCancel(t.Context())
		r := start(t, ctx, Traffic{Test: test, Flows: 2})
		cancel()
		if _, err := r.Wait(); err != nil {
			t.Errorf("%s: %v", test, err)
		}
	}
}

// One end that breaks off is no end of the traffic: it is told, with the work up to there.
func TestTrafficThatBreaksOffIsAnError(t *testing.T) {
	for _, test := range []Test{Stream, RR} {
		r := start(t, t.Context(), Traffic{Test: test, Flows: 2})
		if err := unix.Shutdown(r.flows[1].server.socket, unix.SHUT_RDWR); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(); err == nil || !strings.Contains(err.Error(), "over loopback") {
			t.Errorf("%s: error %v", test, err)
		}
	}
}

// A stranger who connects and closes, or says nothing for a while, delays a crr but does not end it.
func TestAStrangerDoesNotEndACRR(t *testing.T) {
	r := start(t, t.Context(), Traffic{Test: CRR})
	name, err := unix.Getsockname(r.flows[0].server.socket)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := dial(name)
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.Sample()
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
	for s := before; s.Transactions <= before.Transactions+1; time.Sleep(time.Millisecond) {
		if s, err = r.Sample(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Stop(); err != nil {
		t.Error(err)
	}
}

func TestTrafficThatCannotRunIsRefused(t *testing.T) {
	for _, c := range []struct {
		traffic Traffic
		want    string
	}{
		{Traffic{Test: "udp"}, `there is no test "udp": want stream, rr, crr`},
		{Traffic{Test: RR, Size: -1}, "messages of -1 bytes: want 1 to "},
		{Traffic{Test: RR, Flows: MaxFlows + 1}, "257 flows: want 1 to 256"},
		{Traffic{Test: RR, Pin: &Placement{Client: 0, Server: 1 << 20}}, "bind the thread to CPU 1048576"},
	} {
		before := runtime.GOMAXPROCS(0)
		if _, err := Start(t.Context(), c.traffic); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if after := runtime.GOMAXPROCS(0); after != before {
			t.Errorf("the Go scheduler may run %d goroutines at once, before %d", after, before)
		}
	}
}

func TestWhatACPUDidIsReadFromTheKernelsCounts(t *testing.T) {
	stat := []byte("cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 10 1 20 300 5 0 4 7 3 0\ncpu11 1 1 1 1 1 1 1 1 1 1\ncpu3 1 2 x 4\nintr 5\n")
	for cpu, want := range map[int]CPUTicks{1: {Busy: 35, Stolen: 7, All: 347}, 11: {Busy: 5, Stolen: 1, All: 8}, 2: {}, 3: {}} {
		if got := ticksOf(stat, cpu); got != want {
			t.Errorf("CPU %d: %+v, want %+v", cpu, got, want)
		}
	}
	snmp := []byte("Ip: Forwarding OutSegs\nIp: 1 5\nTcp: RtoMax InSegs OutSegs\nTcp: -1 100 200\n")
	if n, known := segmentsOut(snmp); n != 200 || !known {
		t.Errorf("%d segments, known %v", n, known)
	}
	for _, s := range []string{"", "Tcp: OutSegs\n", "Tcp: OutSegs\nTcp: x\n", "Tcp: InSegs\nTcp: 4\n", "Tcp: InSegs OutSegs\nTcp: 4\n"} {
		if n, known := segmentsOut([]byte(s)); known {
			t.Errorf("of %q: %d", s, n)
		}
	}
}
