package hw

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLooseTimersReachTheCallingThreadAtLeast(t *testing.T) {
	runtime.LockOSThread() // and end the thread with the test
	slack := func() time.Duration {
		n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(n)
	}
	before := slack()
	want := before + 7*time.Microsecond
	// The threads of others belong to the process, too, but may be out of reach without a privilege.
	if err := LooseTimers(want); err != nil && !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
	if got := slack(); got != want {
		t.Errorf("slack %v, want %v", got, want)
	}
	if err := LooseTimers(before); err != nil && !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
	if err := LooseTimers(0); err == nil {
		t.Error("a slack of 0, which stands for the default, was taken")
	}
}
