package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/qemu/snapshot"
	"github.com/cswatch/cswatch/internal/qemu/tap"
	"github.com/cswatch/cswatch/watchdog"
)

// state is a machine that was saved once its watchdog had checked the TSC several
// times, for all trials of a cell's base.
type state struct {
	once  sync.Once
	err   error
	facts stateFacts
}

// stateFacts is what stands beside a saved state.
type stateFacts struct {
	Kernel  string `json:"kernel_sha256"`
	Release string `json:"release"`
	Version string `json:"version"`
	TSCHz   int64  `json:"tsc_hz"`
	HPETHz  int64  `json:"hpet_hz"`
	Last    uint32 `json:"last_hpet"` // the counter at the check right after which it was saved
	guest.Clocksource
}

// How a machine is saved, after checksBefore checks.
const (
	stateWindow = guest.MaxWindow // goes on in every trial: it never ends
	saveLimit   = 2 * time.Minute
	saveTries   = 6
)

// base returns the saved state of a cell, after saving it if it is not there.
func (q *QEMU) base(ctx context.Context, c *campaign.Cell) (string, *stateFacts, error) {
	base := c.Base()
	id := base.ID()
	q.states.mu.Lock()
	s := q.states.all[id]
	if s == nil {
		s = &state{}
		q.states.all[id] = s
	}
	q.states.mu.Unlock()
	path := filepath.Join(q.States, id+".state")
	s.once.Do(func() { s.err = q.ready(ctx, &base, path, &s.facts) })
	return path, &s.facts, s.err
}

// ready finds a saved state, or boots a machine and saves it.
func (q *QEMU) ready(ctx context.Context, base *campaign.Cell, path string, facts *stateFacts) error {
	sum := q.kernels[base.Kernel].SHA256
	if text, err := os.ReadFile(path + ".json"); err == nil && json.Unmarshal(text, facts) == nil && facts.Kernel == sum && facts.HPETHz > 0 {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	if err := os.MkdirAll(q.States, 0o755); err != nil {
		return fmt.Errorf("save the state of a machine: %w", err)
	}
	var why error
	for try := 1; try <= saveTries; try++ {
		q.say("booting %s, %d CPUs, to save its state", base.Kernel, base.CPUs)
		*facts = stateFacts{Kernel: sum}
		if why = q.save(ctx, base, path, facts); why == nil {
			text, err := json.Marshal(facts)
			if err != nil {
				return err
			}
			return os.WriteFile(path+".json", append(text, '\n'), 0o644)
		}
		if ctx.Err() != nil {
			return why
		}
	}
	return fmt.Errorf("save the state of %s with %d CPUs: %d boots did not come to where its TSC is trusted and checked; the last: %w", base.Kernel, base.CPUs, saveTries, why)
}

// save boots a machine and saves it.
func (q *QEMU) save(ctx context.Context, base *campaign.Cell, path string, facts *stateFacts) error {
	w, err := NewWitness(nil)
	if err != nil {
		return err
	}
	spec := q.spec(base)
	spec.QMP, spec.Limit, spec.Extra, spec.Plan.Window = true, saveLimit, w.Args(), stateWindow
	config := q.Config
	config.Observe = w.Observe
	m, err := config.Start(ctx, spec)
	if err != nil {
		_, closeErr := w.Close()
		return errors.Join(err, closeErr)
	}
	finished := make(chan struct{})
	var r qemu.Result
	var waitErr error
	go func() {
		r, waitErr = m.Wait()
		close(finished)
	}()
	select {
	case <-w.Enough(checksBefore):
		err = m.Save(ctx, path)
	case <-finished:
	}
	m.Kill()
	<-finished
	_, closeErr := w.Close()
	if err = errors.Join(err, waitErr, closeErr); err != nil {
		return err
	}
	events, err := r.Events()
	if err != nil {
		return err
	}
	e := campaign.Evidence{End: ends[r.Outcome], Why: r.Why, Events: events, Clock: "tsc"}
	if j := campaign.Judge(&e); r.Outcome != qemu.Stopped || j.Outcome != campaign.Stable || r.Hello == nil {
		return fmt.Errorf("%s: %s", j.Outcome, r.Why)
	}
	return facts.fill(&r, w, events)
}

// fill takes what trials need to know from the boot that was saved.
func (f *stateFacts) fill(r *qemu.Result, w *Witness, events []event.Event) error {
	f.Release, f.Version, f.TSCHz, f.Clocksource = r.Hello.Release, r.Hello.Version, frequency(events), r.Hello.Clocksource
	for _, s := range r.Records {
		if c := s.Record.Clocksource; c != nil {
			f.Clocksource = *c
		}
	}
	for _, e := range events {
		if e.Kind == event.HPETCounter {
			f.HPETHz = e.FrequencyHz.Value
		}
	}
	if f.TSCHz == 0 || f.HPETHz == 0 {
		return errors.New("its log tells no frequency of the TSC, or none of the HPET")
	}
	f.Last = w.last()
	return nil
}

// last is the latest value that was read.
func (w *Witness) last() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.reads); n > 0 {
		return uint32(w.reads[n-1].Value)
	}
	return 0
}

// restore carries out a trial that goes on from a saved state.
func (q *QEMU) restore(ctx context.Context, t *campaign.Trial) (Carried, error) {
	path, facts, err := q.base(ctx, &t.Cell)
	if err != nil {
		return Carried{}, err
	}
	spec := q.spec(&t.Cell)
	spec.From, spec.Plan.Window = path, stateWindow
	if spec.Limit == 0 { // that of the plan's window, not of the saved machine's
		spec.Limit = time.Minute + 3*time.Duration(q.Plan.Window)
	}
	if f := t.Cell.Fault; f.Kind == campaign.Step {
		spec.Steps = []snapshot.Step{{CPU: f.CPU, Cycles: snapshot.Cycles(f.By, facts.TSCHz)}}
	}
	w, err := NewWitness(nil)
	if err != nil {
		return Carried{}, err
	}
	w.Resumed(time.Now())
	spec.Extra = w.Args()
	config := q.Config
	config.Observe = w.Observe
	// One more than the window has: the first may be cut by the state.
	enough := w.Enough(int(time.Duration(q.Plan.Window)/time.Duration(watchdog.CheckInterval)) + 1)
	r, err := runUntil(ctx, config, spec, enough)
	_, closeErr := w.Close()
	if err = errors.Join(err, closeErr); err != nil {
		return Carried{}, fmt.Errorf("trial %s: %w", t.ID, err)
	}
	c := q.carried(t, &r)
	c.Result.Kernel.Release, c.Result.Kernel.Version = facts.Release, facts.Version
	clock := facts.Clocksource
	for _, s := range r.Records {
		if now := s.Record.Clocksource; now != nil {
			clock = *now
		}
	}
	if r.End != nil {
		clock = r.End.Clocksource
	}
	if r.Outcome == qemu.Stopped {
		c.Result.EndWhy = "its watchdog made as many checks as the window has, or came to a verdict"
	}
	c.Result.Clocksource, c.Result.Clocksources = clock.Current, clock.Available
	b := &fidelity.Boot{CPUs: t.Cell.CPUs, HPET: clocksource.Hz(facts.HPETHz)}
	c.witnessed(w, b, tap.Counts{})
	c.nameEra()
	if err := c.judge(r.KernelLog()); err != nil {
		return Carried{}, err
	}
	c.noticed(b, facts)
	return c, nil
}

// runUntil runs a machine until it ends, or until something is enough.
func runUntil(ctx context.Context, config qemu.Config, spec qemu.Spec, enough <-chan struct{}) (qemu.Result, error) {
	m, err := config.Start(ctx, spec)
	if err != nil {
		return qemu.Result{}, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-enough:
			m.Kill()
		case <-ended:
		}
	}()
	return m.Wait()
}

// noticed says how long the step went unnoticed: from the check before it to the one
// that condemned the TSC, both by the HPET. The last check that had begun before the
// kernel spoke is that one.
func (c *Carried) noticed(b *fidelity.Boot, facts *stateFacts) {
	if !c.Result.Verdict().Noticed() || len(b.Checks) == 0 {
		return
	}
	first, last := &b.Checks[0], &b.Checks[len(b.Checks)-1]
	before := uint64(uint32(first.Begin) - facts.Last) // less than the 43 s that the counter takes at 100 MHz
	c.Result.NoticedNS = event.Some(b.NS(before + last.Begin - first.Begin))
}
