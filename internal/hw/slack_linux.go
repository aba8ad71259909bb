package hw

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// LooseTimers lets the timers of this process fire that much late, which the kernel
// uses to let several go off at once (timer slack, 50 us by default). Threads that start
// later inherit it, and so do child processes. For threads other than the calling one it takes CAP_SYS_NICE.
func LooseTimers(slack time.Duration) error {
	if slack <= 0 {
		return fmt.Errorf("loosen the timers by %v: want a time above 0", slack)
	}
	wrong := []error{unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)}
	threads, err := os.ReadDir("/proc/self/task")
	wrong = append(wrong, err)
	for _, thread := range threads {
		// The file is not in the folder of the task.
		err := os.WriteFile("/proc/"+thread.Name()+"/timerslack_ns", strconv.AppendInt(nil, int64(slack), 10), 0)
		if !errors.Is(err, os.ErrNotExist) { // a thread that has ended
			wrong = append(wrong, err)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("loosen the timers of this process: %w", err)
	}
	return nil
}
