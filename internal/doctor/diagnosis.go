package doctor

import (
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/machine"
)

// Schema is the schema id of a diagnosis document.
const Schema = "cswatch.doctor/v1"

// Status is the overall answer.
type Status string

const (
	StatusOK       Status = "ok"
	StatusWarning  Status = "warning"
	StatusCritical Status = "critical"
	StatusUnknown  Status = "unknown"
)

// Verdict says whether the evidence clears or convicts the TSC.
type Verdict string

const (
	Good      Verdict = "good"      // cleared: accused wrongly, or the accusation does not matter
	Bad       Verdict = "bad"       // convicted: the counter or its rate
	Undecided Verdict = "undecided" // accused, and the evidence does not decide
	None      Verdict = "none"      // not accused
)

// Trust says whether the kernel trusts its TSC.
type Trust string

const (
	TrustYes           Trust = "yes"
	TrustNo            Trust = "no"
	TrustUnknown       Trust = "unknown"
	TrustNotApplicable Trust = "not-applicable" // no TSC on this architecture
)

// Severity of a finding.
type Severity string

const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Risk of following an advice.
type Risk string

const (
	RiskNone        Risk = "none"
	RiskReversible  Risk = "reversible"
	RiskUntilReboot Risk = "until-reboot"
	RiskUnsafe      Risk = "unsafe"
)

// Proof is a line or a value that a finding rests on.
type Proof struct {
	Source string `json:"source"`         // file, path or "measured"
	Line   int    `json:"line,omitempty"` // 1-based; 0 where there are no lines
	Text   string `json:"text"`
}

// Finding is a cause or a state that the evidence shows.
type Finding struct {
	ID         string   `json:"id"`
	Severity   Severity `json:"severity"`
	Summary    string   `json:"summary"`
	Evidence   []Proof  `json:"evidence"`
	Suppressed bool     `json:"suppressed"`
}

// Advice is something to do, the least risky first.
type Advice struct {
	ID      string `json:"id"`
	Summary string `json:"summary"`
	Command string `json:"command,omitempty"`
	Risk    Risk   `json:"risk"`
}

// Missing is what would decide.
type Missing struct {
	ID       string `json:"id"`
	HowToGet string `json:"how_to_get"`
}

// KernelFacts is which kernel this is, and which watchdog it has.
type KernelFacts struct {
	Release       string   `json:"release"` // as precisely as known: the stable release where the banner tells it
	EraCandidates []string `json:"era_candidates"`
	Why           string   `json:"why"`
	// TSCWatched and LatencyCanCondemn are yes, no or unknown.
	TSCWatched        machine.Answer `json:"tsc_watched"`
	TSCWatchedWhy     string         `json:"tsc_watched_why,omitempty"`
	LatencyCanCondemn machine.Answer `json:"latency_can_condemn"`
	LatencyWhy        string         `json:"latency_can_condemn_why,omitempty"`
}

// Decision is one accusation and what became of it, for the reader who wants to see the arithmetic.
type Decision struct {
	Kind      event.IncidentKind `json:"kind"`
	Clock     string             `json:"clock,omitempty"`
	Reference string             `json:"reference,omitempty"`
	Line      int                `json:"line"`
	Source    string             `json:"source,omitempty"`
	Boot      int                `json:"boot"`
	Time      event.Time         `json:"time"`
	Verdict   Verdict            `json:"verdict"`
	Why       string             `json:"why"`

	WatchedIntervalNS   event.Opt[int64]   `json:"watched_interval_ns,omitzero"`
	ReferenceIntervalNS event.Opt[int64]   `json:"reference_interval_ns,omitzero"`
	SkewNS              event.Opt[int64]   `json:"skew_ns,omitzero"`
	SkewPPM             event.Opt[float64] `json:"skew_ppm,omitzero"`
	DelayNS             event.Opt[int64]   `json:"delay_ns,omitzero"`
}

// Diagnosis is the answer.
type Diagnosis struct {
	Schema           string               `json:"schema"`
	Status           Status               `json:"status"`
	Summary          string               `json:"summary"` // one sentence
	Host             string               `json:"host,omitempty"`
	Arch             string               `json:"arch,omitempty"`
	KernelTrustsTSC  Trust                `json:"kernel_trusts_tsc"`
	CurrentClock     string               `json:"current_clocksource"`
	FinalClock       string               `json:"final_clocksource"`
	Available        []string             `json:"available_clocksources,omitempty"`
	TSCVerdict       Verdict              `json:"tsc_verdict"`
	Findings         []Finding            `json:"findings"`
	Advice           []Advice             `json:"advice"`
	Missing          []Missing            `json:"missing"`
	Kernel           KernelFacts          `json:"kernel"`
	Cost             *machine.Cost        `json:"cost,omitempty"`
	Live             *Live                `json:"live_watch,omitempty"` // what --live saw
	Decisions        []Decision           `json:"decisions"`
	DecisionsLeftOut int                  `json:"decisions_left_out,omitempty"`
	Since            string               `json:"since,omitempty"` // when the clock was given up, as the log tells it
	LogLines         int64                `json:"log_lines"`
	ForeignLines     int                  `json:"foreign_lines"` // lines that look like the kernel's and are not: no evidence
	Unreadable       []machine.Unreadable `json:"unreadable,omitempty"`
	Inputs           Inputs               `json:"inputs"`
}

// Inputs echoes everything that shaped the document.
type Inputs struct {
	Logs []string `json:"logs"`
	Root string   `json:"root,omitempty"`
	Live bool     `json:"live"` // the running machine was examined
	// LiveSeconds is for how long this machine's counters were to be watched, 0 for not at all.
	LiveSeconds float64  `json:"live_seconds,omitempty"`
	Ignore      []string `json:"ignore"`
	Expect      string   `json:"expect,omitempty"`
	FailOn      string   `json:"fail_on"`
}

// Evidence is what Examine judges.
type Evidence struct {
	Snapshot *machine.Snapshot  // nil: only logs
	Events   []event.Event      // in the order of the log, at most what a Recorder keeps
	LeftOut  map[event.Kind]int // events beyond what was kept
	LogLines int64
	Foreign  int
	// Incomplete is what could not be read, or not to its end: what is in it
	// could change the answer, so that nothing found is not "ok".
	Incomplete []machine.Unreadable
	Cost       *machine.Cost // nil: not measured
	Live       *Live         // nil: not watched
	// NoLive is why the counters could not be watched, or not to the end, although that was asked for.
	NoLive *machine.Unreadable
	Inputs Inputs

	// qemu is what the arithmetic of the log betrays: a HPET that can only be QEMU's.
	qemu string
}
