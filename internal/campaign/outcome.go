package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// Outcome is what a trial came to: exactly one of these.
type Outcome string

// The outcomes. Only the first two count for the rate.
const (
	Stable      Outcome = "stable"       // the window passed, and the kernel still trusts its TSC
	Unstable    Outcome = "unstable"     // the kernel condemned the TSC
	Blind       Outcome = "blind"        // checking was suspended by a skip before the window was over
	NoVerdict   Outcome = "no-verdict"   // the trial was carried out, but tells nothing
	Panicked    Outcome = "panicked"     // the kernel panicked
	Hung        Outcome = "hung"         // process 1 ran, and did not end in time
	NeverBooted Outcome = "never-booted" // process 1 never ran
	Lost        Outcome = "lost"         // the machine, or the program that ran it, ended in the middle
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome {
	return []Outcome{Stable, Unstable, Blind, NoVerdict, Panicked, Hung, NeverBooted, Lost}
}

// Decided reports whether the outcome counts for the rate.
func (o Outcome) Decided() bool { return o == Stable || o == Unstable }

// Cause is why a TSC was condemned.
type Cause string

// The causes.
const (
	ReadDelay Cause = "read-delay" // reading took too long
	Skew      Cause = "skew"       // it ran off against the reference
	InterCPU  Cause = "inter-cpu"  // CPUs disagree, 7.1 and later
	SyncTest  Cause = "sync-test"  // the test when a CPU comes up failed
	Option    Cause = "option"     // the command line wanted it
	OtherWhy  Cause = "other"      // none of these, or the log does not tell
)

// Causes returns all causes.
func Causes() []Cause { return []Cause{ReadDelay, Skew, InterCPU, SyncTest, Option, OtherWhy} }

// End is how the life of a trial's machine ended.
type End string

// The ends.
const (
	EndWhole       End = "whole"        // it was followed to the end: of the window, or after what ends a trial early
	EndPanicked    End = "panicked"     //
	EndHung        End = "hung"         //
	EndNeverBooted End = "never-booted" //
	EndDied        End = "died"         // without a word
)

// Evidence is what was seen of a trial.
type Evidence struct {
	End     End
	Why     string        // the end in a sentence
	Events  []event.Event // that the kernel logged
	Clock   string        // the current clocksource at the end, "" if that is not known
	LostLog int64         // records of the kernel log that nobody saw
	// Untold is why the trial tells nothing although it was whole, "" if it does.
	Untold string
}

// Judgement is what evidence comes to.
type Judgement struct {
	Outcome Outcome `json:"outcome"`
	Cause   Cause   `json:"cause,omitempty"` // of Unstable
	Why     string  `json:"why"`             // in a sentence

	// What the kernel said of the condemnation, as far as it did.
	Clock   string           `json:"clock,omitempty"` // tsc or tsc-early
	AtNS    event.Opt[int64] `json:"at_ns,omitzero"`  // by the kernel log
	CPU     event.Opt[int64] `json:"cpu,omitzero"`    //
	DelayNS event.Opt[int64] `json:"delay_ns,omitzero"`
	Attempt event.Opt[int64] `json:"attempt,omitzero"`
	SkewNS  event.Opt[int64] `json:"skew_ns,omitzero"`
	Message string           `json:"message,omitempty"` // the line that says so

	TimedOut int `json:"timed_out,omitempty"` // lines on reads that timed out, 7.1 and later: harmless
}

// Judge makes an outcome of what was seen. A condemnation counts however the machine
// ended; everything else needs a trial that was followed to its end.
func Judge(e *Evidence) Judgement {
	var j Judgement
	incidents := event.Collect(e.Events)
	for i := range incidents {
		if incidents[i].Kind == event.IncidentTimeout {
			j.TimedOut += max(incidents[i].Counted, 1)
		}
	}
	for i := range incidents {
		if in := &incidents[i]; in.Kind.Condemns() && ofTSC(in) {
			j.condemned(in)
			return j
		}
	}
	switch e.End {
	case EndPanicked:
		j.Outcome, j.Why = Panicked, e.Why
		return j
	case EndHung:
		j.Outcome, j.Why = Hung, e.Why
		return j
	case EndNeverBooted:
		j.Outcome, j.Why = NeverBooted, e.Why
		return j
	case EndDied:
		j.Outcome, j.Why = Lost, e.Why
		return j
	}
	for i := range incidents {
		if in := &incidents[i]; in.Kind == event.IncidentSkip {
			j.Outcome, j.AtNS, j.Message = Blind, in.Time.PrintkNS, message(in)
			j.Why = "a skip suspended the checks for five minutes"
			return j
		}
	}
	j.Outcome, j.Why = NoVerdict, e.Untold
	switch {
	case e.Untold != "":
	case e.LostLog > 0:
		j.Why = fmt.Sprintf("%d records of the kernel log were lost before they were read", e.LostLog)
	case e.Clock == "":
		j.Why = "it is not known which clocksource was used at the end"
	case e.Clock != "tsc":
		j.Why = fmt.Sprintf("at the end the kernel used %s, and the log does not say why", e.Clock)
	default:
		j.Outcome, j.Why = Stable, "the window passed, and the TSC is still in use"
	}
	return j
}

// ofTSC leaves out verdicts on other clocks. Some lines name none: they are of the TSC.
func ofTSC(in *event.Incident) bool {
	return in.Clock == "" || slices.Contains([]string{"tsc", "tsc-early"}, in.Clock)
}

func (j *Judgement) condemned(in *event.Incident) {
	j.Outcome, j.Clock, j.AtNS, j.CPU = Unstable, in.Clock, in.Time.PrintkNS, in.CPU
	j.DelayNS, j.Attempt, j.Message = in.DelayNS, in.Attempt, message(in)
	if skew, ok := in.Skew(); ok {
		j.SkewNS = event.Some(skew)
	}
	switch in.Kind {
	case event.IncidentDelay:
		j.Cause, j.Why = ReadDelay, "reading the clocks took too long"
	case event.IncidentSkew, event.IncidentDelta, event.IncidentFrequency:
		j.Cause, j.Why = Skew, "the TSC ran off against its reference"
	case event.IncidentInterCPU:
		j.Cause, j.Why = InterCPU, "the TSCs of two CPUs disagree"
	case event.IncidentSync:
		j.Cause, j.Why = SyncTest, "the test of a CPU that came up failed"
	case event.IncidentByReason:
		j.Cause, j.Why = OtherWhy, "the kernel gives the reason "+in.Reason
		if strings.Contains(in.Reason, "boot parameter") {
			j.Cause, j.Why = Option, "the command line wanted it"
		}
	default:
		j.Cause, j.Why = OtherWhy, "the log does not tell the reason"
	}
}

// message is the line that tells of the decision.
func message(in *event.Incident) string {
	if len(in.Events) == 0 {
		return ""
	}
	return in.Events[0].Text
}
