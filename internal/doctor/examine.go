package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// examination is the state of one Examine.
type examination struct {
	ev        *Evidence
	incidents []weighed
	lastFacts facts // of the last boot
	verdict   Verdict
	final     string
	findings  []Finding
	missing   []string
	kernel    KernelFacts
	eras      []watchdog.Candidate
	trust     Trust
	arch      string
	liveBad   bool // the live counters convict the TSC, and no log does
}

// Examine judges the evidence. It never fails: what cannot be told is said.
func Examine(ev Evidence) Diagnosis {
	x := examination{ev: &ev, arch: archOf(&ev)}
	x.incidents = weigh(&ev)
	x.lastFacts = factsOf(&ev, lastBoot(ev.Events))
	x.verdict = overall(x.incidents)
	x.final = finalClock(ev.Events)
	x.identify()
	x.causesOfIncidents()
	x.causesOfLog()
	x.fallen()
	x.slowDefault()
	x.optionsOfLog()
	x.unread()
	x.trust = trust(&ev, x.incidents, x.final, x.arch)
	if s := ev.Snapshot; s != nil {
		if s.Clocksource.Current != "" {
			x.final = s.Clocksource.Current
		}
	}
	x.causesOfLive()
	if s := ev.Snapshot; s != nil {
		x.causesOfMachine(s)
	}
	x.suppress()
	x.order()

	d := Diagnosis{
		Schema: Schema, Arch: x.arch, KernelTrustsTSC: x.trust, FinalClock: x.final, TSCVerdict: x.verdict,
		Findings: x.findings, Kernel: x.kernel, Cost: ev.Cost, Live: ev.Live, LogLines: ev.LogLines, ForeignLines: ev.Foreign, Inputs: ev.Inputs,
		Missing: []Missing{}, Advice: []Advice{}, Decisions: []Decision{},
	}
	if s := ev.Snapshot; s != nil {
		d.CurrentClock, d.Host, d.Available = s.Clocksource.Current, s.Host, s.Clocksource.Available
		d.Unreadable = append(d.Unreadable, s.Unreadable...)
	}
	if u := ev.NoLive; u != nil {
		d.Unreadable = append(d.Unreadable, *u)
	}
	for _, u := range ev.Incomplete {
		// A snapshot lists damage of its archive, too, with a remedy of its own.
		if !slices.ContainsFunc(d.Unreadable, func(o machine.Unreadable) bool { return o.What == u.What && o.Reason == u.Reason }) {
			d.Unreadable = append(d.Unreadable, u)
		}
	}
	d.Decisions, d.DecisionsLeftOut, d.Since = x.decisions()
	for _, id := range x.missing {
		d.Missing = append(d.Missing, Missing{ID: id, HowToGet: howToGet(id)})
	}
	d.Status = x.status()
	d.Advice = x.advise()
	d.Summary = x.summary(&d)
	if d.Findings == nil {
		d.Findings = []Finding{}
	}
	return d
}

// find adds a finding of its usual severity.
func (x *examination) find(id, summary string, proofs ...Proof) {
	x.findAs(severityOf(id), id, summary, proofs...)
}

// findAs adds a finding, or evidence to one that is there.
func (x *examination) findAs(severity Severity, id, summary string, proofs ...Proof) {
	for i := range x.findings {
		f := &x.findings[i]
		if f.ID == id {
			if f.Severity == Info && severity != Info {
				f.Severity, f.Summary = severity, summary
			}
			if len(f.Evidence) < 12 {
				f.Evidence = append(f.Evidence, proofs...)
			}
			return
		}
	}
	if proofs == nil {
		proofs = []Proof{}
	}
	x.findings = append(x.findings, Finding{ID: id, Severity: severity, Summary: summary, Evidence: proofs})
}

func (x *examination) has(ids ...string) bool {
	return slices.ContainsFunc(x.findings, func(f Finding) bool { return slices.Contains(ids, f.ID) })
}

func (x *examination) lack(ids ...string) {
	for _, id := range ids {
		if !slices.Contains(x.missing, id) {
			x.missing = append(x.missing, id)
		}
	}
}

// identify works out which kernel and era this is, and what its watchdog may do.
func (x *examination) identify() {
	var id watchdog.Identity
	facts := watchdog.TSCFacts{Arch: x.arch, CommandLine: x.lastFacts.cmdline, CommandLineKnown: x.lastFacts.cmdlineSeen}
	if s := x.ev.Snapshot; s != nil {
		id = watchdog.IdentityOf(s)
		facts.Flags, facts.Nodes, facts.Packages = s.CPU.Flags, s.CPU.Nodes, s.CPU.Packages
	}
	id.Version = cmp.Or(id.Version, x.lastFacts.version)
	seen := map[event.Kind]bool{}
	for i := range x.ev.Events {
		e := &x.ev.Events[i]
		if e.Source.Boot == x.lastFacts.boot && !e.Source.Duplicate && !seen[e.Kind] {
			seen[e.Kind] = true
			id.Messages = append(id.Messages, e.Text)
		}
	}
	if x.arch != "" && !isX86(x.arch) {
		id.Parameters = nil // no watchdog, no parameters: they say nothing of the release
	}
	found := watchdog.Detect(id)
	x.eras = found.Candidates
	x.kernel = KernelFacts{Why: found.Why, EraCandidates: []string{}}
	for _, c := range found.Candidates {
		if !slices.Contains(x.kernel.EraCandidates, string(c.Era)) {
			x.kernel.EraCandidates = append(x.kernel.EraCandidates, string(c.Era))
		}
	}
	switch {
	case len(found.Candidates) > 0 && found.Candidates[0].Release != "":
		x.kernel.Release = found.Candidates[0].Release
	case id.Release != "":
		x.kernel.Release = id.Release
	}
	x.kernel.TSCWatched, x.kernel.TSCWatchedWhy = watchdog.TSCWatched(found.Candidates, facts)
	x.kernel.LatencyCanCondemn, x.kernel.LatencyWhy = watchdog.LatencyCanCondemn(found.Candidates, facts)
	x.observed()
}

// observedWhy is the reason of what the log itself shows.
const observedWhy = "the log shows that it did"

// observed lets what the watchdog did in this boot stand above what rules say
// that it may do.
func (x *examination) observed() {
	for i := range x.incidents {
		w := &x.incidents[i]
		in := &w.incident
		if !w.counts() || in.Boot != x.lastFacts.boot || !isTSC(orTSC(in.Clock)) {
			continue
		}
		switch in.Kind {
		case event.IncidentSync, event.IncidentByReason, event.IncidentOverride:
			continue // not the watchdog's
		case event.IncidentDelay:
			x.kernel.LatencyCanCondemn, x.kernel.LatencyWhy = machine.Yes, observedWhy
		}
		x.kernel.TSCWatched, x.kernel.TSCWatchedWhy = machine.Yes, observedWhy
		if x.kernel.LatencyWhy != observedWhy {
			x.kernel.LatencyCanCondemn, x.kernel.LatencyWhy = watchdog.LatencyIfWatched(x.eras)
		}
	}
}

// causesOfIncidents turns judgements into findings and gathers what is missing.
// Of several accusations those that agree with the overall verdict matter: a
// conviction makes it pointless to ask what an earlier line may have meant.
func (x *examination) causesOfIncidents() {
	for i := range x.incidents {
		w := &x.incidents[i]
		if !w.counts() {
			continue
		}
		proofs := proofOf(w.incident.Events)
		for _, cause := range w.judged.causes {
			if x.verdict == Bad && w.judged.verdict != Bad && (cause == "cause-unknown" || cause == "warp-noise" || cause == "small-skew") {
				continue
			}
			if cause == "cause-unknown" && len(w.judged.causes) == 1 && x.explained(w) {
				continue
			}
			severity := severityOf(cause)
			if !w.incident.Kind.Condemns() {
				severity = Info // the kernel itself drew no conclusion
			}
			x.findAs(severity, cause, w.judged.why, proofs...)
		}
		if x.verdict == Undecided && w.judged.verdict == Undecided {
			x.lack(w.judged.missing...)
		}
	}
	if x.verdict == Undecided && !x.stamped() {
		x.lack("times")
	}
}

// explained reports that a trace without numbers belongs to an accusation of
// the same boot that has them.
func (x *examination) explained(w *weighed) bool {
	for i := range x.incidents {
		o := &x.incidents[i]
		if o != w && o.condemns() && o.incident.Boot == w.incident.Boot &&
			!slices.Contains(o.judged.causes, "cause-unknown") && o.judged.verdict != None {
			return true
		}
	}
	return false
}

// stamped reports whether any accusation carries a time of the kernel's own.
func (x *examination) stamped() bool {
	for i := range x.incidents {
		if x.incidents[i].incident.Time.PrintkNS.Known {
			return true
		}
	}
	return false
}

// suppress marks the findings that the user does not want to hear of.
func (x *examination) suppress() {
	for i := range x.findings {
		if slices.Contains(x.ev.Inputs.Ignore, x.findings[i].ID) {
			x.findings[i].Suppressed = true
		}
	}
}

// order puts the weightiest findings first and keeps the order otherwise.
func (x *examination) order() {
	rank := map[Severity]int{Critical: 0, Warning: 1, Info: 2}
	slices.SortStableFunc(x.findings, func(a, b Finding) int {
		if a.Suppressed != b.Suppressed {
			if b.Suppressed {
				return -1
			}
			return 1
		}
		return rank[a.Severity] - rank[b.Severity]
	})
}

// status is the weight of the worst finding that is not suppressed. Without any
// evidence of a kernel it is unknown.
func (x *examination) status() Status {
	s := StatusOK
	for _, f := range x.findings {
		switch {
		case f.Suppressed:
		case f.Severity == Critical:
			return StatusCritical
		case f.Severity == Warning:
			s = StatusWarning
		}
	}
	if s == StatusOK && len(x.ev.Incomplete) > 0 {
		return StatusUnknown
	}
	if s == StatusOK && len(x.ev.Events) == 0 && (x.ev.Snapshot == nil || x.ev.Snapshot.Clocksource.Current == "") && !x.ev.Live.tells() {
		return StatusUnknown
	}
	return s
}

// decisions lists the accusations for the reader.
func (x *examination) decisions() (list []Decision, leftOut int, since string) {
	const most = 32
	list = []Decision{}
	for i := range x.incidents {
		w := &x.incidents[i]
		in := &w.incident
		first := in.Events[0].Source
		if since == "" && in.Boot == x.lastFacts.boot && w.condemns() && w.judged.verdict != None {
			since = when(in.Time)
		}
		if len(list) == most {
			leftOut++
			continue
		}
		d := Decision{
			Kind: in.Kind, Clock: in.Clock, Reference: in.Reference, Line: first.Line, Source: orStdin(first.File), Boot: in.Boot, Time: in.Time,
			Verdict: w.judged.verdict, Why: w.judged.why, DelayNS: in.DelayNS,
		}
		m := &w.judged.m
		if m.watchedOK {
			d.WatchedIntervalNS = event.Some(int64(m.watched))
		}
		if m.referenceOK {
			d.ReferenceIntervalNS = event.Some(int64(m.reference))
		}
		if skew, ok := in.Skew(); ok {
			d.SkewNS = event.Some(skew)
		} else if m.watchedOK && m.referenceOK {
			d.SkewNS = event.Some(int64(m.skew()))
		}
		if m.watchedOK && m.referenceOK && m.longer() > 0 {
			d.SkewPPM = event.Some(float64(int64(m.ppm()*10)) / 10)
		}
		list = append(list, d)
	}
	for _, n := range x.ev.LeftOut {
		leftOut += n
	}
	return list, leftOut, since
}

// when writes the time of an event for people.
func when(t event.Time) string {
	if t.Wall != "" {
		return t.Wall
	}
	if ns, ok := t.PrintkNS.Get(); ok {
		return fmt.Sprintf("%.6f s after boot", float64(ns)/1e9)
	}
	return ""
}

// isGuest reports whether the machine is known to be a guest.
func (x *examination) isGuest() machine.Answer {
	if l := x.ev.Live; l != nil && x.lastFacts.guest == machine.Unknown {
		return l.Guest
	}
	return x.lastFacts.guest
}
