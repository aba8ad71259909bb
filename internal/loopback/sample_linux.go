package loopback

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Sample says how far the traffic is. The counts and the time are read at once, the rest right
// after them: it takes the lock of each connection.
func (r *Running) Sample() (Sample, error) {
	var s Sample
	r.count(&s)
	s.At = time.Since(r.began)
	for _, f := range r.flows {
		s.Client.CPUTime += f.client.cpuTime()
		s.Server.CPUTime += f.server.cpuTime()
	}
	s.SegmentsKnown = r.segments(&s)
	if p := r.traffic.Pin; p != nil {
		stat, err := os.ReadFile("/proc/stat")
		if err != nil {
			return s, fmt.Errorf("read what the CPUs did: %w", err)
		}
		s.Client.CPU, s.Server.CPU = ticksOf(stat, p.Client), ticksOf(stat, p.Server)
	}
	return s, nil
}

// cpuTime is what the thread has used, 0 when it is gone.
func (w *worker) cpuTime() time.Duration {
	tid := w.tid.Load()
	if tid <= 0 {
		return 0
	}
	// How the kernel numbers the CPU clock of a thread: linux/posix-timers.h.
	const perThread, scheduled = 4, 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^tid<<3|perThread|scheduled), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// segments adds the segments that both sides have sent.
func (r *Running) segments(s *Sample) (known bool) {
	if r.traffic.Test == CRR {
		snmp, err := os.ReadFile("/proc/self/net/snmp")
		if err != nil {
			return false
		}
		s.Client.Segments, known = segmentsOut(snmp)
		return known
	}
	for _, f := range r.flows {
		for _, side := range []struct {
			*worker
			*SideSample
		}{{&f.client, &s.Client}, {&f.server, &s.Server}} {
			// Kernels since 4.6 count segments with data.
			info, err := unix.GetsockoptTCPInfo(side.socket, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil || info.Segs_out == 0 {
				return false
			}
			side.Segments += uint64(info.Segs_out)
			side.DataSegments += uint64(info.Data_segs_out)
			side.Retransmits += uint64(info.Total_retrans)
		}
	}
	return true
}

// segmentsOut finds the segments that TCP has sent in /proc/net/snmp, which has a line of names and one of
// numbers for each protocol.
func segmentsOut(snmp []byte) (n uint64, known bool) {
	var names [][]byte
	for line := range bytes.Lines(snmp) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "Tcp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if string(name) == "OutSegs" && i < len(fields) {
				n, err := strconv.ParseUint(string(fields[i]), 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}

// ticksOf finds what a CPU did in /proc/stat, zero if it is not there.
func ticksOf(stat []byte, cpu int) (t CPUTicks) {
	want := "cpu" + strconv.Itoa(cpu)
	for line := range bytes.Lines(stat) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != want {
			continue
		}
		// user nice system idle iowait irq softirq steal; guests are in user and nice already.
		const idle, wait, steal, all = 3, 4, 7, 8
		for i, f := range fields[1:min(len(fields), all+1)] {
			n, err := strconv.ParseUint(string(f), 10, 64)
			if err != nil {
				return CPUTicks{}
			}
			t.All += n
			switch i {
			case idle, wait:
			case steal:
				t.Stolen = n
			default:
				t.Busy += n
			}
		}
	}
	return t
}
