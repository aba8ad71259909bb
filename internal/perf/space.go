package perf

import (
	"slices"
	"sort"
)

// Bounds on what is kept. Whatever is over them is counted and told.
const (
	maxMappingsEach = 1 << 13 // executable mappings of one process
	maxDead         = 1 << 12 // ended threads, whose last samples may still come
	maxThreads      = 1 << 18
	maxObjects      = 1 << 16
)

// space is what is known of threads and of what their addresses mean. It is told
// of changes in the order of time.
type space struct {
	threads map[int32]*thread
	maps    map[int32]*mappings // by process
	dead    []int32             // ended threads, oldest first
	objects []object
	numbers map[object]int32
	dropped int64 // mappings, threads and objects for which there was no room
}

type thread struct {
	pid   int32
	name  string
	ended bool
}

// mappings are those of a process, by address and apart. Forked processes share them until one changes.
type mappings struct {
	list   []mapped
	shared bool
}

type mapped struct {
	start, end, offset uint64
	object             int32
}

// The objects that every space has, by number: their kinds in the order of this list.
var lasting = []kind{kindKernel, kindUnmapped, kindHypervisor, kindGuest, kindCrowded}

const (
	theKernel int32 = iota
	nowhere
	theHypervisor
	aGuest
	theCrowd
)

func newSpace() *space {
	s := &space{threads: map[int32]*thread{}, maps: map[int32]*mappings{}, numbers: map[object]int32{}}
	for _, k := range lasting {
		s.number(object{kind: k})
	}
	return s
}

// number returns the number of an object, a new one where it is new.
func (s *space) number(o object) int32 {
	n, known := s.numbers[o]
	switch {
	case known:
		return n
	case len(s.objects) >= maxObjects:
		s.dropped++
		return theCrowd
	}
	n = int32(len(s.objects))
	s.objects = append(s.objects, o)
	s.numbers[o] = n
	return n
}

// learn takes in a record that changes what addresses and threads mean.
func (s *space) learn(r Record) {
	switch r := r.(type) {
	case Mapping:
		s.insert(r)
	case Naming:
		s.name(r.PID, r.TID, r.Name)
		if r.Exec { // the new program's mappings come after its name
			delete(s.maps, r.PID)
		}
	case Birth:
		name := ""
		if parent := s.threads[r.ParentTID]; parent != nil {
			name = parent.name
		}
		s.name(r.PID, r.TID, name)
		if m := s.maps[r.ParentPID]; m != nil && r.PID != r.ParentPID {
			m.shared = true
			s.maps[r.PID] = &mappings{list: m.list, shared: true}
		}
	case Exit:
		s.end(r.TID)
	}
}

// name gives a thread its name, and makes it known where it is not.
func (s *space) name(pid, tid int32, name string) {
	if s.threads[tid] == nil && len(s.threads) >= maxThreads {
		s.dropped++
		return
	}
	s.threads[tid] = &thread{pid: pid, name: name}
}

// end marks a thread as ended, and forgets the one that ended longest ago.
func (s *space) end(tid int32) {
	t := s.threads[tid]
	if t == nil || t.ended {
		return
	}
	t.ended = true
	s.dead = append(s.dead, tid)
	if len(s.dead) <= maxDead {
		return
	}
	oldest := s.dead[0]
	s.dead = s.dead[1:]
	if t := s.threads[oldest]; t != nil && t.ended { // the number may be in use again
		delete(s.threads, oldest)
		if oldest == t.pid {
			delete(s.maps, oldest)
		}
	}
}

// insert puts a mapping in the place of whatever was there.
func (s *space) insert(r Mapping) {
	end := r.Start + r.Length
	if end <= r.Start {
		return // the last page of the address space: nothing of a process lies there
	}
	m := s.maps[r.PID]
	if m == nil {
		m = &mappings{}
		s.maps[r.PID] = m
	}
	if m.shared {
		m.list, m.shared = slices.Clone(m.list), false
	}
	// The mappings first to last are those that overlap: what sticks out of them on either side stays.
	first := sort.Search(len(m.list), func(i int) bool { return m.list[i].end > r.Start })
	last := first
	pieces := make([]mapped, 0, 3)
	var after []mapped
	for ; last < len(m.list) && m.list[last].start < end; last++ {
		old := m.list[last]
		if old.start < r.Start {
			pieces = append(pieces, mapped{old.start, r.Start, old.offset, old.object})
		}
		if old.end > end {
			after = append(after, mapped{end, old.end, old.offset + (end - old.start), old.object})
		}
	}
	if len(m.list)-(last-first)+len(pieces)+len(after) >= maxMappingsEach {
		s.dropped++
		return
	}
	pieces = append(append(pieces, mapped{r.Start, end, r.Offset, s.number(objectOf(r))}), after...)
	m.list = slices.Replace(m.list, first, last, pieces...)
}

// find tells what lies at an address of a process in user mode, and the mapping's start and end.
func (s *space) find(pid int32, ip uint64) (place, mapped) {
	m := s.maps[pid]
	if m == nil {
		return place{object: nowhere}, mapped{}
	}
	i := sort.Search(len(m.list), func(i int) bool { return m.list[i].end > ip })
	if i == len(m.list) || m.list[i].start > ip {
		return place{object: nowhere}, mapped{}
	}
	at := m.list[i]
	p := place{object: at.object}
	switch s.objects[at.object].kind {
	case kindFile:
		p.address = ip - at.start + at.offset
	case kindVDSO, kindVsyscall:
		p.address = ip - at.start // its offset is 0, or means nothing
	}
	return p, at
}

// command returns the name of a thread. Without one, why is said in brackets.
func (s *space) command(pid, tid int32) string {
	if t := s.threads[tid]; t != nil && t.name != "" {
		return t.name
	}
	switch {
	case tid == 0:
		return "swapper"
	case tid < 0:
		return "[ended]" // the kernel gives -1 for a thread that is past its end
	}
	if t := s.threads[pid]; t != nil && t.name != "" {
		return t.name
	}
	return "[unknown]"
}
