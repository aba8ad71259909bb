package perf

// Mode is where a sample was taken, as the kernel marks it.
type Mode uint8

// The modes, with the numbers of the kernel's interface (PERF_RECORD_MISC_CPUMODE_MASK).
const (
	UnknownMode Mode = iota
	KernelMode
	UserMode
	HypervisorMode
	GuestKernelMode
	GuestUserMode
)

// Stamp says who a record is about, when it was written and where.
type Stamp struct {
	PID, TID int32
	Time     uint64 // ns of the scheduler's clock, which is only good for order
	CPU      uint32
}

// Record is one record of a ring buffer: [Sample], [Mapping], [Naming], [Birth],
// [Exit], [Loss], [Throttling] or [Other].
type Record interface{ stamp() Stamp }

func (s Stamp) stamp() Stamp { return s }

// Sample is one look at what a CPU did.
type Sample struct {
	Stamp
	Mode   Mode
	IP     uint64
	Period uint64 // how many of the event the sample stands for; ns for clocks
	// Chain holds the return addresses, innermost first and the IP among them, with
	// the kernel's markers (from contextKernel on) between the modes. Nil where none was asked for.
	Chain []uint64
}

// Mapping is code that a process mapped.
type Mapping struct {
	Stamp
	Start, Length, Offset uint64
	Device, Inode         uint64 // 0 where the kernel gave none; a device is its major number << 32 and its minor
	Name                  string // a path as the process sees it, or [vdso], //anon and the like
}

// Naming is a thread that got a name. With Exec its process became another program.
type Naming struct {
	Stamp
	Name string
	Exec bool
}

// Birth is a new thread; of a new process where the PIDs differ.
type Birth struct {
	Stamp
	ParentPID, ParentTID int32
}

// Exit is a thread that ended.
type Exit struct{ Stamp }

// Loss is how many records the kernel had no room for. Where the kernel says that
// they were samples, Samples is set.
type Loss struct {
	Stamp
	Lost    uint64
	Samples bool
}

// Throttling is a pause of the sampling by the kernel, or with On its end.
type Throttling struct {
	Stamp
	On bool
}

// Other is a record of a kind that says nothing about a profile.
type Other struct {
	Stamp
	Kind uint32
}

// Markers in a call chain: what follows was in this mode. Every value from contextMax on is a marker.
const (
	contextHypervisor  = ^uint64(31)
	contextKernel      = ^uint64(127)
	contextUser        = ^uint64(511)
	contextGuest       = ^uint64(2047)
	contextGuestKernel = ^uint64(2175)
	contextGuestUser   = ^uint64(2559)
	contextMax         = ^uint64(4094)
)
