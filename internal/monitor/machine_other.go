//go:build !linux

package monitor

// ThisMachine has no sources outside of Linux: there is no kernel log to follow.
func ThisMachine() Sources { return Sources{} }
