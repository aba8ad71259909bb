package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kprobePMU is where the kernel (4.17) tells the type of its events on kernel functions.
const kprobePMU = "/sys/bus/event_source/devices/kprobe"

// maxSymbolName is the longest name of a kernel function, its end included (KSYM_NAME_LEN of 6.1).
const maxSymbolName = 512

// CallCounter counts calls of kernel functions: [CountCalls], Read, Close. Its
// methods are for one goroutine.
type CallCounter struct {
	symbols []string
	skipped []Uncounted
	events  []callEvent
}

type callEvent struct {
	symbol  string
	cpu, fd int
}

// CountCalls begins to count how often functions of the kernel are called on CPUs,
// nil being all that are online: nothing is sampled, and no call is missed but those
// within the handling of another probe. It takes the right to probe the kernel
// (CAP_PERFMON). Functions that cannot be counted are in Skipped; where that is all of
// them, the error is a *[NotCounted]. A call of a function that is counted on n CPUs
// takes longer by n handlers of a probe, some 0.1 µs each and more under emulation.
func CountCalls(symbols []string, cpus []int) (*CallCounter, error) {
	if len(symbols) == 0 {
		return nil, errors.New("count calls: no function was named")
	}
	if cpus == nil {
		online, err := onlineCPUs()
		if err != nil {
			return nil, err
		}
		cpus = online
	}
	kind, err := eventSource(kprobePMU)
	if err != nil {
		return nil, notCounted(symbols, err.Error(), "boot a kernel with CONFIG_KPROBE_EVENTS, from 4.17 on, as those of distributions are, with /sys mounted")
	}
	c := &CallCounter{symbols: slices.Clone(symbols)}
	known := kernelNames(symbols)
	sight := ReadSight()
	var how string
	for _, symbol := range symbols {
		if known != nil && !known[symbol] {
			c.skipped = append(c.skipped, Uncounted{symbol, "this kernel has no such function, or has it inlined everywhere"})
			continue
		}
		why, allow, err := c.open(kind, symbol, cpus, sight)
		if err != nil {
			c.Close()
			return nil, err
		}
		if why != "" {
			c.skipped = append(c.skipped, Uncounted{symbol, why})
			how = allow
		}
	}
	if len(c.events) == 0 {
		return nil, &NotCounted{Functions: c.skipped, HowToAllow: how}
	}
	return c, nil
}

func notCounted(symbols []string, why, how string) *NotCounted {
	e := &NotCounted{HowToAllow: how}
	for _, s := range symbols {
		e.Functions = append(e.Functions, Uncounted{s, why})
	}
	return e
}

// open opens the events of one function on all CPUs, or none and says why.
func (c *CallCounter) open(kind uint32, symbol string, cpus []int, s Sight) (why, allow string, err error) {
	if len(symbol) >= maxSymbolName || strings.ContainsRune(symbol, 0) {
		return "no name of a kernel function", "", nil
	}
	first := len(c.events)
	for _, cpu := range cpus {
		fd, err := openKprobe(kind, symbol, cpu)
		if err == nil {
			c.events = append(c.events, callEvent{symbol, cpu, fd})
			continue
		}
		for _, e := range c.events[first:] {
			unix.Close(e.fd)
		}
		c.events = c.events[:first]
		why, allow = probeRefused(asErrno(err), cpu, s)
		return why, allow, nil
	}
	return "", "", nil
}

// openKprobe opens a counting event on the entry of a kernel function. The kernel reads the function's name
// through config1 while it opens the event, and never again.
func openKprobe(kind uint32, symbol string, cpu int) (int, error) {
	name := append([]byte(symbol), 0)
	var pin runtime.Pinner
	pin.Pin(&name[0]) // a number keeps nothing in its place
	defer pin.Unpin()
	attr := unix.PerfEventAttr{
		Type: kind,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Ext1: uint64(uintptr(unsafe.Pointer(&name[0]))),
	}
	return unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// probeRefused says what the number of an error means for a probe, and what would allow it.
func probeRefused(errno unix.Errno, cpu int, s Sight) (why, allow string) {
	switch errno {
	case unix.ENOENT:
		why = "this kernel has no such function, or has it inlined everywhere"
	case unix.EADDRNOTAVAIL:
		why = "this kernel has several functions of that name"
	case unix.EINVAL, unix.EILSEQ, unix.EOPNOTSUPP:
		why = "the kernel allows no probe on it, as on functions that probes themselves need"
	case unix.EACCES, unix.EPERM:
		why, allow = "probing the kernel is not permitted", allowPerf
		if s.Lockdown == "confidentiality" {
			why += ", since the kernel is locked down"
			allow = "boot without lockdown=confidentiality"
		}
	case unix.ENODEV:
		why = fmt.Sprintf("CPU %d is offline", cpu)
	case unix.EMFILE, unix.ENFILE:
		why, allow = "no more files can be opened: one is needed for each function and CPU", "raise ulimit -n"
	case unix.ENOSYS:
		why = "this kernel has no perf events"
	default:
		why = "the kernel refused it"
	}
	name := unix.ErrnoName(errno)
	if name == "" {
		name = strconv.Itoa(int(errno))
	}
	return why + " (" + name + ")", allow
}

// Read returns how often each function was called on each CPU since it is counted.
func (c *CallCounter) Read() ([]Calls, error) {
	calls := make([]Calls, 0, len(c.events))
	for _, e := range c.events {
		var b [8]byte
		n, err := unix.Read(e.fd, b[:])
		if err == nil && n != len(b) {
			err = fmt.Errorf("%d bytes, want %d", n, len(b))
		}
		if err != nil {
			return nil, fmt.Errorf("read how often %s was called on CPU %d: %w", e.symbol, e.cpu, err)
		}
		calls = append(calls, Calls{e.symbol, e.cpu, binary.NativeEndian.Uint64(b[:])})
	}
	sortCalls(calls, c.symbols)
	return calls, nil
}

// Skipped returns the functions that are not counted, and why.
func (c *CallCounter) Skipped() []Uncounted { return slices.Clone(c.skipped) }

// Close takes the probes off. Closing twice does nothing.
func (c *CallCounter) Close() {
	for _, e := range c.events {
		unix.Close(e.fd)
	}
	c.events = nil
}

// eventSource reads the type of a source of events.
func eventSource(dir string) (uint32, error) {
	b, err := os.ReadFile(filepath.Join(dir, "type"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%s does not exist: this kernel counts no calls of its functions, or /sys is not mounted", dir)
	}
	if err != nil {
		return 0, err
	}
	kind, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s/type: %q: no number", dir, b)
	}
	return uint32(kind), nil
}

// kernelNames tells which of the names the kernel lists, nil where the list cannot be read.
// Names are not hidden where addresses are.
func kernelNames(symbols []string) map[string]bool {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil
	}
	defer f.Close()
	return findNames(f, symbols)
}
