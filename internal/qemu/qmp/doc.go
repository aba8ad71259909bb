// Package qmp speaks the QEMU Machine Protocol: JSON messages over a socket, by
// which a running virtual machine is stopped, continued, saved and ended.
//
// A [Client] owns one connection and one goroutine that reads it. It knows the
// protocol and, but for [Client.Migrate], no commands: [Client.Execute] takes any.
// The package does not start virtual machines (internal/qemu does).
package qmp
