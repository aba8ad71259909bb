package perf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pause is how long records may wait in the rings.
const pause = 100 * time.Millisecond

// Session is a profile being taken: [Open], Start, Stop, Close. Its methods are for one goroutine.
type Session struct {
	config   Config
	sight    Sight
	cache    *Cache
	opened   *opened
	attempts []Attempt
	cpus     int
	tally    *tally
	files    *files
	began    time.Time

	pending []Record
	horizon uint64 // everything up to this time has been drained

	stop  chan struct{}
	done  chan struct{}
	ended chan struct{}
	once  sync.Once
}

// Open opens the first event that can be had, and takes no sample yet. A nil cache
// is a new one. The error is a *[Refused] where the machine does not permit it.
func Open(c Config, cache *Cache) (*Session, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if cache == nil {
		cache = NewCache()
	}
	s := &Session{config: c, sight: ReadSight(), cache: cache, tally: newTally(), ended: make(chan struct{})}
	ask := c
	if s.sight.MaxRate != nil {
		ask.Frequency = min(c.Frequency, *s.sight.MaxRate)
	}
	o, attempts, err := openFirst(ask, s.sight)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, &Refused{c.Target, attempts, Restrictions(s.sight, c)}
	}
	s.opened, s.attempts, s.cpus = o, attempts, len(o.rings)
	s.config.Frequency = ask.Frequency
	s.files = newFiles()
	s.tally.seen = s.files.open
	return s, nil
}

// Attempts returns the events that were tried; the last one is sampled.
func (s *Session) Attempts() []Attempt { return slices.Clone(s.attempts) }

// Restrictions returns what the profile may not see, and how to allow it.
func (s *Session) Restrictions() []Restriction { return Restrictions(s.sight, s.config) }

// Ended is closed when all processes that are profiled have ended.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Start begins to take samples. What processes there are is read before the
// first sample counts, so that reading it is not in the profile.
func (s *Session) Start() error {
	if s.stop != nil || s.opened == nil {
		return errors.New("start a profile: it has been started or closed before")
	}
	if err := s.opened.request(unix.PERF_EVENT_IOC_ENABLE); err != nil {
		return fmt.Errorf("start a profile: %w", err)
	}
	// From here on changes are recorded, so that nothing falls between them and what is read here.
	readProcesses(s.config.Target, s.tally.space.learn)
	s.drain()
	s.pending = slices.DeleteFunc(s.pending, func(r Record) bool {
		switch r.(type) {
		case Sample, Loss, Throttling:
			return true
		}
		return false
	})
	s.began = time.Now()
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.collect()
	return nil
}

// collect empties the rings until the profile is stopped.
func (s *Session) collect() {
	defer close(s.done)
	fds := make([]unix.PollFd, 0, len(s.opened.rings))
	for _, r := range s.opened.rings {
		fds = append(fds, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	for {
		select {
		case <-s.stop:
			return
		default:
		}
		began := time.Now()
		unix.Poll(fds, int(pause.Milliseconds())) // an error is an interruption: there is a next time
		fds = slices.DeleteFunc(fds, func(f unix.PollFd) bool { return f.Revents&(unix.POLLHUP|unix.POLLERR) != 0 })
		s.round()
		if pids := s.config.Target.PIDs; len(pids) > 0 && !slices.ContainsFunc(pids, exists) {
			s.once.Do(func() { close(s.ended) })
		}
		if rest := pause/10 - time.Since(began); rest > 0 { // rings that fill at once do not make a busy loop
			select {
			case <-s.stop:
				return
			case <-time.After(rest):
			}
		}
	}
}

// exists tells of a process, which may be another user's, whether it has not ended.
func exists(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// round drains the rings and takes in, in the order of time, what was written before
// the round before ended: of that nothing can be missing, although the rings are drained one after another.
func (s *Session) round() {
	safe := s.horizon
	s.drain()
	s.take(safe)
}

func (s *Session) take(until uint64) {
	slices.SortStableFunc(s.pending, func(a, b Record) int { return cmp.Compare(a.stamp().Time, b.stamp().Time) })
	n := 0
	for ; n < len(s.pending) && s.pending[n].stamp().Time <= until; n++ {
		s.tally.take(s.pending[n])
	}
	s.pending = append(s.pending[:0], s.pending[n:]...)
}

func (s *Session) drain() {
	layout := Layout{Chains: s.config.Chains}
	for _, r := range s.opened.rings {
		for data := r.drain(); len(data) > 0; {
			record, size, err := ParseRecord(data, layout)
			if err != nil {
				s.tally.unread++
				if size == 0 {
					break
				}
			} else {
				s.pending = append(s.pending, record)
				s.horizon = max(s.horizon, record.stamp().Time)
			}
			data = data[size:]
		}
	}
}

// Stop ends the sampling, reads the symbols and returns the profile.
func (s *Session) Stop() (*Profile, error) {
	if s.stop == nil || s.opened == nil {
		return nil, errors.New("stop a profile: it was not started, or was stopped before")
	}
	disable := s.opened.request(unix.PERF_EVENT_IOC_DISABLE)
	seconds := time.Since(s.began).Seconds()
	close(s.stop)
	<-s.done
	s.drain()
	s.take(^uint64(0))
	o := s.opened
	s.opened = nil
	o.close()
	if disable != nil {
		return nil, fmt.Errorf("stop a profile: %w", disable)
	}
	p := &Profile{
		Event: o.event, UserOnly: o.userOnly, Attempts: s.attempts,
		Frequency: s.config.Frequency, Period: s.config.Period, Seconds: seconds, CPUs: s.cpus,
		Lost: s.tally.lost, Throttled: s.tally.throttled,
	}
	n := s.files.names(s.cache, s.tally)
	p.Stacks = n.stacks(s.tally)
	p.Notes = s.tally.notes(p, s.config, n.kernelErr)
	return p, nil
}

// Close ends the profile without a result. After Stop it does nothing but close files.
func (s *Session) Close() {
	if s.opened != nil {
		if s.stop != nil {
			close(s.stop)
			<-s.done
		}
		s.opened.close()
		s.opened = nil
	}
	s.files.close()
}

// readProcesses tells names and mappings of the processes that there are. What ends
// meanwhile, or may not be read, is left out: its code will have no names, and says so.
func readProcesses(t Target, learn func(Record)) {
	var pids []int
	switch {
	case t.All:
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil {
				pids = append(pids, pid)
			}
		}
	case len(t.PIDs) == 0:
		pids = []int{os.Getpid()}
	default:
		pids = t.PIDs
	}
	for _, pid := range pids {
		tids, _ := threads(pid)
		for _, tid := range tids {
			comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
			if err == nil && len(comm) > 0 {
				learn(Naming{Stamp: Stamp{PID: int32(pid), TID: int32(tid)}, Name: string(comm[:len(comm)-1])})
			}
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			continue
		}
		maps, _ := parseMaps(f) // what could be read is better than nothing
		f.Close()
		for _, m := range maps {
			m.PID, m.TID = int32(pid), int32(pid)
			learn(m)
		}
	}
}
