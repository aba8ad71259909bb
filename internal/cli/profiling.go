package cli

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/internal/report"
)

// profilePlan says what to profile beside what is done meanwhile.
type profilePlan struct {
	// inputs are echoed, and all of them but the length shape the profile.
	inputs report.ProfileInputs
	// own is set where the samples of this program are wanted: it is at work itself.
	own bool
	// child is set where the processes are this program's own children.
	child bool
}

// profileSession is a profile being taken: a *perf.Session, or that of a test.
type profileSession interface {
	Start() error
	Stop() (*perf.Profile, error)
	Close()
	Ended() <-chan struct{}
}

// profiler takes profiles. The zero value cannot: see profilerHere.
type profiler struct {
	open    func(perf.Config) (profileSession, error)
	sight   func() perf.Sight
	current func() string // the clocksource, "" if not known
}

func profilerHere() profiler {
	return profiler{
		open: func(c perf.Config) (profileSession, error) {
			s, err := perf.Open(c, nil)
			if err != nil {
				return nil, err // not a nil *Session in an interface that is none
			}
			return s, nil
		},
		sight: perf.ReadSight, current: hw.CurrentClocksource,
	}
}

// profiling is a profile that is being taken beside something else.
type profiling struct {
	profiler
	plan    profilePlan
	session profileSession
	doc     *report.ProfileBench
	profile *perf.Profile // after stop
}

// ownProfile is a plan to profile this program, which is at work itself.
func ownProfile() profilePlan {
	const rows = 10
	return profilePlan{own: true, inputs: report.ProfileInputs{Event: autoEvent, Frequency: perf.DefaultFrequency, Top: rows}}
}

// config returns what to sample. An event that was asked for comes before those that are
// taken where it cannot be had; for a timer these are timers.
func (p profilePlan) config() perf.Config {
	c := perf.Config{
		Target:    perf.Target{All: p.inputs.All, PIDs: p.inputs.PIDs},
		Frequency: p.inputs.Frequency, Chains: p.inputs.Chains,
	}
	asked := perf.Event(p.inputs.Event)
	if asked == "" || asked == autoEvent {
		return c
	}
	c.Events = []perf.Event{asked}
	for _, e := range perf.Events() {
		if e != asked && (asked.Hardware() || !e.Hardware()) {
			c.Events = append(c.Events, e)
		}
	}
	return c
}

// autoEvent asks for the best event that can be had.
const autoEvent = "auto"

// start begins to sample. An error says what is not permitted and how to allow it; then there
// is no profile. Each call ends with one of stop and close.
func (pr profiler) start(plan profilePlan) (*profiling, error) {
	p := &profiling{profiler: pr, plan: plan, doc: plan.document(pr)}
	session, err := pr.open(plan.config())
	if err != nil {
		return nil, sayProgram(err)
	}
	p.session = session
	p.doc.Clocksource = pr.current()
	if err := session.Start(); err != nil {
		session.Close()
		return nil, err
	}
	return p, nil
}

// document returns the document of a profile before its first sample.
func (p profilePlan) document(pr profiler) *report.ProfileBench {
	d := &report.ProfileBench{Inputs: p.inputs, Restrictions: perf.Restrictions(pr.sight(), p.config())}
	d.Restrictions = slices.DeleteFunc(d.Restrictions, func(r perf.Restriction) bool {
		return p.child && r.ID == "process-of-others"
	})
	for i := range d.Restrictions {
		d.Restrictions[i].HowToAllow = withProgram(d.Restrictions[i].HowToAllow)
	}
	return d
}

// stop ends the sampling and returns the document, which lacks how it ended unless the clocksource changed.
func (p *profiling) stop() (*report.ProfileBench, error) {
	defer p.session.Close()
	profile, err := p.session.Stop()
	if err != nil {
		return nil, err
	}
	p.profile = profile
	p.doc.Sampled(profile, p.leftOut())
	p.doc.ClocksourceAfter = p.current()
	if p.doc.Clocksource != p.doc.ClocksourceAfter {
		p.doc.Ended = report.BenchChanged
	}
	return p.doc, nil
}

// leftOut is the process whose samples do not count, 0 for none: this one, unless it is at work itself.
func (p *profiling) leftOut() int {
	if p.plan.own {
		return 0
	}
	return os.Getpid()
}

// folded writes the call chains of busy CPUs, after stop.
func (p *profiling) folded(w io.Writer) error {
	busy, _ := p.profile.Busy()
	if own := p.leftOut(); own != 0 {
		busy = busy.Without(own)
	}
	return busy.WriteFolded(w)
}

// close ends the sampling without a result.
func (p *profiling) close() { p.session.Close() }

// beside does some work with a profile beside it. Where none can be taken the work is done
// all the same, and the document says why there is no profile.
func (pr profiler) beside(plan profilePlan, work func()) *report.ProfileBench {
	p, err := pr.start(plan)
	if err != nil {
		work()
		return plan.notTaken(pr, err)
	}
	done := false
	defer func() {
		if !done { // the work panicked
			p.close()
		}
	}()
	work()
	done = true
	doc, err := p.stop()
	if err != nil {
		return plan.notTaken(pr, err)
	}
	if doc.Ended == "" {
		doc.Ended = report.BenchDone
	}
	return doc
}

func (p profilePlan) notTaken(pr profiler, err error) *report.ProfileBench {
	d := p.document(pr)
	why := err.Error()
	var refused *perf.Refused
	if errors.As(err, &refused) {
		why = perf.Got(refused.Attempts) // the restrictions are in a list of their own
	}
	d.NotSampled(why)
	return d
}

// refusedHere is a refusal with the name of this program in what to do.
type refusedHere struct{ err error }

func (e *refusedHere) Error() string { return withProgram(e.err.Error()) }
func (e *refusedHere) Unwrap() error { return e.err }

func sayProgram(err error) error {
	var refused *perf.Refused
	if errors.As(err, &refused) {
		return &refusedHere{err}
	}
	return err
}

// withProgram puts this program where advice has a placeholder for it.
func withProgram(text string) string {
	path, err := os.Executable()
	if err != nil {
		return text
	}
	return strings.ReplaceAll(text, " PROGRAM", " "+shellWord(path))
}

// shellWord quotes a word for a shell where it must be.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
