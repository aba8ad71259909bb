package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/load"
	"github.com/cswatch/cswatch/sim"
)

// trialFlags are the flags that make a plan.
type trialFlags struct {
	file     string
	name     string
	executor *choice
	machine  string
	kernels  []string
	set      []string
	words    []string
	cpus     []int
	loads    []string
	delays   []string
	faults   []string
	boots    int
	controls int
	width    float64
	look     int
	window   time.Duration
	limit    time.Duration
	seed     uint64
	accel    *choice
	run      string
	fetch    []string
	smallest []string
	low      time.Duration
	high     time.Duration
	ratio    float64
}

// add adds the flags.
func (f *trialFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.file, "plan", "", "carry out the plan in `FILE` instead of one that the other flags make")
	fl.StringVar(&f.name, "name", "", "what the campaign is called")
	f.executor = newChoice(campaign.InQEMU, campaign.Simulated)
	fl.Var(f.executor, "executor", "what boots: real kernels in QEMU, or a simulated machine")
	fl.StringVar(&f.machine, "machine", "qemu-skylake", "with --executor sim: a machine that comes with cswatch, or a file")
	fl.StringSliceVar(&f.kernels, "kernel", nil, "kernels: series that scripts/fetch-kernels has fetched, such as 5.10 or 7, images (bzImage, vmlinux), Debian packages")
	fl.StringArrayVar(&f.set, "set", nil, "`NAME=VALUE,VALUE`: values of a kernel parameter, a cell for each; may be given several times")
	fl.StringArrayVar(&f.words, "append", nil, "a `WORD` for every kernel command line; may be given several times")
	fl.IntSliceVar(&f.cpus, "cpus", []int{2}, "numbers of virtual CPUs")
	fl.StringSliceVar(&f.loads, "load", []string{"none"}, "what runs inside: none, cpu, hpet, both, net")
	fl.StringArrayVar(&f.delays, "delay", []string{"none"}, "a `MODEL` of read delays, such as \"always 400us\", \"iid p=0.25 120us..300us\" or \"burst in=0.03 out=0.08 120us..300us\"; may be given several times")
	fl.StringArrayVar(&f.faults, "fault", []string{"none"}, "what is wrong with the TSC: \"step +1ms\", \"cpu1 +300us\", \"rate +50000ppm\"; may be given several times")
	fl.IntVar(&f.boots, "boots", 20, "boots of each cell, at most")
	fl.IntVar(&f.controls, "controls", -1, "boots of each control cell, which has no delay or no step (default --boots)")
	fl.Float64Var(&f.width, "until-width", 0, "stop a cell when the 95 % interval of its rate is so narrow, such as 0.1")
	fl.IntVar(&f.look, "look", 0, "with --until-width: boots of each cell between two looks (default 10)")
	fl.DurationVar(&f.window, "window", 10*time.Second, "how long each boot is followed")
	fl.DurationVar(&f.limit, "limit", 0, "end a boot from outside after this real time (default a minute and three windows)")
	fl.Uint64Var(&f.seed, "seed", 1, "which random numbers are drawn")
	f.accel = newChoice("auto", "tcg", "kvm")
	fl.Var(f.accel, "accelerator", "how QEMU runs the guests; auto boots one with KVM to find out, where nothing needs tcg")
	fl.StringVar(&f.run, "run", "", "a `COMMAND` of cswatch that runs in every guest, such as \"doctor --format json\"")
	fl.StringSliceVar(&f.fetch, "fetch", nil, "files of the guest that are kept, such as a recording of watch --record")
	fl.StringSliceVar(&f.smallest, "smallest", nil, "search for the smallest fault that is noticed: step, or cpu1 for one CPU")
	fl.DurationVar(&f.low, "low", 20*time.Microsecond, "with --smallest: where the search begins")
	fl.DurationVar(&f.high, "high", 5*time.Millisecond, "with --smallest: where it ends")
	fl.Float64Var(&f.ratio, "ratio", 1.1, "with --smallest: how near the smallest that is noticed and the largest that is not must be")
	registerCompletion(cmd, "load", completeLoads)
	registerCompletion(cmd, "executor", f.executor.complete)
	registerCompletion(cmd, "accelerator", f.accel.complete)
	registerCompletion(cmd, "machine", completeMachines)
}

func completeLoads(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var words []string
	for _, k := range load.Kinds() {
		words = append(words, string(k)+"\t"+k.Sentence())
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// plan makes a plan of the flags, or reads the one that was named.
func (f *trialFlags) plan(cmd *cobra.Command) (*campaign.Plan, error) {
	if f.file == "" {
		return f.made(cmd)
	}
	for _, name := range []string{"kernel", "set", "append", "cpus", "load", "delay", "fault", "boots", "controls", "until-width", "look", "run", "fetch", "smallest", "low", "high", "ratio", "accelerator", "limit"} {
		if cmd.Flags().Changed(name) {
			return nil, usagef("--%s with --plan: change the plan instead; beside it only --executor, --machine, --seed, --window and --name are taken", name)
		}
	}
	file, err := os.Open(f.file)
	if err != nil {
		return nil, fmt.Errorf("open the plan: %w", err)
	}
	defer file.Close()
	p, err := campaign.ReadPlan(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file, err)
	}
	changed := cmd.Flags().Changed
	if changed("executor") {
		p.Executor = f.executor.String()
	}
	if changed("machine") || p.Executor == campaign.Simulated && p.Machine == "" {
		p.Machine, p.MachineText = f.machine, ""
	}
	if changed("seed") {
		p.Seed = f.seed
	}
	if changed("window") {
		p.Window = campaign.Duration(f.window)
	}
	if changed("name") {
		p.Name = f.name
	}
	return p, f.complete(p)
}

// made makes a plan of the flags.
func (f *trialFlags) made(cmd *cobra.Command) (*campaign.Plan, error) {
	if len(f.kernels) == 0 {
		return nil, usagef("name kernels with --kernel, or a plan with --plan")
	}
	p := &campaign.Plan{
		Schema: campaign.PlanSchema, Name: f.name, Executor: f.executor.String(), Seed: f.seed, Window: campaign.Duration(f.window), Limit: campaign.Duration(f.limit),
		Append: f.words, Run: strings.Fields(f.run), Fetch: f.fetch, Look: f.look,
	}
	if p.Executor == campaign.Simulated {
		p.Machine = f.machine
	} else {
		p.Accelerator = f.accel.String()
	}
	if len(f.smallest) == 0 || cmd.Flags().Changed("delay") || cmd.Flags().Changed("fault") || cmd.Flags().Changed("set") {
		if err := f.grids(p); err != nil {
			return nil, err
		}
	}
	for _, where := range f.smallest {
		p.Searches = append(p.Searches, campaign.Search{
			Kernels: f.kernels, CPUs: f.cpus, Loads: f.loads, Fault: where,
			Low: campaign.Duration(f.low), High: campaign.Duration(f.high), Ratio: f.ratio, Boots: f.boots,
		})
	}
	return p, f.complete(p)
}

// grids adds the cells that were asked for, and their controls.
func (f *trialFlags) grids(p *campaign.Plan) error {
	g := campaign.Grid{Kernels: f.kernels, Set: f.set, CPUs: f.cpus, Loads: f.loads, Boots: f.boots, UntilWidth: f.width}
	for _, text := range f.delays {
		d, err := campaign.ParseDelay(text)
		if err != nil {
			return usagef("--delay: %w", err)
		}
		g.Delays = append(g.Delays, d)
	}
	for _, text := range f.faults {
		v, err := campaign.ParseFault(text)
		if err != nil {
			return usagef("--fault: %w", err)
		}
		g.Faults = append(g.Faults, v)
	}
	p.Grids = append(p.Grids, g)
	control := g
	control.Set, control.UntilWidth, control.Delays, control.Faults = nil, 0, []campaign.Delay{{}}, []campaign.Fault{{}}
	if control.Boots = f.controls; f.controls < 0 {
		control.Boots = f.boots
	}
	if control.Boots == 0 {
		return nil
	}
	delayed := slices.ContainsFunc(g.Delays, func(d campaign.Delay) bool { return !d.None() })
	if delayed && !slices.Contains(g.Delays, campaign.Delay{}) {
		p.Grids = append(p.Grids, control)
	}
	restore := campaign.Fault{Kind: campaign.Restore, CPU: campaign.AllCPUs}
	if slices.ContainsFunc(g.Faults, campaign.Fault.Restored) && !slices.Contains(g.Faults, restore) && p.Executor == campaign.InQEMU {
		control.Faults = []campaign.Fault{restore}
		p.Grids = append(p.Grids, control)
	}
	return nil
}

// complete makes the plan independent of where it was made: machines by their text,
// kernels that are files by their whole path.
func (f *trialFlags) complete(p *campaign.Plan) error {
	if p.Executor == campaign.InQEMU {
		p.Machine, p.MachineText = "", ""
	} else if p.MachineText == "" && !slices.Contains(sim.BuiltinNames(), p.Machine) {
		if _, err := openMachine(p.Machine); err != nil {
			return err
		}
		text, err := os.ReadFile(p.Machine)
		if err != nil {
			return fmt.Errorf("read the machine: %w", err)
		}
		p.MachineText = string(text)
	}
	whole := func(names []string) []string {
		out := slices.Clone(names)
		for i, name := range out {
			if st, err := os.Stat(name); err == nil && st.Mode()&fs.ModeDir == 0 {
				if abs, err := filepath.Abs(name); err == nil {
					out[i] = abs
				}
			}
		}
		return out
	}
	for i := range p.Grids {
		p.Grids[i].Kernels = whole(p.Grids[i].Kernels)
	}
	for i := range p.Searches {
		p.Searches[i].Kernels = whole(p.Searches[i].Kernels)
	}
	if err := p.Validate(); err != nil {
		return &usageError{err: err}
	}
	return nil
}
