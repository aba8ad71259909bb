//go:build !linux

package alerting

import "os/exec"

// withParent does nothing: only Linux ends a process with its parent.
func withParent(*exec.Cmd) {}
