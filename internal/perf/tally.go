package perf

import (
	"encoding/binary"
	"strings"
)

// maxTallyBytes bounds the keys of a tally. A sample whose stack finds no room is
// counted by its innermost place, and without room for that among the others.
const (
	maxTallyBytes = 64 << 20
	cellBytes     = 150 // what an entry costs besides its key, roughly
)

// tally counts samples by process, command, CPU and stack.
type tally struct {
	space    *space
	counts   map[string]*Weight
	bytes    int
	limit    int
	commands []string
	numbers  map[string]uint32

	lost      int64 // records or samples that the kernel had no room for
	throttled int64
	unread    int64 // records that could not be read
	shortened int64 // samples whose stack found no room
	others    int64 // samples that found no room

	// seen, where set, is called at the first sample in an object, with the process and the mapping: the file
	// can be opened as long as the process lives. Where it returns false it is asked again, for other processes, some times.
	seen   func(number int32, o object, pid int32, at mapped) bool
	looked map[int32]look
	key    []byte
}

// look is how often an object was looked at, and for which process last.
type look struct {
	left int
	pid  int32
}

// maxLooks is how many processes are tried to open a file that they have mapped.
const maxLooks = 8

// Weight is how many samples there were, and how much of the event they stand for.
type Weight struct {
	Samples int64   `json:"samples"`
	Sum     float64 `json:"event_count"`         // of the periods: ns for clocks
	Squares float64 `json:"event_count_squares"` // of the periods: how unequal they were
}

func (w *Weight) add(v Weight) {
	w.Samples += v.Samples
	w.Sum += v.Sum
	w.Squares += v.Squares
}

func newTally() *tally {
	return &tally{
		space: newSpace(), counts: map[string]*Weight{}, limit: maxTallyBytes,
		numbers: map[string]uint32{}, looked: map[int32]look{},
	}
}

// take takes in a record, in the order of time.
func (t *tally) take(r Record) {
	switch r := r.(type) {
	case Sample:
		t.count(r)
	case Loss:
		t.lost += int64(min(r.Lost, 1<<40))
	case Throttling:
		if !r.On {
			t.throttled++
		}
	default:
		t.space.learn(r)
	}
}

func (t *tally) count(s Sample) {
	name := t.space.command(s.PID, s.TID)
	if s.TID == 0 && s.Mode == UserMode {
		name = "[outside]" // the idle task has no user code: a process that our PID namespace does not know
	}
	command := t.command(name)
	places := t.places(s)
	p := float64(max(s.Period, 1))
	w := Weight{1, p, p * p}
	if t.add(s.PID, command, s.CPU, places, w) {
		return
	}
	t.shortened++
	if len(places) > 1 && t.add(s.PID, command, s.CPU, places[:1], w) {
		return
	}
	t.others++
	t.insert(t.encode(0, t.command("[others]"), 0, []place{{object: theCrowd}}), w)
}

// command numbers a name, which is at most 15 bytes long in the kernel.
func (t *tally) command(name string) uint32 {
	if n, ok := t.numbers[name]; ok {
		return n
	}
	if len(t.commands) >= 1<<16 {
		name = "[others]"
		if n, ok := t.numbers[name]; ok {
			return n
		}
	}
	n := uint32(len(t.commands))
	name = strings.Clone(name)
	t.commands = append(t.commands, name)
	t.numbers[name] = n
	return n
}

func (t *tally) encode(pid int32, command, cpu uint32, places []place) []byte {
	k := binary.LittleEndian.AppendUint32(t.key[:0], uint32(pid))
	k = binary.LittleEndian.AppendUint32(k, command)
	k = binary.LittleEndian.AppendUint32(k, cpu)
	for _, p := range places {
		k = binary.LittleEndian.AppendUint32(k, uint32(p.object))
		k = binary.LittleEndian.AppendUint64(k, p.address)
	}
	t.key = k
	return k
}

func decode(key string) (pid int32, command, cpu uint32, places []place) {
	b := []byte(key)
	pid = int32(binary.LittleEndian.Uint32(b))
	command, cpu = binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	for b = b[12:]; len(b) >= 12; b = b[12:] {
		places = append(places, place{int32(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint64(b[4:])})
	}
	return pid, command, cpu, places
}

// add counts unless there is no room.
func (t *tally) add(pid int32, command, cpu uint32, places []place, w Weight) bool {
	key := t.encode(pid, command, cpu, places)
	if t.counts[string(key)] == nil && t.bytes+len(key)+cellBytes > t.limit {
		return false
	}
	t.insert(key, w)
	return true
}

func (t *tally) insert(key []byte, w Weight) {
	c := t.counts[string(key)]
	if c == nil {
		c = &Weight{}
		t.counts[string(key)] = c
		t.bytes += len(key) + cellBytes
	}
	c.add(w)
}

// places turns the addresses of a sample into places, the innermost first.
func (t *tally) places(s Sample) []place {
	if len(s.Chain) == 0 {
		return []place{t.place(s.PID, s.Mode, s.IP)}
	}
	var places []place
	mode, interrupted := s.Mode, true
	for _, ip := range s.Chain {
		if ip >= contextMax {
			mode, interrupted = markedMode(ip, mode), true
			continue
		}
		if !interrupted && ip > 0 {
			ip-- // a return address may lie behind the end of the function that called
		}
		interrupted = false
		places = append(places, t.place(s.PID, mode, ip))
	}
	if len(places) == 0 {
		places = append(places, t.place(s.PID, s.Mode, s.IP))
	}
	return places
}

func markedMode(marker uint64, before Mode) Mode {
	switch marker {
	case contextHypervisor:
		return HypervisorMode
	case contextKernel:
		return KernelMode
	case contextUser:
		return UserMode
	case contextGuest, contextGuestKernel:
		return GuestKernelMode
	case contextGuestUser:
		return GuestUserMode
	}
	return before
}

func (t *tally) place(pid int32, mode Mode, ip uint64) place {
	switch mode {
	case KernelMode:
		return place{theKernel, ip}
	case HypervisorMode:
		return place{object: theHypervisor}
	case GuestKernelMode, GuestUserMode:
		return place{object: aGuest}
	}
	p, at := t.space.find(pid, ip)
	if t.seen != nil {
		l, known := t.looked[p.object]
		if !known {
			l.left = maxLooks
		}
		if l.left > 0 && (!known || l.pid != pid) {
			l.left, l.pid = l.left-1, pid
			if t.seen(p.object, t.space.objects[p.object], pid, at) {
				l.left = 0
			}
			t.looked[p.object] = l
		}
	}
	return p
}
