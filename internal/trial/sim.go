package trial

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/load"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/simulate"
	"github.com/cswatch/cswatch/internal/store"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

// Simulated boots a machine of package sim. A kernel is a release, an era, or
// anything that the executor QEMU takes: its version then tells the era.
type Simulated struct {
	Plan    *campaign.Plan
	Machine sim.Model
	Config  qemu.Config

	mu    sync.Mutex
	cells map[string]*sim.Cell
	specs map[string]simulate.Spec
}

// Ready prepares all cells.
func (s *Simulated) Ready(_ context.Context, cells []campaign.Cell, _ []*campaign.Result) error {
	s.cells, s.specs = map[string]*sim.Cell{}, map[string]simulate.Spec{}
	for i := range cells {
		if _, _, err := s.cell(&cells[i]); err != nil {
			return err
		}
	}
	return nil
}

// Cost is one slot.
func (s *Simulated) Cost(*campaign.Trial, int) int { return 1 }

// cell returns the simulated cell of a cell of the plan.
func (s *Simulated) cell(c *campaign.Cell) (*sim.Cell, simulate.Spec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := c.ID()
	if made := s.cells[id]; made != nil {
		return made, s.specs[id], nil
	}
	spec, err := s.spec(c)
	if err == nil {
		s.cells[id], err = spec.Cell()
	}
	if err != nil {
		return nil, spec, fmt.Errorf("simulate the cell %s: %w", c.Key(), err)
	}
	s.specs[id] = spec
	return s.cells[id], spec, nil
}

// lead is how long a simulated machine runs before its TSC goes wrong: as many
// checks as a real one makes before its state is saved.
const lead = checksBefore * watchdog.CheckInterval

func (s *Simulated) spec(c *campaign.Cell) (simulate.Spec, error) {
	if !load.Kind(c.Load).Quiet() {
		return simulate.Spec{}, fmt.Errorf("load %s: a simulated machine has the loads that its text describes; use the load none", c.Load)
	}
	spec := simulate.Spec{Model: s.Machine.WithCPUs(c.CPUs), Retries: -1}
	for _, word := range append(append([]string{}, s.Plan.Append...), c.Set...) {
		n, ok := c.Retries()
		if !ok || !strings.HasPrefix(word, campaign.RetriesParameter+"=") {
			return spec, fmt.Errorf("the parameter %s has no counterpart in a simulated machine; %s has one", word, campaign.RetriesParameter)
		}
		spec.Retries = n
	}
	var err error
	if spec.Profile, spec.Release, err = s.era(c.Kernel); err != nil {
		return spec, err
	}
	m := &spec.Model
	m.Window = m.From + clocksource.Nanos(s.Plan.Window)
	if err := addDelay(m, c.Delay); err != nil {
		return spec, err
	}
	switch f := c.Fault; f.Kind {
	case campaign.Step:
		spec.Fault = sim.Fault{Kind: sim.Step, By: clocksource.Nanos(f.By), On: f.CPU, From: m.From + lead}
		m.Window += lead
	case campaign.Rate:
		spec.Fault = sim.Fault{Kind: sim.Calibration, PPM: f.PPM, On: campaign.AllCPUs}
	}
	return spec, nil
}

// addDelay puts the delays of a cell into the model. One that holds reads itself,
// because it was measured, stands for all delays, and is left out where there are none.
func addDelay(m *sim.Model, d campaign.Delay) error {
	var kept []sim.Process
	own := false
	for _, p := range m.Processes {
		if p.Kind == sim.HeldReads {
			own = true
			if d.None() {
				continue
			}
		}
		kept = append(kept, p)
	}
	m.Processes = kept
	switch {
	case d.None() || own:
		return nil
	case d.On != campaign.OnClock:
		return fmt.Errorf("delay %s: simulated machines hold the read-back of the TSC only", d)
	}
	extra, err := sim.ParseDist(fmt.Sprintf("uniform %s %s", shortTime(d.Low), shortTime(d.High)))
	if d.Low == d.High {
		extra, err = sim.ParseDist("const " + shortTime(d.Low))
	}
	if err != nil {
		return err
	}
	rates := make([]float64, len(m.Phases))
	m.Processes = append(m.Processes, sim.Process{
		Name: "programmed", Kind: sim.HeldReads, Scope: sim.WholeMachine, Rates: rates,
		Extra: extra, Enter: d.In, Leave: d.Out,
	})
	return m.Validate()
}

// shortTime writes a time as package sim reads it.
func shortTime(t time.Duration) string { return fmt.Sprintf("%dns", t.Nanoseconds()) }

// era finds the era of a kernel by its name.
func (s *Simulated) era(name string) (watchdog.Profile, string, error) {
	version, err := s.version(name)
	if err != nil {
		return watchdog.Profile{}, "", err
	}
	if version != "" {
		p, err := profileOf("", version)
		return p, "", err
	}
	candidates, err := watchdog.Resolve(name)
	if err != nil {
		return watchdog.Profile{}, "", err
	}
	c, ok := watchdog.Newest(candidates)
	if !ok {
		return watchdog.Profile{}, "", fmt.Errorf("the kernel %s: no era is known for it", name)
	}
	p, ok := c.Profile()
	if !ok {
		return watchdog.Profile{}, "", fmt.Errorf("the kernel %s: no profile of era %s", name, c.Era)
	}
	release := ""
	if strings.ContainsRune(name, '.') {
		release = name
	}
	return p, release, nil
}

// version returns the version text of a kernel that is here, "" if it is not.
func (s *Simulated) version(name string) (string, error) {
	file := name
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		cached, err := s.Config.CachedKernel(name)
		if err != nil {
			return "", nil
		}
		file = cached
	}
	k, err := s.Config.Prepare(file)
	return k.Version, err
}

// Carry simulates a boot.
func (s *Simulated) Carry(ctx context.Context, t *campaign.Trial) (Carried, error) {
	if err := ctx.Err(); err != nil {
		return Carried{}, context.Cause(ctx)
	}
	began := time.Now()
	cell, spec, err := s.cell(&t.Cell)
	if err != nil {
		return Carried{}, err
	}
	lines, err := spec.Log(t.Seed, uint64(t.Repetition))
	if err != nil {
		return Carried{}, fmt.Errorf("trial %s: %w", t.ID, err)
	}
	out := cell.NewRunner().Boot(t.Seed, uint64(t.Repetition))
	var log strings.Builder
	for _, l := range lines {
		log.WriteString(l.String())
		log.WriteByte('\n')
	}
	clock := "tsc"
	if out.Unstable() {
		clock = spec.Model.Reference
	}
	c := Carried{Result: campaign.Result{
		Trial: *t, Executor: campaign.Simulated, Kernel: campaign.Kernel{Release: spec.Release, Era: string(spec.Profile.Era)},
		End: campaign.EndWhole, EndWhy: "the window passed", Clocksource: clock,
	}}
	c.Files = []store.File{{Name: CommandFile, Data: fmt.Appendf(nil, "machine %s, era %s, %s, seed %d, boot %d\n", spec.Model.Name, spec.Profile.Era, t.Cell.Key(), t.Seed, t.Repetition)}}
	if err := c.judge(log.String()); err != nil {
		return Carried{}, err
	}
	// A log does not show that the checks were suspended to the end if nothing was said of it.
	if out.Unstable() != (c.Result.Outcome == campaign.Unstable) {
		return Carried{}, fmt.Errorf("trial %s: the simulated watchdog decided %s, and its log was read as %s", t.ID, out.Verdict.Kind, c.Result.Outcome)
	}
	c.Result.WallNS = int64(time.Since(began))
	return c, nil
}
