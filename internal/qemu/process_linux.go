package qemu

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepTo binds the calling thread to CPUs, if any are named.
func keepTo(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run QEMU on CPUs %v: %w", cpus, err)
	}
	return nil
}

// attributes put a process into a group of its own and end it with the thread that starts it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// kill ends the whole group. A group that is gone is no error.
func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
