package tap

import (
	"bytes"
	"strconv"
	"time"
)

// Read is one read of a register of the HPET by the guest.
type Read struct {
	At    time.Time // by this machine's clock, when QEMU wrote the line; zero if it does not say
	CPU   int       // of the guest
	Value uint64    // what the guest got
	Size  int       // in bytes
}

// counterAddress is where the counter of the HPET is in the machines of
// internal/qemu: the block at 0xfed00000, the counter at offset 0xf0.
const counterAddress = "0xfed000f0"

// The lines that QEMU writes begin with this, behind a process id and a time.
var (
	readMark = []byte("memory_region_ops_read ")
	dumpMark = []byte("Trace ")
	nextDump = []byte("\nTrace ") // behind another line
)

// parseRead reads a line of the form
//
//	PID@SECONDS.MICROS:memory_region_ops_read cpu 0 mr 0x561f addr 0xfed000f0 value 0x6832d98 size 4 name 'hpet'
//
// and reports false for every other line, reads of other registers included.
func parseRead(line []byte) (Read, bool) {
	head, rest, ok := bytes.Cut(line, readMark)
	if !ok {
		return Read{}, false
	}
	fields := bytes.Fields(rest)
	// Names and values take turns.
	if len(fields) != 12 || string(fields[0]) != "cpu" || string(fields[4]) != "addr" || string(fields[5]) != counterAddress ||
		string(fields[6]) != "value" || string(fields[8]) != "size" || string(fields[10]) != "name" || string(fields[11]) != "'hpet'" {
		return Read{}, false
	}
	cpu, err1 := strconv.ParseUint(string(fields[1]), 10, 16)
	value, err2 := strconv.ParseUint(string(fields[7]), 0, 64)
	size, err3 := strconv.ParseUint(string(fields[9]), 10, 4)
	if err1 != nil || err2 != nil || err3 != nil {
		return Read{}, false
	}
	return Read{At: stamp(head), CPU: int(cpu), Value: value, Size: int(size)}, true
}

// stamp reads the time in the head of a line, PID@SECONDS.MICROS with a colon behind.
func stamp(head []byte) time.Time {
	_, text, ok := bytes.Cut(bytes.TrimSuffix(head, []byte(":")), []byte("@"))
	seconds, micros, dot := bytes.Cut(text, []byte("."))
	if !ok || !dot || len(micros) != 6 {
		return time.Time{}
	}
	s, err1 := strconv.ParseInt(string(seconds), 10, 64)
	us, err2 := strconv.ParseUint(string(micros), 10, 32)
	if err1 != nil || err2 != nil {
		return time.Time{}
	}
	return time.Unix(s, int64(us)*1000)
}
