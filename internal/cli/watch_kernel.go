package cli

import (
	"regexp"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// kernelText writes what a kernel of the era would log on this machine: the
// watchdog's own lines, and what the framework of clocksources does after a verdict.
type kernelText struct {
	clock    string // that is watched
	printer  *klog.Printer
	registry clocksource.Registry
}

// newKernelText makes a kernel of the era's release that runs on this machine's
// current clocksource and has the clocks that its own kernel has.
func newKernelText(setup watchdog.Setup, release string, hz int, s *machine.Snapshot) *kernelText {
	k := &kernelText{
		clock: setup.Watched[0].Name, printer: klog.NewPrinter(setup), registry: clocksource.NewRegistry(rulesOf(setup.Profile, release)),
	}
	r := &k.registry
	switch {
	case setup.OtherArch:
		r.Sched.Source = clocksource.SchedNone
	case s.Hypervisor.Name == "kvm" && hasClock(s, "kvm-clock") || hasClock(s, "xen"):
		r.Sched.Source = clocksource.SchedParavirtual
	}
	// None of this is shown: it was logged when the machine was booted.
	register := func(c clocksource.Source, err error) {
		if err == nil {
			_, _ = r.Register(c) // a clock that this release does not know is one less to fall back to
		}
	}
	register(r.Rules.RefinedJiffies(hz))
	register(r.Rules.Jiffies(hz))
	for _, name := range s.Clocksource.Available {
		if name != setup.Watched[0].Name {
			register(r.Rules.Source(name, rateOf(name, &setup)))
		}
	}
	watched := &setup.Watched[0]
	if watched.Name == "tsc" {
		register(r.Rules.TSC(2_000_000, watched.Calibrated), nil) // no line shows its rate
	} else {
		register(r.Rules.Source(watched.Name, 0))
	}
	if setup.Current != "" {
		r.SetOverride(setup.Current)
	}
	r.BootDone()
	for range 2 { // the thread selects anew where a first good check allowed that
		for _, c := range r.Sources {
			r.SetReady(c.Name)
			r.GrantHRES(c.Name)
		}
		r.RunPending()
	}
	if setup.Current == watched.Name {
		r.SetOverride("") // it only led here; nobody wished for the clock
	}
	r.SetOneshot(r.CanOneshot())
	r.LateInit()
	return k
}

// rateOf is the rate of a clock, as far as the watch knows it; 0 for the usual one.
func rateOf(name string, setup *watchdog.Setup) clocksource.Hz {
	if c := setup.Reference; c.Name == name && c.Conversion.Mult > 0 {
		return c.Conversion.Frequency()
	}
	if name == "hpet" {
		return 14_318_180
	}
	return 0
}

func hasClock(s *machine.Snapshot, name string) bool {
	return s.Clocksource.Current == name || slices.Contains(s.Clocksource.Available, name)
}

// firstRelease finds the release with which an era begins.
var firstRelease = regexp.MustCompile(`[0-9]+\.[0-9]+(\.[0-9]+)?`)

// rulesOf returns the rules of a release, or of the first of the era where it is named by its id.
func rulesOf(p watchdog.Profile, release string) clocksource.Rules {
	r, err := watchdog.ParseRelease(release)
	if err != nil {
		r, err = watchdog.ParseRelease(firstRelease.FindString(p.Releases))
	}
	if err != nil { // a design that was never released: the newest rules that it can have stood on
		r = watchdog.Release{Major: 7, Minor: 0}
	}
	return clocksource.RulesAt(r.Major, r.Minor, r.Patch)
}

// tick returns the lines of a tick, in the kernel's order. The numbers of sched_clock
// are not known here, so its last line is left out.
func (k *kernelText) tick(t *live.Tick) []klog.Line {
	var lines []klog.Line
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		lines = append(lines, k.printer.Verdict(v)...)
		if v.Kind.Condemns() {
			lines = append(lines, k.after(t)...)
		}
	}
	return lines
}

// after returns what follows a verdict: the driver's word, then a work item of sched_clock, then
// the thread that asks other CPUs and selects another clock.
func (k *kernelText) after(t *live.Tick) []klog.Line {
	effects := append(k.registry.MarkUnstable(k.clock), k.registry.RunPending()...)
	var lines []klog.Line
	asked := false
	for i := range effects {
		if effects[i].Kind == clocksource.EffectVerifyNeeded && t.Verification != nil {
			lines, asked = append(lines, k.printer.Verification(&t.Verification.Verification)...), true
			continue
		}
		lines = append(lines, klog.EffectLines(effects[i:i+1], &k.registry.Rules, event.Opt[event.Sched]{})...)
	}
	if t.Verification != nil && !asked {
		lines = append(lines, k.printer.Verification(&t.Verification.Verification)...)
	}
	return lines
}
