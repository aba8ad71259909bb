package guest

// What host and guest agree on.
const (
	// RecordPort is the serial port for the records; the console has the first one.
	RecordPort = "/dev/ttyS1"
	// ExitPort is the I/O port of QEMU's isa-debug-exit device. QEMU then exits
	// with the status 2 x value + 1.
	ExitPort = 0xf4
	// ExitValue is what the guest writes there when it has said all.
	ExitValue = 1
)
