package alerting

import (
	"os/exec"
	"syscall"
)

// withParent lets the process end with this one, however this one ends.
func withParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
