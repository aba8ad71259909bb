package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/lease"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// The flag that allows a run to switch, and its value where it has none of its own.
const (
	switchName = "switch"
	switchAll  = "all"
)

// switchFlag gives a command --switch, which takes a list behind "=".
func switchFlag(cmd *cobra.Command, sources *[]string) {
	fl := cmd.Flags()
	fl.StringSliceVar(sources, switchName, nil, "measure under each clocksource that the kernel offers, or only =tsc,hpet; the first one is given back at the end, also when this program is killed")
	fl.Lookup(switchName).NoOptDefVal = switchAll
}

// namedSources are those that --switch names, none for all of them.
func namedSources(sources []string) []string {
	if slices.Equal(sources, []string{switchAll}) {
		return nil
	}
	return sources
}

// borrowed is the right to switch the clocksource; tests have their own.
type borrowed interface {
	Old() string
	Current() (string, error)
	Available() ([]string, error)
	Switch(name string) error
	Unguarded() <-chan struct{}
	Close() error
}

// switcher makes other clocksources current for a run, and looks after it.
type switcher struct {
	recover func() (*lease.Recovered, error)
	take    func() (borrowed, error)
	follow  func() (kernelNews, error)
}

// switcherHere switches the running machine.
func switcherHere() switcher {
	return switcher{
		recover: func() (*lease.Recovered, error) { return lease.Recover(lease.Config{}) },
		take:    func() (borrowed, error) { return lease.Take(lease.Config{}) },
		follow:  followKernel,
	}
}

// tidy gives back what a run has left that was killed with its guardian, and says so.
func (s switcher) tidy(env *Env) error {
	r, err := s.recover()
	switch {
	case err != nil || r == nil:
		return err
	case r.Given:
		fmt.Fprintf(env.Stderr, "cswatch: an earlier run was killed and had left %s as the clocksource: %s is current again\n", r.To, r.Current)
	default:
		fmt.Fprintf(env.Stderr, "cswatch: an earlier run was killed and had left %s as the clocksource instead of %s; %s is current by now and stays\n", r.To, r.Old, r.Current)
	}
	return nil
}

// switchWish is what is asked for, and what it may cost.
type switchWish struct {
	sources []string // none: all that the kernel offers
	risk    guard
	accept  bool // the loss of the TSC
}

// refusal is the error of a wish that could cost the machine its TSC.
func (w switchWish) refusal() error {
	if w.risk.answer == machine.No || w.accept {
		return nil
	}
	return fmt.Errorf("switch the clocksource: not done, since latency %s condemn the TSC of this machine, until the next boot: %s. "+
		"A measuring under another clocksource makes such latency. Where that loss is acceptable, add --%s", w.risk.can(), w.risk.why, acceptLoss)
}

// chooser makes a clocksource current. An *lease.IgnoredError of it leaves the run free to go on with others.
type chooser func(name string) error

// during runs something that chooses among the clocksources of the wish, the current one first. It refuses
// before anything is touched; it ends the run's context at the kernel's first complaint, or where the guardian has ended;
// and it gives the old clocksource back. The result tells what was done, nil where nothing was.
func (s switcher) during(ctx context.Context, env *Env, w switchWish, run func(ctx context.Context, sources []string, choose chooser) error) (*report.Switching, error) {
	if err := w.refusal(); err != nil {
		return nil, err
	}
	if err := s.tidy(env); err != nil {
		return nil, err
	}
	l, err := s.take()
	if err != nil {
		return nil, err
	}
	v := &vigil{lease: l, harmless: w.risk.answer == machine.No, doc: &report.Switching{From: l.Old(), After: l.Old(), GivenBack: true}}
	sources, err := v.sources(w.sources)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if v.log, err = s.follow(); err != nil && !v.harmless {
		return nil, errors.Join(err, l.Close())
	}
	err = beside(ctx, v.look, func(ctx context.Context) error { return run(ctx, sources, v.choose) })
	return v.doc, v.end(err)
}

// vigil is what is watched while a run switches.
type vigil struct {
	lease    borrowed
	log      kernelNews // nil: it cannot be followed, and need not
	harmless bool       // latency cannot condemn the TSC here
	offered  []string   // by the kernel, at the beginning
	doc      *report.Switching
}

// sources returns the clocksources to choose among.
func (v *vigil) sources(wanted []string) ([]string, error) {
	var err error
	if v.offered, err = v.lease.Available(); err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		wanted = v.offered
	}
	for i, name := range wanted {
		if !slices.Contains(v.offered, name) {
			return nil, usagef("--switch=%s: the kernel offers only %s", name, strings.Join(v.offered, ", "))
		}
		if slices.Contains(wanted[:i], name) {
			return nil, usagef("--switch=%s: it is named twice", name)
		}
	}
	// The current one first, so that what is measured under it does not come from a machine that was switched.
	sources := slices.Clone(wanted)
	if i := slices.Index(sources, v.doc.From); i > 0 {
		sources = append([]string{v.doc.From}, slices.Delete(sources, i, i+1)...)
	}
	return sources, nil
}

func (v *vigil) choose(name string) error {
	current, err := v.lease.Current()
	if err == nil && current != name {
		err = v.lease.Switch(name)
	}
	if ignored := (*lease.IgnoredError)(nil); errors.As(err, &ignored) && !slices.ContainsFunc(v.doc.Ignored, func(i report.IgnoredSource) bool { return i.Clocksource == name }) {
		v.doc.Ignored = append(v.doc.Ignored, report.IgnoredSource{Clocksource: name, Instead: ignored.Got})
	} else if err == nil && !slices.Contains(v.doc.Sources, name) {
		v.doc.Sources = append(v.doc.Sources, name)
	}
	return err
}

// look is an error where the run must end.
func (v *vigil) look() error {
	select {
	case <-v.lease.Unguarded():
		return lease.ErrUnguarded
	default:
	}
	if v.log == nil {
		return nil
	}
	if !v.harmless {
		return complaint(v.log)
	}
	news, err := v.log.News()
	if err != nil {
		return nil // what can do no harm need not be followed
	}
	return complaintIn(news, func(line string) error {
		v.doc.Lines = append(v.doc.Lines, line)
		return nil
	})
}

// end gives the clocksource back, and finds out whether the TSC was lost.
func (v *vigil) end(err error) error {
	back := v.lease.Close()
	if v.log != nil {
		err = errors.Join(err, v.log.Close())
	}
	after, unread := v.lease.Current()
	offered, unlisted := v.lease.Available()
	v.doc.After, v.doc.GivenBack = after, back == nil && after == lease.Successor(v.doc.From, offered)
	condemned := (*condemnedError)(nil)
	const tsc = "tsc"
	if !errors.As(err, &condemned) && unlisted == nil && slices.Contains(v.offered, tsc) && !slices.Contains(offered, tsc) {
		condemned = &condemnedError{"it is no longer among those that the kernel offers"}
		err = errors.Join(condemned, err)
	}
	if condemned != nil {
		v.doc.Condemned = condemned.line
		if ignored := (*lease.IgnoredError)(nil); errors.As(back, &ignored) {
			back = nil // that is what a condemnation means
		}
	}
	return errors.Join(err, back, unread)
}

// taken makes a clocksource current. It is false for one that the kernel accepts and does not
// take, of which the document tells.
func (c chooser) taken(name string) (bool, error) {
	err := c(name)
	if ignored := (*lease.IgnoredError)(nil); errors.As(err, &ignored) {
		return false, nil
	}
	return err == nil, err
}

// benchmark completes the command of a benchmark that may switch: its exit codes, and its run until a signal.
func benchmark(cmd *cobra.Command, env *Env, switches *bool, run func(context.Context, *Env) error) {
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "it was measured, whatever was found"},
		{ExitFailed, "what was asked could not be done, or not to its end"},
		{ExitUsage, "the command line is wrong"},
		{ExitClockChanged, "the kernel changed its clocksource under the run, or condemned its TSC"},
	}})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		*switches = cmd.Flags().Changed(switchName)
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		return run(ctx, env)
	}
}

// outcome is the error with which a benchmark ends that has shown what it measured.
func outcome(name, ended string, err error) error {
	switch ended {
	case report.BenchSignal:
		return fmt.Errorf("%s: it was stopped, and shows what it had measured until then", name)
	case report.BenchChanged, report.BenchCondemned:
		return &ExitError{Code: ExitClockChanged, Err: err}
	}
	return err
}

// endOf is the word for how a benchmark ended that may have switched.
func endOf(ctx context.Context, err error) string {
	condemned := (*condemnedError)(nil)
	switch {
	case errors.As(err, &condemned):
		return report.BenchCondemned
	case errors.Is(err, errKernelComplains):
		return report.BenchKernelLog
	case err != nil && ctx.Err() != nil:
		return report.BenchSignal
	case err != nil:
		return report.BenchFailed
	}
	return report.BenchDone
}
