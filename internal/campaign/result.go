package campaign

import "github.com/cswatch/cswatch/event"

// Result is what is kept of a trial, beside its files.
type Result struct {
	Trial Trial `json:"trial"`
	Judgement

	Executor    string `json:"executor"`
	Accelerator string `json:"accelerator,omitempty"`
	Kernel      Kernel `json:"kernel"`
	Restored    bool   `json:"restored,omitempty"` // it went on from a saved state

	End    End    `json:"end"`
	EndWhy string `json:"end_why"`
	Untold string `json:"untold,omitempty"`

	Clocksource  string   `json:"clocksource,omitempty"` // current at the end
	Clocksources []string `json:"clocksources,omitempty"`
	LostLog      int64    `json:"lost_log,omitempty"`
	Damaged      int      `json:"damaged,omitempty"` // records of the guest that were not whole
	Troubles     []string `json:"troubles,omitempty"`
	Load         string   `json:"load_done,omitempty"`
	Exit         *int     `json:"exit,omitempty"` // of the program that ran inside

	BootedNS int64 `json:"booted_ns,omitempty"` // from the start of QEMU to process 1
	WallNS   int64 `json:"wall_ns"`
	CPUNS    int64 `json:"cpu_ns,omitempty"`

	// Delays that were programmed, and what the kernel's watchdog then read.
	// Missed attempts were to be delayed, and went by before this program knew of them.
	Held   int     `json:"held,omitempty"`
	Missed int     `json:"missed,omitempty"`
	Checks []Check `json:"checks,omitempty"`
	// NoticedNS is how long a step of the TSC went unnoticed, by the reference.
	NoticedNS event.Opt[int64] `json:"noticed_ns,omitzero"`
}

// Kernel says which one it was.
type Kernel struct {
	Release string `json:"release,omitempty"` // uname -r
	Version string `json:"version,omitempty"` // uname -v
	SHA256  string `json:"sha256,omitempty"`  // of the image
	Era     string `json:"era,omitempty"`     // "" where it is not certain
}

// Check is one check of the watchdog as a trial's reference clock saw it.
type Check struct {
	AtNS int64 `json:"at_ns"` // since the first one that was seen
	CPU  int   `json:"cpu"`
	// DelaysNS are the read-back delays of its attempts, by the reference, and
	// ReferenceNS those of the reference against itself, where the era reads it twice.
	DelaysNS    []int64 `json:"delays_ns"`
	ReferenceNS []int64 `json:"reference_ns,omitempty"`
}

// Evidence returns what the result was judged by, but for the log: its events must
// be given anew.
func (r *Result) Evidence(events []event.Event) Evidence {
	return Evidence{End: r.End, Why: r.EndWhy, Events: events, Clock: r.Clocksource, LostLog: r.LostLog, Untold: r.Untold}
}

// Verdict is what decides of a result which trials come next.
func (j *Judgement) Verdict() Verdict { return Verdict{j.Outcome, j.Cause} }

// Verdict is an outcome with its cause.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	Cause   Cause   `json:"cause,omitempty"`
}

// Noticed reports that the TSC was condemned for what it showed, not for latency.
func (v Verdict) Noticed() bool {
	return v.Outcome == Unstable && (v.Cause == Skew || v.Cause == InterCPU || v.Cause == SyncTest)
}
