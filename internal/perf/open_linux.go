package perf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/internal/hw"
)

// maxEvents is how many events one profile opens: one for each thread and CPU.
const maxEvents = 1 << 14

// opened are the events of a profile, with one ring for each CPU.
type opened struct {
	event    Event
	userOnly bool
	fds      []int
	rings    []*ring
}

// openFirst opens the first event of the list that can be had. An event whose
// kernel part is refused is taken without that. Every attempt is told.
func openFirst(c Config, s Sight) (*opened, []Attempt, error) {
	cpus, err := onlineCPUs()
	if err != nil {
		return nil, nil, err
	}
	var attempts []Attempt
	kernelRefused := c.UserOnly // what is refused of one event is refused of all
	for _, event := range c.Events {
		for _, userOnly := range []bool{false, true} {
			if kernelRefused && !userOnly {
				continue
			}
			o, err := openAll(c, event, userOnly, cpus)
			if err == nil {
				return o, append(attempts, Attempt{Event: event, UserOnly: userOnly}), nil
			}
			var no *noEvent
			if !errors.As(err, &no) {
				return nil, attempts, err
			}
			attempts = append(attempts, Attempt{event, userOnly, no.reason(event, s)})
			if no.errno != unix.EACCES && no.errno != unix.EPERM {
				break
			}
			kernelRefused = true
		}
	}
	return nil, attempts, nil
}

// openAll opens the event for the target on all CPUs. On an error nothing is open.
func openAll(c Config, event Event, userOnly bool, cpus []int) (*opened, error) {
	o := &opened{event: event, userOnly: userOnly}
	if err := o.fill(c, cpus); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *opened) fill(c Config, cpus []int) error {
	if c.Target.All {
		for _, cpu := range cpus {
			if err := o.add(c, -1, cpu, nil); err != nil {
				return err
			}
		}
		return nil
	}
	pids := c.Target.PIDs
	if len(pids) == 0 {
		pids = []int{os.Getpid()}
	}
	onCPU := map[int]*ring{}
	for _, pid := range pids {
		if err := o.fillProcess(c, pid, cpus, onCPU); err != nil {
			return err
		}
	}
	return nil
}

// fillProcess opens the event for the threads of a process, with the rings of those before.
func (o *opened) fillProcess(c Config, pid int, cpus []int, onCPU map[int]*ring) error {
	before := len(o.fds)
	have := map[int]bool{}
	// Threads that begin meanwhile are children of threads that have the event, and inherit
	// it, or are found in another look.
	for {
		tids, err := threads(pid)
		if err != nil {
			return fmt.Errorf("profile process %d: %w", pid, err)
		}
		tids = slices.DeleteFunc(tids, func(tid int) bool { return have[tid] })
		if len(tids) == 0 {
			break
		}
		if len(o.fds)+len(tids)*len(cpus) > maxEvents {
			return fmt.Errorf("profile process %d: an event for each of %d threads and %d CPUs, and %d before: want at most %d: profile all processes, and look at this one",
				pid, len(have)+len(tids), len(cpus), before, maxEvents)
		}
		for _, tid := range tids {
			have[tid] = true
			for _, cpu := range cpus {
				err := o.add(c, tid, cpu, onCPU[cpu])
				if errno := (*noEvent)(nil); errors.As(err, &errno) && errno.errno == unix.ESRCH {
					break // the thread has ended
				}
				if err != nil {
					return err
				}
				if onCPU[cpu] == nil {
					onCPU[cpu] = o.rings[len(o.rings)-1]
				}
			}
		}
	}
	if len(o.fds) == before {
		return fmt.Errorf("profile process %d: it has ended", pid)
	}
	return nil
}

// add opens one event. Its records go to the ring, to a new one where that is nil.
func (o *opened) add(c Config, tid, cpu int, to *ring) error {
	attr := attributes(c, o.event, o.userOnly)
	fd, err := unix.PerfEventOpen(&attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return &noEvent{tid: tid, cpu: cpu, errno: asErrno(err)}
	}
	o.fds = append(o.fds, fd)
	if to != nil {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, to.fd); err != nil {
			return fmt.Errorf("send the samples of thread %d on CPU %d to the ring buffer of the CPU: %w", tid, cpu, err)
		}
		return nil
	}
	r, err := newRing(fd, cpu)
	if err != nil {
		return err
	}
	o.rings = append(o.rings, r)
	return nil
}

func (o *opened) close() {
	for _, r := range o.rings {
		r.close()
	}
	for _, fd := range o.fds {
		unix.Close(fd)
	}
	o.rings, o.fds = nil, nil
}

// request asks something of all events.
func (o *opened) request(what uint) error {
	for _, fd := range o.fds {
		if err := unix.IoctlSetInt(fd, what, 0); err != nil {
			return err
		}
	}
	return nil
}

func attributes(c Config, event Event, userOnly bool) unix.PerfEventAttr {
	kind, config, _ := event.number()
	attr := unix.PerfEventAttr{
		Type: kind, Config: config,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD,
		Bits: unix.PerfBitDisabled | unix.PerfBitSampleIDAll | unix.PerfBitMmap | unix.PerfBitMmap2 |
			unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask | unix.PerfBitWatermark,
		Wakeup: wakeBytes,
		Sample: c.Period,
	}
	if c.Period == 0 {
		attr.Sample = uint64(c.Frequency)
		attr.Bits |= unix.PerfBitFreq
	}
	if c.Chains {
		attr.Sample_type |= unix.PERF_SAMPLE_CALLCHAIN
	}
	if !c.Target.All {
		attr.Bits |= unix.PerfBitInherit
	}
	if userOnly {
		attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitExcludeCallchainKernel
	}
	return attr
}

// noEvent is the error of perf_event_open.
type noEvent struct {
	tid, cpu int
	errno    unix.Errno
}

func (e *noEvent) Error() string {
	return fmt.Sprintf("perf_event_open for thread %d on CPU %d: %v", e.tid, e.cpu, e.errno)
}

func asErrno(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EINVAL
}

// reason says what the number of an error means here. perf_event_open(2) has most of it.
func (e *noEvent) reason(event Event, s Sight) string {
	why := "the kernel refused it"
	switch e.errno {
	case unix.ENOENT:
		why = "the kernel does not know this event here"
		if event.Hardware() {
			why = "the processor's counters cannot be had, as in most virtual machines"
		}
	case unix.EOPNOTSUPP:
		why = "the event can be counted but not sampled: the counter raises no interrupt"
	case unix.ENODEV:
		why = fmt.Sprintf("CPU %d has no such counter, or has gone offline", e.cpu)
	case unix.EBUSY:
		why = "another program has the counters to itself"
	case unix.EACCES, unix.EPERM:
		why = "it is not permitted"
		switch {
		case s.Paranoid != nil && !s.mayPerf():
			why += fmt.Sprintf(", with kernel.perf_event_paranoid at %d and without CAP_PERFMON", *s.Paranoid)
		case s.Lockdown == "confidentiality":
			why += ", since the kernel is locked down"
		case s.Status.Seccomp == 2:
			why += ", and seccomp filters the system calls of this process"
		}
	case unix.EMFILE, unix.ENFILE:
		why = "no more files can be opened (see ulimit -n)"
	case unix.ENOSYS:
		why = "this kernel has no perf events"
	case unix.ESRCH:
		why = "the process has ended"
	case unix.EINVAL, unix.E2BIG:
		why = "the kernel does not take these settings: it may be too old (3.16 is needed), or the frequency is over kernel.perf_event_max_sample_rate"
	}
	name := unix.ErrnoName(e.errno)
	if name == "" {
		name = strconv.Itoa(int(e.errno))
	}
	return why + " (" + name + ")"
}

// threads returns the threads of a process.
func threads(pid int) ([]int, error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	d, err := os.Open(dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("find its threads: there is no such process, or it has ended: %w", err)
		}
		return nil, fmt.Errorf("find its threads: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil && len(names) == 0 {
		return nil, fmt.Errorf("find its threads: it has ended: %w", err)
	}
	var tids []int
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	slices.Sort(tids)
	return tids, nil
}

func onlineCPUs() ([]int, error) {
	const path = "/sys/devices/system/cpu/online"
	b, err := os.ReadFile(path)
	if err != nil { // without /sys, those that we may use ourselves are better than none
		cpus, err := hw.AllowedCPUs()
		if err != nil {
			return nil, fmt.Errorf("find the CPUs to profile: %w", err)
		}
		return cpus, nil
	}
	cpus, err := parseCPUs(string(bytes.TrimSpace(b)))
	if err != nil {
		return nil, fmt.Errorf("find the CPUs to profile: %s: %w", path, err)
	}
	return cpus, nil
}

// parseCPUs reads a list such as 0-3,8.
func parseCPUs(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		low, err := strconv.Atoi(first)
		high := low
		if err == nil && ranged {
			high, err = strconv.Atoi(last)
		}
		if err != nil || low < 0 || high < low || high >= 1<<16 {
			return nil, fmt.Errorf("%q: want a list such as 0-3,8", text)
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
