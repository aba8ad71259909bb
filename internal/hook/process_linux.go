package hook

import (
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes put a process into a group of its own and end it with the thread that starts it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// wait waits until the command has ended and ends what it has left in its group. That comes before the command is
// reaped: until then no other process or group can have its number.
func (p *process) wait() {
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil).(unix.Errno)
	}
	if err == 0 { // it has ended: were that not certain, this would end it
		p.signal(syscall.SIGKILL)
	}
	p.mu.Lock()
	p.reaped = err == 0
	p.mu.Unlock()
	p.err = p.cmd.Wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
}

// seal keeps descriptors that this program was started with from those that it starts. Its own are closed
// there anyway; of inherited ones that depends on who opened them.
func seal() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil { // Linux 5.11
		return
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= 3 {
			unix.CloseOnExec(fd)
		}
	}
}
