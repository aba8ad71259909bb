package trial

import (
	"slices"
	"sync"

	"github.com/cswatch/cswatch/internal/hw"
)

// seats numbers the trials that run side by side, from 0.
type seats struct {
	mu    sync.Mutex
	taken []bool
}

func (s *seats) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.taken, false)
	if i < 0 {
		i = len(s.taken)
		s.taken = append(s.taken, false)
	}
	s.taken[i] = true
	return i
}

func (s *seats) leave(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[i] = false
}

// apart returns CPUs for a tap and others for its QEMU, so that who delays a guest
// does not take the CPU on which it runs. Neighbours have different ones. With a
// single CPU both are nil.
func apart(seat int) (tap, machine []int) {
	all, err := hw.AllowedCPUs()
	if err != nil || len(all) < 2 {
		return nil, nil
	}
	mine := all[seat%len(all)]
	return []int{mine}, slices.DeleteFunc(all, func(cpu int) bool { return cpu == mine })
}
