package exporter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A child is a server in a process of its own, so that it can inherit sockets,
// and so that what it holds in memory is not mixed with what its clients hold;
// or the clients of a siege.
type child struct {
	stdin *os.File
	lines *bufio.Scanner
}

const childVariable = "EXPORTER_TEST_CHILD"

// startChild runs TestTheChild of a test program in another process. Sockets are handed over as systemd does.
func startChild(t *testing.T, program, kind string, sockets ...*os.File) *child {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh, which stands for systemd here")
	}
	stdin, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	result, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	// systemd names the process that the sockets are for: so does the shell that becomes it.
	cmd := exec.CommandContext(ctx, "sh", "-c", `LISTEN_PID=$$ exec $NICE "$0" -test.run='^TestTheChild$' -test.v`, program)
	cmd.Env = append(os.Environ(), childVariable+"="+kind, fmt.Sprintf("LISTEN_FDS=%d", len(sockets)),
		"GORACE=atexit_sleep_ms=0") // under the race detector it would sleep for a second at its end
	if kind == "siege" {
		// The clients of a siege have machines of their own: here they get what CPU the others leave.
		cmd.Env = append(cmd.Env, "NICE=nice -n 10")
	}
	cmd.ExtraFiles = sockets // from number 3, where systemd begins
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
	err = cmd.Start()
	stdin.Close()
	stdout.Close()
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ours.Close() // which ends it
		if err := cmd.Wait(); err != nil {
			t.Errorf("the child: %v", err)
		}
		result.Close()
		cancel()
	})
	return &child{ours, bufio.NewScanner(result)}
}

// withoutRace returns this test program as it is without the race detector: it
// takes the time and the memory that a server takes.
func withoutRace(t *testing.T) string {
	t.Helper()
	if !underRace {
		return os.Args[0]
	}
	path := filepath.Join(t.TempDir(), "exporter.test")
	if out, err := exec.Command("go", "test", "-c", "-o", path, ".").CombinedOutput(); err != nil {
		t.Skipf("the server cannot be built without the race detector, whose times and sizes say nothing: %v: %s", err, out)
	}
	return path
}

// line returns the rest of the next line with a prefix.
func (c *child) line(t *testing.T, prefix string) string {
	t.Helper()
	for c.lines.Scan() {
		if rest, ok := strings.CutPrefix(c.lines.Text(), prefix); ok {
			return rest
		}
	}
	t.Fatalf("the child ended without a line %q: %v", prefix, c.lines.Err())
	return ""
}

// footprint is what a child holds.
type footprint struct {
	Goroutines  int
	HeapBytes   uint64 // after a collection
	PeakBytes   uint64 // the most memory that was resident; 0 where the system does not say
	Open        int    // connections
	Evicted     uint64
	Gatherings  int64
	LinesLogged int
}

// footprint asks the child what it holds.
func (c *child) footprint(t *testing.T) (f footprint) {
	t.Helper()
	c.ask(t, "footprint", &f)
	return f
}

// ask has the child tell a value by its name.
func (c *child) ask(t *testing.T, name string, value any) {
	t.Helper()
	fmt.Fprintln(c.stdin, name)
	if err := json.Unmarshal([]byte(c.line(t, name+" ")), value); err != nil {
		t.Fatal(err)
	}
}

// TestTheChild is what the tests above run as another process. It ends with its input.
func TestTheChild(t *testing.T) {
	kind := os.Getenv(childVariable)
	config := Config{Addresses: []string{"127.0.0.1:0"}}
	gatherer := &countedGatherer{Gatherer: usualRegistry(t)}
	switch kind {
	case "":
		t.Skip("runs only as the child of another test")
	case "inherited":
		config = Config{SystemdSocket: true, Addresses: []string{"127.0.0.1:1"}} // of which the address does not count
		config.Gatherer, config.Status = gatherer, func() ([]byte, error) { return []byte("{}"), nil }
		s, err := Listen(config)
		if err != nil {
			fmt.Println("error", err)
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Serve(ctx) }()
		fmt.Println("address", s.Addresses()[0])
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return
	case "siege":
		siegeOfTheChild(t)
		return
	case "http":
	default:
		config.ConfigFile = kind
	}
	config.Gatherer = gatherer
	r := start(t, config)
	fmt.Println("address", r.address())
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		f := footprint{HeapBytes: heap(), PeakBytes: peakBytes(), Goroutines: runtime.NumGoroutine(), Open: r.gate.open(),
			Evicted: r.evictions.Load(), Gatherings: gatherer.n.Load(), LinesLogged: strings.Count(r.log.String(), "\n")}
		sayJSON(t, "footprint", f)
	}
}

// sayJSON tells the parent a value, under a name.
func sayJSON(t *testing.T, name string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s %s\n", name, text)
}

// peakBytes is the most memory that this process ever had resident.
func peakBytes() uint64 {
	status, _ := os.ReadFile("/proc/self/status") // only Linux has it
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
