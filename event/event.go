package event

// Source is where an event was read.
type Source struct {
	File string `json:"file,omitempty"` // as the user named it; "-" is standard input
	Line int    `json:"line"`           // 1-based, in the text after decompression
	Boot int    `json:"boot"`           // 1-based number of the boot within the input
	// Format is the outermost container that was recognised, such as "dmesg" or "journal-json".
	Format string `json:"format,omitempty"`
	// Duplicate marks a second copy of the same line, as when a log holds the
	// console and the journal. Duplicates are shown, and counted once.
	Duplicate bool `json:"duplicate,omitzero"`
}

// Time is what is known of when an event happened.
type Time struct {
	// PrintkNS is the kernel's own stamp, nanoseconds since about boot. After a
	// verdict the kernel changes its base: the stamp may jump back.
	PrintkNS Opt[int64] `json:"printk_ns,omitzero"`
	// Wall is a wall clock stamp as written, not interpreted.
	Wall string `json:"wall,omitempty"`
	// Doubt says why the stamp is not to be relied on; empty if there is no reason.
	Doubt string `json:"doubt,omitempty"`
}

// Event is what one line of text says. Fields that the line does not carry stay unknown.
type Event struct {
	Kind   Kind   `json:"kind"`
	Source Source `json:"source"`
	Time   Time   `json:"time"`
	// Text is the message freed from its container, cut at MaxText bytes.
	Text  string     `json:"text"`
	Level Opt[int64] `json:"level,omitzero"` // printk level 0..7

	Clocksource string `json:"clocksource,omitempty"` // the clock that the line speaks of
	Reference   string `json:"reference,omitempty"`   // the clock that the watchdog trusted
	Current     string `json:"current,omitempty"`     // the current clocksource

	CPU     Opt[int64] `json:"cpu,omitzero"`      // the CPU that checked, or the one spoken of
	PeerCPU Opt[int64] `json:"peer_cpu,omitzero"` // the other CPU of a pair
	CPUs    string     `json:"cpus,omitempty"`    // a list such as "0,2-3"

	DelayNS         Opt[int64] `json:"delay_ns,omitzero"`          // read-back delay: reference, clock, reference
	WatchdogDelayNS Opt[int64] `json:"watchdog_delay_ns,omitzero"` // delay of two reads of the reference in a row
	LimitNS         Opt[int64] `json:"limit_ns,omitzero"`          // as printed: unreliable from 6.12 to 7.0
	Attempt         Opt[int64] `json:"attempt,omitzero"`
	Retries         Opt[int64] `json:"retries,omitzero"`

	IntervalNS          Opt[int64] `json:"interval_ns,omitzero"`           // of the clock that the line speaks of
	ReferenceIntervalNS Opt[int64] `json:"reference_interval_ns,omitzero"` // of the reference, on lines that carry both
	SkewNS              Opt[int64] `json:"skew_ns,omitzero"`               // watched minus reference
	Now                 Opt[Hex]   `json:"now,omitzero"`                   // raw counter values
	Last                Opt[Hex]   `json:"last,omitzero"`
	Mask                Opt[Hex]   `json:"mask,omitzero"`

	MaxCycles Opt[Hex]   `json:"max_cycles,omitzero"`
	MaxIdleNS Opt[int64] `json:"max_idle_ns,omitzero"`

	Cycles      Opt[int64] `json:"cycles,omitzero"`       // a warp, or TSC_ADJUST before
	OtherCycles Opt[int64] `json:"other_cycles,omitzero"` // TSC_ADJUST after
	Stamp       Opt[Hex]   `json:"stamp,omitzero"`        // raw counter value of the CPU, where it is compared with another's
	PeerStamp   Opt[Hex]   `json:"peer_stamp,omitzero"`   // that of the other CPU
	FrequencyHz Opt[int64] `json:"frequency_hz,omitzero"`
	MinNS       Opt[int64] `json:"min_ns,omitzero"`
	MaxNS       Opt[int64] `json:"max_ns,omitzero"`
	Seconds     Opt[int64] `json:"seconds,omitzero"`  // how long something was stuck
	RatePPM     Opt[Rate]  `json:"rate_ppm,omitzero"` // a time daemon's word
	SchedNS     Opt[Sched] `json:"sched,omitzero"`

	// Detail is the free part of the line: a reason, a command line, a version, a driver.
	Detail string `json:"detail,omitempty"`
	// Cut says that the line ended, or a number broke off, before its format did.
	Cut bool `json:"cut,omitzero"`
}

// Rate is a frequency error in parts per million.
type Rate float64

// Sched holds the four numbers of a "sched_clock: Marking ..." line, in ns:
// (gtod at tick, gtod offset) and (raw sched_clock, sched_clock offset).
// A short form of the line carries only the first pair.
type Sched struct {
	Gtod       int64 `json:"gtod_ns"`
	GtodOffset int64 `json:"gtod_offset_ns"`
	Raw        int64 `json:"raw_ns"`
	RawOffset  int64 `json:"raw_offset_ns"`
}

// Bounds of what an event keeps of a line, in bytes.
const (
	MaxText   = 512
	MaxDetail = 2048 // a kernel command line
)
