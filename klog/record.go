package klog

import "github.com/cswatch/cswatch/event"

// Origin says whether a record can come from the kernel.
type Origin uint8

const (
	// OriginUnsaid: nothing in the container says who wrote the text (plain dmesg, a pasted line).
	OriginUnsaid Origin = iota
	// OriginKernel: facility 0 or the identifier "kernel".
	OriginKernel
	// OriginForeign: a facility or an identifier other than the kernel's. Such a
	// record is counted; it is no evidence about the kernel.
	OriginForeign
)

// String names the origin: unsaid, kernel or foreign.
func (o Origin) String() string {
	switch o {
	case OriginKernel:
		return "kernel"
	case OriginForeign:
		return "foreign"
	}
	return "unsaid"
}

// Record is one log record, freed from its containers.
type Record struct {
	Text   string           // the message: no stamp, no prefix, no trailing blanks; leading blanks kept
	Line   int              // 1-based line of the input at which the record begins
	Printk event.Opt[int64] // the kernel's stamp in ns, if the record has one
	Wall   string           // wall clock stamp as written
	Doubt  string           // why the stamps are not to be relied on ("" if they are)
	Level  event.Opt[int64] // printk level 0..7
	Ident  string           // syslog identifier without the pid, "" if none
	BootID string           // journal boot id, "" if none
	Format string           // outermost container: see the Format constants
	Origin Origin
	// Bare says that the line had no stamp, level or identifier of its own. Only
	// a bare record can be the rest of a wrapped line.
	Bare bool
	// NewBoot says that the container itself marks a new boot here (journalctl's "-- Boot" line, another boot id).
	NewBoot bool
	// Cut says that a part of the text is missing, or stands in the next records
	// because the line was longer than the limit.
	Cut bool
}

// Format names, outermost container first where several are nested.
const (
	FormatPlain       = "plain"        // no stamp at all
	FormatDmesg       = "dmesg"        // "[   12.345678] ", with level prefix, caller field or -x columns
	FormatDmesgT      = "dmesg-T"      // "[Thu Mar  5 08:00:02 2026] ", "2026-03-05T08:00:02,123456+00:00 "
	FormatDmesgH      = "dmesg-H"      // "[Oct23 14:35] ", "[  +5.036219] "
	FormatDmesgJSON   = "dmesg-json"   // dmesg --json
	FormatSyslog      = "syslog"       // classic, RFC 3339 stamp, OpenWrt, BusyBox, console server
	FormatRFC5424     = "rfc5424"      //
	FormatJournal     = "journal"      // journalctl short-full, short-monotonic, short-unix, verbose: where it cannot be told from syslog it is syslog
	FormatJournalJSON = "journal-json" // journalctl -o json, json-pretty, json-sse, json-seq
	FormatExport      = "journal-export"
	FormatKmsg        = "kmsg" // /dev/kmsg records
	FormatNetconsole  = "netconsole"
	FormatLogcat      = "logcat"
	FormatPstore      = "pstore"
	FormatDockerJSON  = "docker-json"
	FormatCRI         = "cri"  // container runtime interface: "STAMP stdout F text"
	FormatJSON        = "json" // a JSON object of another program with a message in it
	FormatKlog        = "klog" // Kubernetes klog around dmesg
	FormatHTML        = "html"
)

// Doubts that a container casts on its stamps.
const (
	DoubtDmesgT   = "dmesg computes this wall time from the boot clock: it is off after a suspend or a clock fault"
	DoubtRelative = "relative stamp: only minutes or differences are written"
	DoubtArrival  = "stamp of the arrival in the journal, not of the kernel"
)

// Stats counts what a RecordReader has read so far. Records that the filter
// turned away are counted as Rejected only: they were not decoded.
type Stats struct {
	Lines    int64            `json:"lines"`    // physical lines
	Bytes    int64            `json:"bytes"`    // bytes of the input, after decompression
	Records  int64            `json:"records"`  // records delivered
	Foreign  int64            `json:"foreign"`  // of these, records that cannot come from the kernel
	Cut      int64            `json:"cut"`      // lines longer than the limit, and fields of a wrong length
	Rejected int64            `json:"rejected"` // lines and decoded texts that the filter turned away
	Formats  map[string]int64 `json:"formats"`  // records delivered by outermost container
}
