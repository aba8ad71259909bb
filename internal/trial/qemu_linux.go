package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/load"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/qemu/tap"
	"github.com/cswatch/cswatch/internal/store"
)

// QEMU boots real kernels.
type QEMU struct {
	Plan   *campaign.Plan
	Config qemu.Config
	States string // folder for saved states
	// Say is told what takes time before trials begin, if not nil.
	Say func(string)

	accelerator string
	tapped      bool // the plan has delays: every boot is listened to
	kernels     map[string]*kernel
	states      states
	seats       seats
}

// kernel is a kernel of the plan.
type kernel struct {
	qemu.Kernel
	scout Scout // zero unless a cell needs it
}

// endEarly are what ends a trial: a verdict, or that there will be none.
func endEarly() []event.Kind {
	return []event.Kind{event.TSCUnstable, event.TestSkipped, event.BusyReference}
}

// linger is for the kernel to say all of a verdict, and to switch clocks.
const linger = 1500 * time.Millisecond

// Ready prepares QEMU, the guest program and all kernels.
func (q *QEMU) Ready(ctx context.Context, cells []campaign.Cell, earlier []*campaign.Result) error {
	if _, err := q.Config.FindQEMU(); err != nil {
		return err
	}
	program, err := q.Config.FindGuest(ctx)
	if err != nil {
		return err
	}
	q.Config.Guest = program
	q.kernels = map[string]*kernel{}
	q.states.all = map[string]*state{}
	for i := range cells {
		c := &cells[i]
		q.tapped = q.tapped || !c.Delay.None()
		if _, err := load.Parse(c.Load); err != nil {
			return err
		}
		if q.kernels[c.Kernel] == nil {
			k, err := q.prepare(c.Kernel)
			if err != nil {
				return err
			}
			q.kernels[c.Kernel] = k
		}
	}
	for _, r := range earlier {
		if k := q.kernels[r.Trial.Cell.Kernel]; k != nil && r.Kernel.SHA256 != "" && r.Kernel.SHA256 != k.SHA256 {
			return fmt.Errorf("the kernel %s is another one than trial %s had: put that one back, or begin another campaign", r.Trial.Cell.Kernel, r.Trial.ID)
		}
	}
	if err := q.chooseAccelerator(ctx, cells, earlier); err != nil {
		return err
	}
	return q.scoutAll(ctx, cells)
}

// prepare finds a kernel: the file of that name, or the series in the cache.
func (q *QEMU) prepare(name string) (*kernel, error) {
	file := name
	if _, err := os.Stat(name); err != nil {
		cached, cacheErr := q.Config.CachedKernel(name)
		if cacheErr != nil {
			if strings.ContainsAny(name, "/\\") || errors.Is(err, os.ErrPermission) {
				return nil, fmt.Errorf("find the kernel: %w", err)
			}
			return nil, fmt.Errorf("find the kernel %s: it is no file, and %w", name, cacheErr)
		}
		file = cached
	}
	k, err := q.Config.Prepare(file)
	if err != nil {
		return nil, err
	}
	return &kernel{Kernel: k}, nil
}

// chooseAccelerator settles on one for all trials.
func (q *QEMU) chooseAccelerator(ctx context.Context, cells []campaign.Cell, earlier []*campaign.Result) error {
	needsTCG := slices.ContainsFunc(cells, func(c campaign.Cell) bool { return !c.Delay.None() || c.Fault.Restored() })
	q.accelerator = q.Plan.Accelerator
	switch {
	case needsTCG && q.accelerator == qemu.KVM:
		return fmt.Errorf("accelerator %s: delays and steps of the TSC need %s", qemu.KVM, qemu.TCG)
	case needsTCG:
		q.accelerator = qemu.TCG
	case len(earlier) > 0 && earlier[0].Accelerator != "":
		q.accelerator = earlier[0].Accelerator
	case q.accelerator == "" || q.accelerator == "auto":
		chosen, why, err := q.Config.Probe(ctx, qemu.Spec{Kernel: q.kernels[cells[0].Kernel].Source})
		if err != nil {
			return err
		}
		q.accelerator = chosen
		q.say("accelerator %s: %s", chosen, why)
	}
	return nil
}

func (q *QEMU) say(format string, args ...any) {
	if q.Say != nil {
		q.Say(fmt.Sprintf(format, args...))
	}
}

// scoutAll boots the kernels once of which trials need to know more.
func (q *QEMU) scoutAll(ctx context.Context, cells []campaign.Cell) error {
	var needed []string
	for i := range cells {
		c := &cells[i]
		if (!c.Delay.None() || q.tapped || c.Fault.Kind == campaign.Rate) && !slices.Contains(needed, c.Kernel) {
			needed = append(needed, c.Kernel)
		}
	}
	for _, name := range needed {
		k := q.kernels[name]
		var err error
		if k.scout, err = ScoutKernel(ctx, q.Config, k.Source); err != nil {
			return err
		}
		q.say("kernel %s is %s", name, k.scout.Release)
	}
	for i := range cells {
		if c := &cells[i]; !c.Delay.None() {
			p, err := q.kernels[c.Kernel].scout.Profile()
			if err != nil {
				return fmt.Errorf("delays for the kernel %s: %w", c.Kernel, err)
			}
			if p.Read.References() < 2 {
				return fmt.Errorf("delays for the kernel %s: its watchdog (era %s) does not measure how long a read takes", c.Kernel, p.Era)
			}
		}
	}
	return nil
}

// Cost is a slot for an idle guest, and one for each CPU of a busy one.
func (q *QEMU) Cost(t *campaign.Trial, slots int) int {
	if load.Kind(t.Cell.Load).Quiet() && len(q.Plan.Run) == 0 {
		return 1
	}
	return min(t.Cell.CPUs, slots)
}

// Carry carries a trial out.
func (q *QEMU) Carry(ctx context.Context, t *campaign.Trial) (Carried, error) {
	if t.Cell.Fault.Restored() {
		return q.restore(ctx, t)
	}
	return q.boot(ctx, t)
}

// spec is the machine of a cell. Window is that of a boot.
func (q *QEMU) spec(c *campaign.Cell) qemu.Spec {
	k := q.kernels[c.Kernel]
	s := qemu.Spec{
		Kernel: k.Source, Append: slices.Concat(q.Plan.Append, c.Set), CPUs: c.CPUs, Accelerator: q.accelerator, Limit: time.Duration(q.Plan.Limit),
		Plan: guest.Plan{Window: time.Duration(q.Plan.Window), EndOn: endEarly(), Linger: linger},
	}
	if kind := load.Kind(c.Load); !kind.Quiet() {
		s.Plan.Load = kind
	}
	if c.Fault.Kind == campaign.Rate {
		khz := math.Round(float64(k.scout.TSCHz) / 1000 * (1 + c.Fault.PPM/1e6))
		s.Append = append(s.Append, fmt.Sprintf("tsc_early_khz=%.0f", khz))
	}
	return s
}

// inside is where the program of the plan stands in the guest.
const inside = "/cswatch"

// boot carries out a trial that boots.
func (q *QEMU) boot(ctx context.Context, t *campaign.Trial) (c Carried, err error) {
	spec := q.spec(&t.Cell)
	if len(q.Plan.Run) > 0 {
		self, err := os.Executable()
		if err != nil {
			return Carried{}, fmt.Errorf("find this program for the guest: %w", err)
		}
		spec.Files = []qemu.File{{Guest: inside, Host: self, Perm: 0o755}}
		spec.Plan.Run, spec.Plan.Fetch = append([]string{inside}, q.Plan.Run...), q.Plan.Fetch
		spec.MemoryMB = 512 // the program is unpacked into it
	}
	config := q.Config
	var w *Witness
	if q.tapped {
		seat := q.seats.take()
		defer q.seats.leave(seat)
		hold := q.hold(t)
		hold.CPUs, config.CPUs = apart(seat)
		if w, err = NewWitness(hold); err != nil {
			return Carried{}, err
		}
		spec.Extra, config.Observe = w.Args(), w.Observe
	}
	r, err := config.Boot(ctx, spec)
	var counts tap.Counts
	if w != nil {
		var closeErr error
		counts, closeErr = w.Close()
		err = errors.Join(err, closeErr)
	}
	if err != nil {
		return Carried{}, fmt.Errorf("trial %s: %w", t.ID, err)
	}
	c = q.carried(t, &r)
	if r.Hello != nil {
		c.Result.Kernel.Release, c.Result.Kernel.Version = r.Hello.Release, r.Hello.Version
	}
	if r.End != nil {
		c.Result.Clocksource, c.Result.Clocksources = r.End.Clocksource.Current, r.End.Clocksource.Available
		c.Result.LostLog, c.Result.Exit = r.End.LostKmsg, r.End.Exit
		if r.End.Reason == guest.EndTrouble {
			c.Result.Untold = "process 1 could not go on: " + strings.Join(r.Troubles(), "; ")
		}
	}
	if w != nil {
		c.witnessed(w, &fidelity.Boot{CPUs: t.Cell.CPUs}, counts)
	}
	c.nameEra()
	return c, c.judge(r.KernelLog())
}

// hold is what delays the reads of a trial: nothing happens in a trial without
// delays but that the same is listened to.
func (q *QEMU) hold(t *campaign.Trial) *tap.Hold {
	s := &q.kernels[t.Cell.Kernel].scout
	h := &tap.Hold{Address: s.ReadHPET, Model: t.Cell.Delay.Chain(t.Seed)}
	if t.Cell.Delay.On == campaign.OnReference {
		return h
	}
	h.Attempt = 3
	if p, err := s.Profile(); err == nil {
		h.Attempt = p.Read.References()
	}
	return h
}

// ends are the ends of machines.
var ends = map[qemu.Outcome]campaign.End{
	qemu.Done: campaign.EndWhole, qemu.Panicked: campaign.EndPanicked, qemu.Hung: campaign.EndHung,
	qemu.NeverBooted: campaign.EndNeverBooted, qemu.Died: campaign.EndDied, qemu.Stopped: campaign.EndWhole,
}

// carried is what every machine brings.
func (q *QEMU) carried(t *campaign.Trial, r *qemu.Result) Carried {
	c := Carried{Result: campaign.Result{
		Trial: *t, Executor: campaign.InQEMU, Accelerator: q.accelerator, Restored: r.Resumed,
		Kernel: campaign.Kernel{SHA256: r.Kernel.SHA256, Version: r.Kernel.Version},
		End:    ends[r.Outcome], EndWhy: r.Why, Damaged: r.Damaged, Troubles: r.Troubles(),
		BootedNS: int64(r.Booted), WallNS: int64(r.Wall), CPUNS: int64(r.CPU),
	}}
	if r.Load != nil {
		c.Result.Load = fmt.Sprintf("%s, driven for %.1f s: %d loops on %d CPUs, %d reads of the HPET on %d, %d bytes over loopback", r.Load.Kind,
			time.Duration(r.Load.DrivenNS).Seconds(), r.Load.Loops, r.Load.LoopingCPUs, r.Load.Reads, r.Load.ReadingCPUs, r.Load.Bytes)
	}
	add := func(name, text string) {
		if text != "" {
			c.Files = append(c.Files, store.File{Name: name, Data: []byte(text)})
		}
	}
	add(CommandFile, shellWords(r.Command)+"\n")
	add(ConsoleFile, r.Console)
	add(StderrFile, r.Stderr)
	add(OutputFile, r.Output("stdout")+r.Output("stderr"))
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		add("file-"+path.Base(name), string(r.Files[name]))
	}
	return c
}

// shellWords writes a command line as a shell reads it.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// witnessed adds what the kernel's watchdog read.
func (c *Carried) witnessed(w *Witness, b *fidelity.Boot, counts tap.Counts) {
	r := &c.Result
	r.Held, r.Missed = counts.Held, counts.Missed
	b.Release, b.Version = r.Kernel.Release, r.Kernel.Version
	if !w.Began() {
		r.Untold = "the kernel never took its TSC, with which delays begin"
		return
	}
	if err := w.Fill(b); err != nil {
		r.Untold = err.Error()
		return
	}
	if len(b.Checks) == 0 {
		r.Untold = "the watchdog was not seen to check the TSC"
	}
	references := 3
	if p, err := b.Profile(); err == nil {
		references = p.Read.References()
	}
	r.Checks = checksOf(b, references)
}

// checksOf makes delays of the ticks between reads.
func checksOf(b *fidelity.Boot, references int) []campaign.Check {
	var all []campaign.Check
	for i := range b.Checks {
		c := &b.Checks[i]
		check := campaign.Check{AtNS: b.NS(c.Begin - b.Checks[0].Begin), CPU: c.CPU}
		for at := 0; at < len(c.Gaps) && references > 1; at += references {
			check.DelaysNS = append(check.DelaysNS, b.NS(c.Gaps[at]))
			if references > 2 && at+1 < len(c.Gaps) {
				check.ReferenceNS = append(check.ReferenceNS, b.NS(c.Gaps[at+1]))
			}
		}
		all = append(all, check)
	}
	return all
}

// nameEra names the era of the kernel where it is certain.
func (c *Carried) nameEra() {
	k := &c.Result.Kernel
	if p, err := profileOf(k.Release, k.Version); err == nil {
		k.Era = string(p.Era)
	}
}

// states keeps the saved states of a campaign.
type states struct {
	mu  sync.Mutex
	all map[string]*state
}
