package hook

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// process is a command with what it has started, as far as that stays in its process group.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the command has ended
	err  error         // valid then: of exec.Cmd.Wait

	mu     sync.Mutex
	reaped bool // the number of the group may be another's
}

// start starts a command in a group of its own. When it has ended, or could not be started, free is called,
// whether or not anybody still waits for it.
func start(cmd *exec.Cmd, free func()) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = attributes()
	started := make(chan error, 1)
	go func() {
		defer free()
		// Linux ends the child when the thread ends that has started it, so that thread must stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		seal()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// signal sends a signal to the whole group, as long as its number is certain to be its own.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, s) // a group that is gone is no error
	}
}

// over reports that the command has ended.
func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
