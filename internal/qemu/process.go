package qemu

import (
	"os/exec"
	"runtime"
	"time"
)

// process is QEMU with all that it starts.
type process struct {
	cmd   *exec.Cmd
	done  chan struct{} // closed when QEMU has ended
	ended time.Time     // valid then
}

// startProcess starts a command in a process group of its own, which dies with
// this program where the system can do that. It runs on the given CPUs, nil for all.
func startProcess(cmd *exec.Cmd, cpus []int) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = attributes()
	started := make(chan error, 1)
	go func() {
		// Linux ends the child when the thread ends that has started it, so that
		// thread must stay. The child inherits its CPUs.
		runtime.LockOSThread()
		err := keepTo(cpus)
		if len(cpus) == 0 {
			defer runtime.UnlockOSThread() // no other goroutine may get one that is bound to CPUs
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // its ProcessState says it all
			p.ended = time.Now()
			close(p.done)
		}
	}()
	return p, <-started
}

// exitCode is valid when done is closed.
func (p *process) exitCode() int { return p.cmd.ProcessState.ExitCode() }

// cpu is the processor time that QEMU took.
func (p *process) cpu() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}
