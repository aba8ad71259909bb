package reenact

import (
	"fmt"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/watchdog"
)

// play is a reenactment on its way: the registry, and what the log says.
type play struct {
	profile  watchdog.Profile
	registry clocksource.Registry
	facts    facts
	incident *event.Incident
	byLine   map[int]*event.Event
	verdict  bool // was reached
	printer  *klog.Printer
	watch    *watchdog.Watchdog
	result   Result
}

func newPlay(release watchdog.Release, profile watchdog.Profile, events []event.Event, in *event.Incident) *play {
	p := &play{
		profile: profile, incident: in, byLine: map[int]*event.Event{}, facts: factsOf(events, in),
		registry: clocksource.NewRegistry(clocksource.RulesAt(release.Major, release.Minor, release.Patch)),
		result:   Result{Release: release, Strands: map[Strand]Lines{}},
	}
	if p.facts.paravirtual {
		p.registry.Sched.Source = clocksource.SchedParavirtual
	}
	for i := range events {
		p.byLine[events[i].Source.Line] = &events[i]
	}
	return p
}

// say adds lines of ours, each to its strand.
func (p *play) say(lines []klog.Line) {
	for _, l := range lines {
		strand, _ := strandOf(l.Text)
		s := p.result.Strands[strand]
		s.Ours = append(s.Ours, l)
		p.result.Strands[strand] = s
	}
}

// effects prints what the registry did, and makes the check across CPUs where it asks for that.
func (p *play) effects(effects []clocksource.Effect, sched event.Opt[event.Sched]) {
	for i := range effects {
		if effects[i].Kind == clocksource.EffectVerifyNeeded {
			p.verify()
			continue
		}
		p.say(klog.EffectLines(effects[i:i+1], &p.registry.Rules, sched))
	}
	if p.registry.CanOneshot() {
		p.registry.SetOneshot(true)
	}
}

// next does what must have happened before the kernel printed the line.
func (p *play) next(line int) error {
	if !p.verdict && line >= p.incident.Events[0].Source.Line {
		if err := p.judge(); err != nil {
			return err
		}
	}
	e := p.byLine[line]
	if e == nil {
		return nil
	}
	switch e.Kind {
	case event.Registered:
		return p.register(e)
	case event.SchedStable:
		p.effects(p.registry.LateInit(), e.SchedNS)
	case event.TSCBrokenBIOS:
		p.effects(p.registry.RunSchedClock(), p.facts.schedAfter)
	case event.VerifyStarted, event.VerifyImpossible, event.Switched:
		p.selected(e)
	}
	return nil
}

// selected does what must have happened before a line of a selection.
func (p *play) selected(e *event.Event) {
	if !p.registry.Booted && e.Kind == event.Switched {
		p.effects(p.registry.BootDone(), event.Opt[event.Sched]{})
	}
	if p.registry.ThreadPending {
		p.effects(p.registry.RunThread(), event.Opt[event.Sched]{})
	}
}

// rest does what is left when the log ends.
func (p *play) rest() {
	p.effects(p.registry.RunSchedClock(), p.facts.schedAfter)
	if p.registry.ThreadPending {
		p.effects(p.registry.RunThread(), event.Opt[event.Sched]{})
	}
}

// register registers the clock that the log registers.
func (p *play) register(e *event.Event) error {
	s, err := p.facts.source(e, &p.registry.Rules)
	if err != nil {
		return err
	}
	register := p.registry.Register
	if _, early := p.registry.Source("tsc-early"); early && s.Name == "tsc" {
		register = p.registry.ReplaceTSC
	}
	effects, err := register(s)
	if err != nil {
		return fmt.Errorf("reenact a kernel log, line %d: %w", e.Source.Line, err)
	}
	p.effects(effects, event.Opt[event.Sched]{})
	return nil
}

// judge lets the watchdog come to its verdict, and the registry take it.
func (p *play) judge() error {
	p.verdict = true
	setup := watchdog.Setup{Profile: p.profile, Retries: -1, HZ: p.facts.hz, Current: p.registry.Current}
	var err error
	if setup.Reference, err = p.clock(p.registry.Reference); err != nil {
		return err
	}
	watched, err := p.clock(p.incident.Clock)
	if err != nil {
		return err
	}
	setup.Watched = []watchdog.Clock{watched}
	m, err := newStage(p.incident, &setup)
	if err != nil {
		return err
	}
	if p.watch, err = watchdog.New(setup); err != nil {
		return fmt.Errorf("reenact a kernel log: %w", err)
	}
	p.printer = klog.NewPrinter(setup)
	var state watchdog.State
	online := watchdog.AllCPUs(p.facts.cpus)
	p.watch.Start(&state, 0, online)
	var verdicts []watchdog.Verdict
	for range 2 { // the first tick takes the saved pair
		m.tick++
		cpu := state.CPU
		if c, known := p.incident.CPU.Get(); known && m.tick == 2 {
			cpu = int(c)
		}
		verdicts = p.watch.Step(&state, watchdog.Tick{Now: state.Expiry, CPU: cpu, Online: online}, m, verdicts[:0])
		for i := range verdicts {
			p.say(p.printer.Verdict(&verdicts[i]))
		}
	}
	p.result.Setup, p.result.Verdict = setup, verdicts[0]
	if verdicts[0].Kind.Condemns() {
		p.effects(p.registry.MarkUnstable(p.incident.Clock), event.Opt[event.Sched]{})
	}
	return nil
}

// clock returns what the watchdog knows of a registered clock.
func (p *play) clock(name string) (watchdog.Clock, error) {
	s, ok := p.registry.Source(name)
	if !ok {
		return watchdog.Clock{}, fmt.Errorf("reenact a kernel log: clocksource %q is not registered before the verdict: give the log from the beginning of its boot", name)
	}
	return watchdog.Clock{
		Name: s.Name, Mask: s.Mask, Conversion: s.Conversion, Margin: s.Margin,
		Continuous: s.Flags.Has(clocksource.IsContinuous), HRES: s.Flags.Has(clocksource.ValidForHRES),
		Calibrated: s.Flags.Has(clocksource.Calibrated), VerifyPerCPU: s.Flags.Has(clocksource.VerifyPerCPU),
	}, nil
}

// verify makes the check across CPUs and prints what it finds.
func (p *play) verify() {
	c := &p.facts.check
	peers := c.peers
	plan := watchdog.VerifyPlan{IDs: p.facts.cpus}
	if len(peers) > 0 {
		drawn := 0
		plan.Random = func(int) int { drawn++; return peers[(drawn-1)%len(peers)] } // the log tells the draw
	}
	v := p.watch.VerifyFrom(0, c.cpu, watchdog.AllCPUs(p.facts.cpus), plan, newRemote(c, &p.result.Setup.Watched[0]))
	p.say(p.printer.Verification(&v))
}
