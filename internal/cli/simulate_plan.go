package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/dispatch"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/simulate"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

// Bounds of a run. Cells are kept in memory, and boots are counted by 64 bits.
const (
	mostCells = 10_000
	mostBoots = 1_000_000_000
	mostJobs  = 1024
)

// simulatePlan is what is to be simulated.
type simulatePlan struct {
	machines []sim.Model
	specs    []simulate.Spec
	search   *sim.Fault // of which the smallest is looked for
	notes    []string   // what the user may not expect
}

// Designs and retries of a curve where none are named: one of each idea, as many as
// a plot can tell apart.
var (
	curveEras    = []string{string(watchdog.E4), string(watchdog.E5), string(watchdog.E6), string(watchdog.E10), string(watchdog.E12), string(watchdog.TipForgive)}
	curveRetries = []int{0, 1, 2, 3, 5, 10, 20, 50}
)

// plan reads the flags.
func (f *simulateFlags) plan() (*simulatePlan, error) {
	in := &f.inputs
	if err := f.check(); err != nil {
		return nil, err
	}
	p := &simulatePlan{}
	for _, name := range in.Machines {
		m, err := openMachine(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.machines, func(o sim.Model) bool { return o.Name == m.Name }) {
			return nil, usagef("--machine: two machines are called %q; change the line \"machine\" of one", m.Name)
		}
		p.machines = append(p.machines, m)
	}
	if in.Curve && len(in.Eras) == 0 {
		in.Eras = curveEras
	}
	if in.Curve && len(in.Retries) == 0 {
		in.Retries = curveRetries
	}
	watches, err := planWatches(in.Eras, in.Retries, "simulated")
	if err != nil {
		return nil, err
	}
	p.notes = watches.notes
	faults, err := f.faults(p)
	if err != nil {
		return nil, err
	}
	if err := p.cross(watches.watches, in.CPUs, faults); err != nil {
		return nil, err
	}
	return p, f.checkCurve(p)
}

// check finds what is wrong with a flag, or with two together.
func (f *simulateFlags) check() error {
	in := &f.inputs
	switch {
	case len(in.Machines) == 0:
		return usagef("--machine: name at least one; --machine list shows those that come with cswatch")
	case in.Boots < 1 || in.Boots > mostBoots:
		return usagef("--boots %d: want 1 to %d", in.Boots, mostBoots)
	case f.jobs < 0 || f.jobs > mostJobs:
		return usagef("--jobs %d: want 1 to %d, or 0 for the number of CPUs", f.jobs, mostJobs)
	case f.show < -1:
		return usagef("--show %d: want the number of a boot, 0 or more", f.show)
	case in.Smallest != "" && len(in.Faults) > 0:
		return usagef("--smallest searches a fault itself: leave out --fault")
	case in.Smallest != "" && in.Curve:
		return usagef("--smallest and --curve are two questions: ask one at a time")
	case in.Smallest != "" && f.show >= 0:
		return usagef("--show wants --fault with one fault, not --smallest")
	case in.Curve && len(in.Faults) != 1:
		return usagef("--curve needs one fault to detect, such as --fault frequency:+800ppm@10s, got %d", len(in.Faults))
	case f.plot != "" && !in.Curve:
		return usagef("--plot draws what --curve computes: give that, too")
	case f.state != "" && f.show >= 0:
		return usagef("--show simulates one boot: leave out --state")
	}
	for _, n := range in.CPUs {
		if n < 1 {
			return usagef("--cpus %d: want 1 or more", n)
		}
	}
	return nil
}

// faults returns the faults of the grid. Where there is one, the cells without are
// simulated too, for the false positives.
func (f *simulateFlags) faults(p *simulatePlan) ([]sim.Fault, error) {
	if f.inputs.Smallest != "" {
		t, err := simulate.Template(sim.FaultKind(f.inputs.Smallest))
		if err != nil {
			return nil, usagef("--smallest: %w", err)
		}
		p.search = &t
		return []sim.Fault{{}}, nil
	}
	all := []sim.Fault{{}}
	for _, text := range f.inputs.Faults {
		fault, err := sim.ParseFault(strings.TrimSpace(text))
		if err != nil {
			return nil, usagef("--fault: %w", err)
		}
		if !slices.Contains(all, fault) {
			all = append(all, fault)
		}
	}
	if f.show >= 0 && len(all) > 1 {
		all = all[1:]
	}
	return all, nil
}

// cross makes the cells.
func (p *simulatePlan) cross(watches []plannedWatch, cpus []int, faults []sim.Fault) error {
	for _, m := range p.machines {
		sizes := cpus
		if len(sizes) == 0 {
			sizes = []int{m.CPUs}
		}
		for i, n := range sizes {
			if slices.Contains(sizes[:i], n) {
				continue
			}
			for _, fault := range faults {
				if fault.From >= m.Window {
					return usagef("fault %s begins when the %s of machine %s are over", fault, time.Duration(m.Window), m.Name)
				}
				for _, w := range watches {
					p.specs = append(p.specs, simulate.Spec{Model: m.WithCPUs(n), Profile: w.profile, Release: w.release, Retries: w.retries, Fault: fault})
				}
			}
		}
	}
	if len(p.specs) > mostCells {
		return usagef("these are %d cells: want at most %d", len(p.specs), mostCells)
	}
	for i := range p.specs {
		s := p.specs[i]
		if p.search != nil {
			s.Fault = *p.search // that the machine has its CPU or node
		}
		if _, err := s.Cell(); err != nil {
			return usagef("%w", err)
		}
	}
	return nil
}

// checkCurve finds what one chart cannot show.
func (f *simulateFlags) checkCurve(p *simulatePlan) error {
	if !f.inputs.Curve {
		return nil
	}
	designs := map[string]bool{}
	for i := range p.specs {
		s := &p.specs[i]
		designs[fmt.Sprint(s.Profile.Era, s.Release)] = true
		if s.Model.Name != p.specs[0].Model.Name || s.Model.CPUs != p.specs[0].Model.CPUs {
			return usagef("--curve is of one machine with one number of CPUs")
		}
	}
	if f.plot != "" && len(designs) > report.MostCurves {
		return usagef("--plot can tell apart %d designs, and these are %d: name fewer with --era", report.MostCurves, len(designs))
	}
	return nil
}

// parameters are what the result depends on, for a run that goes on later.
func (f *simulateFlags) parameters(env *Env, p *simulatePlan) []dispatch.Parameter {
	var machines, designs []string
	for i := range p.machines {
		text, _ := json.Marshal(p.machines[i]) // numbers and words: it cannot fail
		sum := sha256.Sum256(text)
		machines = append(machines, p.machines[i].Name+" "+hex.EncodeToString(sum[:6]))
	}
	for i := range p.specs {
		s := &p.specs[i]
		design := fmt.Sprintf("%s %s %d", s.Profile.Era, s.Release, s.Retries)
		if !slices.Contains(designs, design) {
			designs = append(designs, design)
		}
	}
	in := &f.inputs
	version := versionOf(env)
	return []dispatch.Parameter{
		{Name: "program", Value: strings.TrimSpace(version.Version + " " + version.Revision)},
		{Name: "seed", Value: strconv.FormatUint(in.Seed, 10)},
		{Name: "number of boots", Value: strconv.FormatUint(in.Boots, 10)},
		{Name: "machine", Value: strings.Join(machines, ", ")},
		{Name: "list of eras and retries", Value: strings.Join(designs, ", ")},
		{Name: "list of CPUs", Value: fmt.Sprint(in.CPUs)},
		{Name: "list of faults", Value: strings.Join(in.Faults, ", ")},
		{Name: "search", Value: in.Smallest},
	}
}

// completeFaultKinds offers what --smallest takes to a shell.
func completeFaultKinds(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
		cobra.CompletionWithDesc(string(sim.Frequency), "all TSCs run off"), cobra.CompletionWithDesc(string(sim.Step), "all TSCs jump"),
		cobra.CompletionWithDesc(string(sim.Drift), "those of node 1 run off"), cobra.CompletionWithDesc(string(sim.Halt), "that of CPU 1 stands for a part of the time"),
		cobra.CompletionWithDesc(string(sim.Calibration), "the kernel takes the frequency for another"),
	}, cobra.ShellCompDirectiveNoFileComp
}
