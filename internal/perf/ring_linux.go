package perf

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes of a ring: 512 KiB are what the kernel gives each user for each CPU
// without CAP_IPC_LOCK (kernel.perf_event_mlock_kb), and hold some 8000 samples.
const (
	ringBytes = 512 << 10
	wakeBytes = ringBytes / 4
)

// ring is the memory that the kernel writes the records of one CPU to.
type ring struct {
	fd, cpu int
	mem     []byte
	page    *unix.PerfEventMmapPage
	data    []byte
	scratch []byte
}

// newRing maps the ring of an event, a smaller one where the user's share of locked memory is used up.
func newRing(fd, cpu int) (*ring, error) {
	page := os.Getpagesize()
	var err error
	for size := max(ringBytes, page); size >= page; size /= 2 {
		var mem []byte
		mem, err = unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return &ring{
				fd: fd, cpu: cpu, mem: mem, data: mem[page:],
				page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])),
			}, nil
		}
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
			break
		}
	}
	return nil, fmt.Errorf("map the ring buffer of CPU %d: the memory that a user may lock is used up (other profiles?), see kernel.perf_event_mlock_kb and ulimit -l: %w", cpu, err)
}

func (r *ring) close() {
	if r.mem != nil {
		unix.Munmap(r.mem)
		r.mem, r.page, r.data = nil, nil, nil
	}
}

// drain returns what has been written since the last time, valid until the next. The
// kernel publishes its end of the ring after what it wrote, and may overwrite what lies before ours.
func (r *ring) drain() []byte {
	head := atomic.LoadUint64(&r.page.Data_head)
	tail := r.page.Data_tail // nobody else writes it
	size := uint64(len(r.data))
	n := head - tail
	if n > size { // cannot be; nothing in the ring could be trusted
		n = 0
	}
	if uint64(cap(r.scratch)) < n {
		r.scratch = make([]byte, size)
	}
	out := r.scratch[:n]
	start := tail % size
	copied := copy(out, r.data[start:])
	copy(out[copied:], r.data)
	atomic.StoreUint64(&r.page.Data_tail, head)
	return out
}
