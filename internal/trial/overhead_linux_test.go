package trial

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/store"
)

// bareCommand is the command line of a boot as a script would run it: with an
// initramfs that is there already, nobody reading its records.
type bareCommand struct{ args []string }

func newBareCommand(b *testing.B, c qemu.Config, spec qemu.Spec) bareCommand {
	b.Helper()
	m, err := c.Start(b.Context(), spec)
	if err != nil {
		b.Fatal(err)
	}
	args := slices.Clone(m.Command())
	at := slices.Index(args, "-initrd") + 1
	image, err := os.ReadFile(args[at])
	if err != nil {
		b.Fatal(err)
	}
	args[at] = filepath.Join(b.TempDir(), "initramfs")
	if err := os.WriteFile(args[at], image, 0o644); err != nil {
		b.Fatal(err)
	}
	if _, err := m.Wait(); err != nil {
		b.Fatal(err)
	}
	return bareCommand{args}
}

func (x bareCommand) run(b *testing.B) time.Duration {
	b.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	cmd := exec.Command(x.args[0], x.args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = null, null, []*os.File{null}
	began := time.Now()
	_ = cmd.Run() // the guest ends QEMU with a code of its own
	return time.Since(began)
}

// BenchmarkATrialAgainstTheBareCommand times whole trials, from their begin to their
// outcome on the disk, against the QEMU command that they run: pairs of pairs in the
// order bare, trial, trial, bare. CSWATCH_BENCH_PAIRS says how many; each takes
// about 15 s.
func BenchmarkATrialAgainstTheBareCommand(b *testing.B) {
	pairs, err := strconv.Atoi(os.Getenv("CSWATCH_BENCH_PAIRS"))
	if err != nil || pairs < 2 {
		b.Skip("CSWATCH_BENCH_PAIRS is not set: how many pairs of boots")
	}
	var c qemu.Config
	kernel, err := c.CachedKernel("5.10")
	if err != nil {
		b.Skip(err)
	}
	if c.Guest, err = c.FindGuest(b.Context()); err != nil {
		b.Skip(err)
	}
	p := &campaign.Plan{Schema: campaign.PlanSchema, Executor: campaign.InQEMU, Accelerator: qemu.TCG, Window: campaign.Duration(time.Second), Grids: []campaign.Grid{
		{Kernels: list("5.10"), CPUs: list(2), Loads: list("none"), Delays: list(campaign.Delay{}), Faults: list(campaign.Fault{}), Boots: 2 * pairs},
	}}
	q := &QEMU{Plan: p, Config: c}
	text, err := p.Text()
	if err != nil {
		b.Fatal(err)
	}
	r := Runner{Plan: p, Executor: q, Slots: 1}
	if err := r.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	if r.Store, err = store.Create(filepath.Join(b.TempDir(), "campaign"), "plan.toml", text); err != nil {
		b.Fatal(err)
	}
	defer r.Store.Close()
	if err := r.recall(); err != nil {
		b.Fatal(err)
	}
	trials, err := p.Next(r.known)
	if err != nil {
		b.Fatal(err)
	}
	bare := newBareCommand(b, c, qemu.Spec{Kernel: kernel, Plan: guest.Plan{Window: time.Second, EndOn: endEarly(), Linger: linger}})
	trial := func(n int) time.Duration {
		began := time.Now()
		if err := r.carry(b.Context(), &trials[n]); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	bare.run(b) // the page cache is warm then
	var ratios []float64
	for i := range pairs {
		first := bare.run(b)
		both := trial(2*i) + trial(2*i+1)
		ratios = append(ratios, math.Log(both.Seconds()/(first+bare.run(b)).Seconds()))
	}
	mean, spread := 0.0, 0.0
	for _, x := range ratios {
		mean += x / float64(len(ratios))
	}
	for _, x := range ratios {
		spread += (x - mean) * (x - mean)
	}
	half := 1.96 * math.Sqrt(spread/float64(len(ratios)-1)/float64(len(ratios)))
	b.ReportMetric(math.Exp(mean), "ratio")
	b.ReportMetric(math.Exp(mean-half), "ratio_low")
	b.ReportMetric(math.Exp(mean+half), "ratio_high")
}
