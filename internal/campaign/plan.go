package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// PlanSchema is the schema of a plan's file.
const PlanSchema = "cswatch.campaign/v1"

// Executors of a plan.
const (
	InQEMU    = "qemu" // real kernels
	Simulated = "sim"  // a machine of package sim
)

// Duration is a time that a file writes as Go does: 10s, 300us.
type Duration time.Duration

// UnmarshalText reads a time.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(shortTime(time.Duration(d))), nil }

// MarshalJSON writes nanoseconds, as the keys of documents say.
func (d Duration) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(d), 10), nil }

// UnmarshalJSON reads them.
func (d *Duration) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(string(b), 10, 64)
	*d = Duration(n)
	return err
}

// Plan is what a campaign is to do. The same plan has the same trials, with the
// same ids and seeds, in the same order.
type Plan struct {
	Schema   string `toml:"schema" json:"schema"`
	Name     string `toml:"name,omitempty" json:"name,omitempty"`
	Executor string `toml:"executor" comment:"qemu boots real kernels, sim simulates them" json:"executor"`
	Machine  string `toml:"machine,omitempty" comment:"of sim: a name that cswatch simulate --machine list shows, or that of machine_text" json:"machine,omitempty"`
	// MachineText is the text of a machine that does not come with cswatch.
	MachineText string   `toml:"machine_text,multiline,omitempty" json:"machine_text,omitempty"`
	Seed        uint64   `toml:"seed" json:"seed"`
	Window      Duration `toml:"window" comment:"how long each trial is followed: from process 1 on, or two checks a second from a saved state on" json:"window_ns"`
	// Limit is after how long, in real time, a trial is ended from outside; 0 is a minute and three windows.
	Limit Duration `toml:"limit,omitempty" comment:"after how long, in real time, a trial is ended from outside" json:"limit_ns,omitempty"`
	// Accelerator is tcg, kvm, or auto: KVM if nothing needs TCG and a kernel boots with it.
	Accelerator string   `toml:"accelerator,omitempty" json:"accelerator,omitempty"`
	Append      []string `toml:"append,omitempty" comment:"words for every kernel command line" json:"append,omitempty"`
	// Run is a command of cswatch that runs inside each guest, Fetch files that it leaves.
	Run   []string `toml:"run,omitempty" comment:"a command of cswatch that runs inside every guest" json:"run,omitempty"`
	Fetch []string `toml:"fetch,omitempty" comment:"files of the guest that are kept" json:"fetch,omitempty"`
	// Look is after how many boots of each cell the stopping rules are applied.
	Look     int      `toml:"look,omitempty" comment:"stopping rules are applied each time that so many boots of each cell are done" json:"look,omitempty"`
	Grids    []Grid   `toml:"grid" json:"grids"`
	Searches []Search `toml:"search,omitempty" json:"searches,omitempty"`
}

// Grid is cells: every combination of its lists.
type Grid struct {
	Kernels []string `toml:"kernels" comment:"series from the cache, images, packages; for sim, releases or eras" json:"kernels"`
	Set     []string `toml:"set,omitempty" comment:"NAME=VALUE,VALUE: parameters of the kernel" json:"set,omitempty"`
	CPUs    []int    `toml:"cpus" json:"cpus"`
	Loads   []string `toml:"loads" json:"loads"`
	Delays  []Delay  `toml:"delays" json:"delays"`
	Faults  []Fault  `toml:"faults" json:"faults"`
	Boots   int      `toml:"boots" comment:"of each cell" json:"boots"`
	// UntilWidth stops a cell early when the 95 % interval of its rate is as narrow; 0 does not.
	UntilWidth float64 `toml:"until_width,omitempty" comment:"a cell stops early when its 95 % interval is so narrow" json:"until_width,omitempty"`
}

// Search halves the ratio between a step of the TSC that is noticed and one that
// is not, for each combination of kernels, parameters, CPUs and loads.
type Search struct {
	Kernels []string `toml:"kernels" json:"kernels"`
	Set     []string `toml:"set,omitempty" json:"set,omitempty"`
	CPUs    []int    `toml:"cpus" json:"cpus"`
	Loads   []string `toml:"loads" json:"loads"`
	Fault   string   `toml:"fault" comment:"step, or cpuN for one CPU" json:"fault"`
	Low     Duration `toml:"low" json:"low_ns"`
	High    Duration `toml:"high" json:"high_ns"`
	Ratio   float64  `toml:"ratio" comment:"the search ends when the two are no further apart" json:"ratio"`
	Boots   int      `toml:"boots" comment:"at each amount" json:"boots"`
}

// Bounds of a plan.
const (
	maxCells    = 10_000
	maxBoots    = 1_000_000
	longest     = 24 * time.Hour
	maxPlanSize = 1 << 20
	defaultLook = 10
)

// ReadPlan reads and checks a plan's file.
func ReadPlan(r io.Reader) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPlanSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the plan of a campaign: %w", err)
	}
	if len(text) > maxPlanSize {
		return nil, fmt.Errorf("read the plan of a campaign: it has more than %d bytes", maxPlanSize)
	}
	p := new(Plan)
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(p); err != nil {
		return nil, fmt.Errorf("read the plan of a campaign: %w", located(err))
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// located adds to an error of the library where it is.
func located(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: %q is nothing that a plan has", line, strings.Join(unknown.Errors[0].Key(), "."))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, _ := bad.Position()
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

// Text writes the plan as ReadPlan reads it.
func (p *Plan) Text() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# A campaign of cswatch trial. What stands here is carried out by \"cswatch trial run --plan\".\n")
	if err := toml.NewEncoder(&b).Encode(p); err != nil {
		return nil, fmt.Errorf("write the plan of a campaign: %w", err)
	}
	return b.Bytes(), nil
}

// Validate reports everything that is wrong with the plan.
func (p *Plan) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("plan of a campaign: "+format, args...))
	}
	if p.Schema != PlanSchema {
		bad("schema %q: want %q", p.Schema, PlanSchema)
	}
	if p.Executor != InQEMU && p.Executor != Simulated {
		bad("executor %q: want %s or %s", p.Executor, InQEMU, Simulated)
	}
	if (p.Executor == Simulated) != (p.Machine != "") {
		bad("machine %q: a simulated campaign needs one, a real one has none", p.Machine)
	}
	if p.Executor == Simulated && len(p.Run)+len(p.Fetch) > 0 {
		bad("run or fetch: a simulated machine has no programs")
	}
	if w := time.Duration(p.Window); w < time.Second || w > longest {
		bad("window %v: want 1s to %v", w, longest)
	}
	if l := time.Duration(p.Limit); l < 0 || l > 2*longest {
		bad("limit %v: want up to %v", l, 2*longest)
	}
	if !slices.Contains([]string{"", "auto", "tcg", "kvm"}, p.Accelerator) {
		bad("accelerator %q: want auto, tcg or kvm", p.Accelerator)
	}
	if p.Look < 0 {
		bad("look %d: want the number of boots between two looks", p.Look)
	}
	if len(p.Grids)+len(p.Searches) == 0 {
		bad("it has neither a grid nor a search")
	}
	for i := range p.Grids {
		if err := p.Grids[i].validate(p.Executor); err != nil {
			bad("grid %d: %w", i+1, err)
		}
	}
	for i := range p.Searches {
		if err := p.Searches[i].validate(); err != nil {
			bad("search %d: %w", i+1, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	_, err := p.Cells()
	return err
}

func (g *Grid) validate(executor string) error {
	if g.Boots < 1 || g.Boots > maxBoots {
		return fmt.Errorf("%d boots: want 1 to %d of each cell", g.Boots, maxBoots)
	}
	if !(g.UntilWidth >= 0 && g.UntilWidth < 1) {
		return fmt.Errorf("until_width %v: want the width of an interval, below 1", g.UntilWidth)
	}
	for _, f := range g.Faults {
		if f.Restored() && slices.ContainsFunc(g.Delays, func(d Delay) bool { return !d.None() }) {
			return fmt.Errorf("delays together with the fault %s: delays begin in a boot, and it goes on from a saved state; use a grid for each", f)
		}
		if f.Kind == Restore && executor == Simulated {
			return fmt.Errorf("fault %s: a simulated machine is not saved; leave it out", f)
		}
		if f.CPU >= slices.Max(append([]int{0}, g.CPUs...)) {
			return fmt.Errorf("fault %s: there is no such CPU", f)
		}
	}
	return validateLists(g.Kernels, g.Set, g.CPUs, g.Loads, len(g.Delays), len(g.Faults))
}

func (s *Search) validate() error {
	_, cpu, err := parseWhere(s.Fault)
	switch {
	case err != nil:
		return fmt.Errorf("fault %q: want step or cpuN", s.Fault)
	case cpu >= slices.Max(append([]int{0}, s.CPUs...)):
		return fmt.Errorf("fault %q: there is no such CPU", s.Fault)
	case s.Low <= 0 || s.High <= s.Low || time.Duration(s.High) > longestStep:
		return fmt.Errorf("from %v to %v: want times in order, up to %v", time.Duration(s.Low), time.Duration(s.High), longestStep)
	case !(s.Ratio >= 1.01 && s.Ratio <= 10):
		return fmt.Errorf("ratio %v: want 1.01 to 10", s.Ratio)
	case s.Boots < 1 || s.Boots > maxBoots:
		return fmt.Errorf("%d boots: want 1 to %d at each amount", s.Boots, maxBoots)
	}
	return validateLists(s.Kernels, s.Set, s.CPUs, s.Loads, 1, 1)
}

// validateLists checks what grids and searches share.
func validateLists(kernels, set []string, cpus []int, loads []string, delays, faults int) error {
	if len(kernels) == 0 || len(cpus) == 0 || len(loads) == 0 || delays == 0 || faults == 0 {
		return errors.New("kernels, cpus, loads, delays and faults must have one entry at least; \"none\" is one of the last three")
	}
	for _, k := range kernels {
		if strings.TrimSpace(k) == "" {
			return errors.New("a kernel without a name")
		}
	}
	for _, n := range cpus {
		if n < 1 || n > 255 {
			return fmt.Errorf("%d CPUs: want 1 to 255", n)
		}
	}
	_, err := combinations(set)
	return err
}

// combinations returns every choice of one value for each parameter, the first
// parameter the slowest to change.
func combinations(set []string) ([][]string, error) {
	all := [][]string{nil}
	var seen []string
	for _, text := range set {
		name, values, ok := strings.Cut(text, "=")
		if !ok || name == "" || strings.ContainsAny(text, " \t\n\"\x00") {
			return nil, fmt.Errorf("set %q: want NAME=VALUE,VALUE without blanks", text)
		}
		if slices.Contains(seen, name) {
			return nil, fmt.Errorf("set %q: %s is set twice", text, name)
		}
		seen = append(seen, name)
		var next [][]string
		for _, chosen := range all {
			for value := range strings.SplitSeq(values, ",") {
				next = append(next, append(slices.Clone(chosen), name+"="+value))
			}
		}
		if all = next; len(all) > maxCells {
			return nil, fmt.Errorf("set %q: more than %d combinations", text, maxCells)
		}
	}
	return all, nil
}
