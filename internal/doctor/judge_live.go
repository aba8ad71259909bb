package doctor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/machine"
)

// liveSource is where proofs of the live counters come from, as in "cswatch(live): ".
const liveSource = "live"

// causesOfLive judges what the watchdog over the live counters found.
func (x *examination) causesOfLive() {
	if u := x.ev.NoLive; u != nil {
		x.find("evidence-unreadable", "the live counters could not be watched: whether they agree now stays unknown", Proof{Source: u.What, Text: u.Reason})
		x.lack("live-counters")
	}
	l := x.ev.Live
	if l == nil {
		return
	}
	x.liveOrder(l)
	x.liveRate(l)
	x.liveLatency(l)
	x.find("live-watch", x.liveSummary(l), liveProofs(l)...)
}

// outweigh lets a verdict on the TSC stand beside those of the log: the heaviest counts.
func (x *examination) outweigh(l *Live, v Verdict) {
	if !isTSC(l.Counter) || x.verdict == Bad && v != Bad {
		return
	}
	x.liveBad = x.liveBad || v == Bad && x.verdict != Bad
	x.verdict = v
}

// liveOrder judges the comparison of CPUs, which has no false alarms: nothing that
// can happen to a thread makes a later read the smaller one.
func (x *examination) liveOrder(l *Live) {
	e := &l.Exchanges
	if e.Backwards == 0 {
		return
	}
	id, severity := "counter-offset-between-cpus", Warning
	if isTSC(l.Counter) {
		id = "tsc-offset-between-cpus"
	}
	if l.inUse() {
		severity = Critical // the time that programs read runs backwards, too
	}
	text := fmt.Sprintf("the %s of two CPUs disagree now: time ran backwards in %d of %s, by %d cycles at least",
		l.Counter, e.Backwards, count(e.Made, "comparison"), e.Most)
	proof := fmt.Sprintf("%d of %s ran backwards, by %d cycles at least", e.Backwards, count(e.Made, "comparison"), e.Most)
	if e.Between != "" {
		proof += " between " + e.Between
	}
	x.findAs(severity, id, text, Proof{Source: liveSource, Text: proof})
	x.outweigh(l, Bad)
}

// tells reports that a clock was held against an independent witness.
func (l *Live) tells() bool {
	return l != nil && l.Independent == machine.Yes && l.Skew.Compared > 0
}

// inUse reports that the kernel of the watched machine keeps time with the very counter.
func (l *Live) inUse() bool {
	return l.Current == l.Counter || isTSC(l.Current) && isTSC(l.Counter)
}

// liveRate judges the rate. A reference that is computed from the counter proves nothing.
func (x *examination) liveRate(l *Live) {
	s := &l.Skew
	beyond := math.Abs(float64(s.Beyond)) - float64(l.Doubt)
	if l.Independent == machine.No || s.Compared == 0 || beyond <= crystalPPM && s.Condemned == 0 {
		return
	}
	proof := Proof{Source: liveSource, Text: skewText(l)}
	if l.Independent == machine.Yes && s.steady() && math.Abs(float64(s.Mean))-float64(s.Noise+l.Doubt) > crystalPPM {
		text := fmt.Sprintf("measured now: %s and %s differ by the same %.4g ppm at each of %s, which is a wrong rate", l.Counter, l.Reference, float64(s.Mean), count(s.Compared, "comparison"))
		if !isTSC(l.Counter) {
			x.findAs(Warning, "arch-drift", text, proof)
			return
		}
		x.findAs(Critical, "tsc-frequency-wrong", text, proof)
		x.outweigh(l, Bad)
		return
	}
	text := fmt.Sprintf("measured now: %s and %s differ by up to %.4g ppm, more than their reading explains; which of them is wrong this does not tell", l.Counter, l.Reference, float64(s.Beyond))
	if l.Independent != machine.Yes {
		text += ", and " + l.Reference + " may not be independent of the counter"
	}
	x.findAs(Warning, "skew-now", text, proof)
	x.outweigh(l, Undecided)
	if x.verdict == Undecided {
		x.lack("second-witness")
	}
}

// steady reports the same error at every comparison, to 2 % and 20 ppm as for the
// checks of a log, and to what reading adds.
func (s *LiveSkew) steady() bool {
	spread := float64(s.Greatest - s.Least)
	return s.Compared >= 2 && float64(s.Least)*float64(s.Greatest) > 0 &&
		spread <= 0.02*math.Abs(float64(s.Mean))+20+2*float64(s.Noise)
}

// liveLatency warns of read-backs that the era decided on for being slow, where
// nothing that only happens to programs explains them.
func (x *examination) liveLatency(l *Live) {
	y := &l.Latency
	if y.Condemned+y.Skipped+y.TimedOut == 0 {
		return
	}
	var did []string
	add := func(n uint64, what string) {
		if n > 0 {
			did = append(did, fmt.Sprintf("%s at %d", what, n))
		}
	}
	add(y.Condemned, "give the clock up")
	add(y.Skipped, "skip the check")
	add(y.TimedOut, "let the check time out")
	severity := Info
	if x.slowReadsCost() {
		severity = Warning
	}
	text := fmt.Sprintf("read-backs of %s are slow now: the rules of era %s %s of %s, and neither a lost turn nor an interrupt of the program explains that",
		l.Reference, l.Era, strings.Join(did, " and "), count(l.Checks, "check"))
	if severity == Info && y.Condemned > 0 {
		switch {
		case !x.ruledBy(l):
			text += "; the kernel that is judged has other rules"
		case x.kernel.LatencyCanCondemn == machine.No:
			text += "; this kernel's watchdog does not guard the TSC, which is not at stake"
		default:
			text += "; whether slow reads can cost this kernel its TSC is not known"
		}
	}
	x.findAs(severity, "slow-read-backs", text, Proof{Source: liveSource, Text: delayText(l)})
}

// slowReadsCost reports that reads as slow as those just measured can cost this kernel its TSC.
func (x *examination) slowReadsCost() bool {
	l := x.ev.Live
	return l.Latency.Condemned > 0 && x.ruledBy(l) && x.kernel.LatencyCanCondemn == machine.Yes
}

// ruledBy reports that the kernel that is judged may have the rules by which the counters were watched.
func (x *examination) ruledBy(l *Live) bool { return slices.Contains(x.kernel.EraCandidates, l.Era) }

// liveSummary says in a sentence what was watched and what that shows, no more.
func (x *examination) liveSummary(l *Live) string {
	parts := []string{l.rateText(), l.orderText(), l.lateText()}
	text := fmt.Sprintf("the rules of era %s ran over the live counters for %s: %s", l.Era, seconds(l.Elapsed), strings.Join(parts, "; "))
	if l.Ended != "duration" {
		text += "; it was stopped before its end"
	}
	if other := x.unameRelease(); l.Kernel != "" && other != "" && other != l.Kernel {
		text += "; this machine runs " + l.Kernel + ", and the other evidence is of " + other
	}
	return text
}

// unameRelease is what uname -r says on the machine of the snapshot or the log, "" if neither tells.
func (x *examination) unameRelease() string {
	if s := x.ev.Snapshot; s != nil && s.Kernel.Release != "" {
		return s.Kernel.Release
	}
	if words := strings.Fields(x.lastFacts.version); len(words) > 2 && words[0] == "Linux" && words[1] == "version" {
		return words[2]
	}
	return ""
}

// rateText tells of the comparison with the reference.
func (l *Live) rateText() string {
	s := &l.Skew
	switch {
	case l.Independent == machine.No:
		return fmt.Sprintf("%s is computed from %s, so that its rate was not checked", l.Reference, l.Counter)
	case s.Compared == 0:
		return fmt.Sprintf("no two read-backs of %s came in time to be compared", l.Reference)
	}
	text := fmt.Sprintf("%s and %s differ by %.2g ppm over %s", l.Counter, l.Reference, float64(s.Mean), count(s.Compared, "comparison"))
	if l.Independent != machine.Yes {
		text += ", and " + l.Reference + " may not be independent of it"
	}
	return text
}

// orderText tells of the comparison of CPUs.
func (l *Live) orderText() string {
	e := &l.Exchanges
	switch {
	case e.Backwards > 0:
		return fmt.Sprintf("the CPUs disagree in %d of %s", e.Backwards, count(e.Made, "comparison"))
	case e.Completed > 0:
		return "the CPUs agree in " + count(e.Completed, "comparison")
	case e.Failed > 0:
		return "the CPUs could not be compared: " + e.Why
	case e.Made > 0:
		return "no comparison of CPUs came to its end"
	}
	return "no two CPUs were compared"
}

// lateText tells of late read-backs by cause.
func (l *Live) lateText() string {
	d := &l.Delays
	all := d.Preempted + d.Interrupted + d.Unexplained
	if all == 0 {
		return "no read-back was late"
	}
	text := count(all, "late read-back")
	users := d.Preempted + d.Interrupted
	switch {
	case users == all:
		return text + ", while the program lost its turn or was interrupted, which tells nothing of the kernel's reads"
	case !d.InterruptsCounted:
		return text + ", perhaps through interrupts, which could not be counted"
	case users > 0:
		return text + fmt.Sprintf(", %d of them while the program lost its turn or was interrupted", users)
	}
	return text
}

// liveProofs are the numbers behind the sentence.
func liveProofs(l *Live) []Proof {
	worth := map[machine.Answer]string{machine.Yes: "independent", machine.No: "not independent"}[l.Independent]
	if worth == "" {
		worth = "perhaps not independent"
	}
	var kinds []string
	for kind, n := range l.Kinds {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	e := &l.Exchanges
	lines := []string{
		fmt.Sprintf("era %s: %s", l.Era, l.EraWhy),
		fmt.Sprintf("reference %s, %s of %s: %s", l.Reference, worth, l.Counter, l.IndependentWhy),
		delayText(l),
		fmt.Sprintf("%s: %s; %s of CPUs, %d to the end, %d backwards", count(l.Checks, "check"), strings.Join(kinds, ", "), count(e.Made, "comparison"), e.Completed, e.Backwards),
	}
	if l.Skew.Compared > 0 && l.Independent != machine.No {
		lines = append(lines, skewText(l))
	}
	var proofs []Proof
	for _, text := range lines {
		proofs = append(proofs, Proof{Source: liveSource, Text: text})
	}
	return proofs
}

func delayText(l *Live) string {
	d := &l.Delays
	text := fmt.Sprintf("read-back delay median %s, p99 %s, max %s of %d; late above %s: %d",
		duration(float64(d.Median)), duration(float64(d.P99)), duration(float64(d.Max)), d.Count, duration(float64(d.Limit)), d.Preempted+d.Interrupted+d.Unexplained)
	if d.Preempted+d.Interrupted+d.Unexplained > 0 {
		text += fmt.Sprintf(" (preempted %d, interrupted %d, unexplained %d)", d.Preempted, d.Interrupted, d.Unexplained)
	}
	return text
}

func skewText(l *Live) string {
	s := &l.Skew
	text := fmt.Sprintf("%s minus %s: mean %.2f ppm, from %.2f to %.2f, largest %s, in %s", l.Counter, l.Reference,
		float64(s.Mean), float64(s.Least), float64(s.Greatest), duration(float64(s.Largest)), count(s.Compared, "comparison"))
	if s.LeftOut > 0 {
		text += fmt.Sprintf(", %d left out", s.LeftOut)
	}
	return text
}

// count writes a number with its word.
func count(n uint64, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.FormatUint(n, 10) + " " + word
}

func seconds(ns clocksource.Nanos) string { return fmt.Sprintf("%.1f s", ns.Seconds()) }
