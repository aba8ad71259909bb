//go:build !linux

package qemu

import "syscall"

// attributes are none: process groups are used on Linux only.
func attributes() *syscall.SysProcAttr { return nil }

// kill ends QEMU. A process that is gone is no error.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// keepTo does nothing: processes are bound to CPUs on Linux only.
func keepTo([]int) error { return nil }
