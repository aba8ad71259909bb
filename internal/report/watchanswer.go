package report

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// WatchAnswer is what a watch comes to in a word. The set is closed.
type WatchAnswer string

// The answers.
const (
	AnswerOK        WatchAnswer = "ok"         // compared with an independent reference, and within the limits
	AnswerUndecided WatchAnswer = "undecided"  // nothing was compared, or whether the reference is independent is not known
	AnswerNoVerdict WatchAnswer = "no-verdict" // compared with a reference that is computed from the counter itself
	AnswerNothing   WatchAnswer = "nothing"    // no check was made
	AnswerCondemned WatchAnswer = "condemned"  // the era gave up the counter
	AnswerBad       WatchAnswer = "bad"        // time ran backwards between two CPUs
)

// WatchAnswers returns all of them.
func WatchAnswers() []WatchAnswer {
	return []WatchAnswer{AnswerOK, AnswerUndecided, AnswerNoVerdict, AnswerNothing, AnswerCondemned, AnswerBad}
}

// shown is the word as a person reads it.
func (a WatchAnswer) shown() string { return strings.ToUpper(strings.ReplaceAll(string(a), "-", " ")) }

// answer is what a watch comes to, in a word and in a sentence.
func (d *LiveWatch) answer() (answer WatchAnswer, st style, text string) {
	counter := d.Reference.Counter
	compared := plural(int64(d.Skew.Compared), "comparison", "comparisons")
	switch {
	case d.Exchanges.Backwards > 0:
		return AnswerBad, red, fmt.Sprintf("the %s of two CPUs disagree: time ran backwards in %d of %d comparisons, by %d cycles at least",
			counter, d.Exchanges.Backwards, d.Exchanges.Made, d.Exchanges.Most)
	case d.Condemned != nil:
		text = fmt.Sprintf("era %s condemned %s at its tick %d (%s)", d.Era, counter, d.Condemned.Tick, d.Condemned.Kind)
		switch {
		case d.Condemned.Kind == watchdog.CondemnedDelay:
			text += ": reads were slow in user space, which tells nothing against the counter"
		case d.Reference.Independent != machine.Yes:
			text += ", against a reference that is not known to be independent of it"
		}
		return AnswerCondemned, red, text
	case d.Checks == 0:
		return AnswerNothing, yellow, "no check was made"
	case d.Skew.Compared == 0:
		return AnswerUndecided, yellow, plural(int64(d.Checks), "check", "checks") + ", and no comparison among them"
	case d.Reference.Independent == machine.No:
		return AnswerNoVerdict, yellow, fmt.Sprintf("%s with a reference that is computed from %s itself, which tells nothing of its rate; %s", compared, counter, d.beside())
	case d.Reference.Independent != machine.Yes:
		return AnswerUndecided, yellow, fmt.Sprintf("%s, all within the limits of era %s; the reference may not be independent of %s", compared, d.Era, counter)
	}
	return AnswerOK, green, fmt.Sprintf("%s, all within the limits of era %s", compared, d.Era)
}

// beside says what was looked at beside the rate, and what was not.
func (d *LiveWatch) beside() string {
	var done, not []string
	if p, ok := watchdog.ProfileOf(d.Era); ok && p.ReadLimit.Set() && d.Delays.Count > 0 {
		done = append(done, "the latency of reads was checked")
	} else {
		not = append(not, "this era does not check the latency of reads")
	}
	x := &d.Exchanges
	switch {
	case x.Completed > 0:
		done = append(done, plural(int64(x.Completed), "comparison", "comparisons")+" between CPUs showed no fault")
	case x.Made > 0:
		not = append(not, fmt.Sprintf("none of %s between CPUs was answered", plural(int64(x.Made), "comparison", "comparisons")))
	case d.Reference.CPUs.Count() == 1:
		not = append(not, "with one CPU there was none to compare it with")
	default:
		not = append(not, "no two CPUs were compared")
	}
	return strings.Join(append(done, not...), "; ")
}

// guarded says whether a kernel of the era would watch the counter at all.
func (d *LiveWatch) guarded() string {
	text := "could not tell whether a kernel of this era watches the TSC here"
	switch d.TSCWatched {
	case machine.Yes:
		text = "a kernel of this era watches the TSC here"
	case machine.No:
		text = "a kernel of this era does not watch the TSC here"
	}
	if d.TSCWatchedWhy != "" {
		text += ": " + d.TSCWatchedWhy
	}
	return text
}
