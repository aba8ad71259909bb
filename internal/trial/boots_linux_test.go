package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/store"
)

// realConfig skips the test where no kernel can be booted.
func realConfig(t *testing.T, series ...string) qemu.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped by -short: boots kernels")
	}
	var c qemu.Config
	unavailable := func(err error) {
		var missing *qemu.UnavailableError
		if errors.As(err, &missing) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.FindQEMU()
	unavailable(err)
	_, err = c.FindGuest(t.Context())
	unavailable(err)
	for _, s := range series {
		_, err := c.CachedKernel(s)
		unavailable(err)
	}
	return c
}

// allSeries are the kernels that are booted: all with CSWATCH_TEST_LONG.
func allSeries() []string {
	if os.Getenv("CSWATCH_TEST_LONG") != "" {
		return []string{"5.10", "6.1", "6.12", "7.0", "7"}
	}
	return []string{"5.10", "7"}
}

// tries bounds how often a campaign is carried out on which this machine was too
// busy: a kernel up to 7.0 skips the check then, or condemns what is good.
const tries = 5

// campaignOf carries out a plan, and returns its results.
func campaignOf(t *testing.T, c qemu.Config, p *campaign.Plan) []*campaign.Result {
	t.Helper()
	p.Schema, p.Executor, p.Accelerator, p.Seed = campaign.PlanSchema, campaign.InQEMU, qemu.TCG, 1
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "campaign")
	s := newStore(t, p, dir)
	r := Runner{Plan: p, Store: s, Slots: 1, Executor: &QEMU{Plan: p, Config: c, States: filepath.Join(dir, store.Scratch), Say: func(text string) { t.Log(text) }}}
	if err := r.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	results, err := Results(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verifyAll(t, dir, len(results))
	for _, r := range results {
		t.Logf("%s: %s %s: %s (%s), %d checks, held %d, %.1f s", r.Trial.Cell.Key(), r.Outcome, r.Cause, r.Why, r.EndWhy, len(r.Checks), r.Held, float64(r.WallNS)/1e9)
	}
	return results
}

func list[T any](v ...T) []T { return v }

func delay(t *testing.T, text string) campaign.Delay {
	t.Helper()
	d, err := campaign.ParseDelay(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fault(t *testing.T, text string) campaign.Fault {
	t.Helper()
	f, err := campaign.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A delay of every read-back condemns the TSC of 5.10, however good it is, as soon as
// it has no retry left; 7.3 gives up reading and never condemns. Without retries the
// first attempt of a check decides, for which the tap waits: on a busy machine it may
// come too late for the ones behind it. What a busy machine adds itself can only
// skip or condemn.
func TestBootsAConstantDelayThatCostsAKernelItsTSC(t *testing.T) {
	c := realConfig(t, "5.10", "7")
	retries := []int{0}
	if os.Getenv("CSWATCH_TEST_LONG") != "" {
		retries = append(retries, 3) // wants a quiet machine
	}
	always := list(delay(t, "always 400us"))
	plan := campaign.Plan{Window: campaign.Duration(5 * time.Second), Grids: []campaign.Grid{
		{Kernels: list("7"), CPUs: list(2), Loads: list("none"), Delays: always, Faults: list(campaign.Fault{}), Boots: 1},
	}}
	for _, n := range retries {
		plan.Grids = append(plan.Grids, campaign.Grid{Kernels: list("5.10"), Set: list(fmt.Sprintf("%s=%d", campaign.RetriesParameter, n)), CPUs: list(2), Loads: list("none"), Delays: always, Faults: list(campaign.Fault{}), Boots: 1})
	}
	for try := 1; ; try++ {
		results := campaignOf(t, c, &plan)
		spoilt := func(r *campaign.Result) bool {
			return !r.Outcome.Decided() || r.Outcome == campaign.Stable && r.Missed > 0 && r.Trial.Cell.Kernel != "7"
		}
		if slices.ContainsFunc(results, spoilt) && try < tries {
			continue
		}
		for _, r := range results {
			delayedBoot(t, r)
		}
		return
	}
}

// delayedBoot checks one boot whose every read-back was to be delayed by 400 us.
func delayedBoot(t *testing.T, r *campaign.Result) {
	t.Helper()
	if r.Held == 0 || len(r.Checks) == 0 || r.Accelerator != qemu.TCG || r.Kernel.Era == "" || r.Kernel.SHA256 == "" {
		t.Errorf("%+v", r)
	}
	retries, ofOld := r.Trial.Cell.Retries()
	if !ofOld {
		if r.Outcome != campaign.Stable {
			t.Errorf("7: %s %s", r.Outcome, r.Cause)
		}
		return
	}
	if r.Verdict() != (campaign.Verdict{Outcome: campaign.Unstable, Cause: campaign.ReadDelay}) || int(r.Attempt.Value) != retries+1 || r.Clocksource != "hpet" {
		t.Fatalf("5.10 with %d retries: %s %s at attempt %d, then %s", retries, r.Outcome, r.Cause, r.Attempt.Value, r.Clocksource)
	}
	last := r.Checks[len(r.Checks)-1]
	if len(last.DelaysNS) != retries+1 || slices.Min(last.DelaysNS) < 100_000 {
		t.Fatalf("the last check read back in %v ns, want %d delays above the kernel's limit of 100 us", last.DelaysNS, retries+1)
	}
	// What the registers show is what the kernel says.
	if said, seen := r.DelayNS.Value, last.DelaysNS[retries]; said-seen > 20 || seen-said > 20 {
		t.Errorf("the kernel says %d ns, its HPET was read %d ns apart", said, seen)
	}
}

// One boot of each kernel, and from there on: nothing wrong, a step of all TSCs, a
// step of one. Every kernel notices a millisecond.
func TestBootsAreRestoredWithStepsThatKernelsNotice(t *testing.T) {
	c := realConfig(t, allSeries()...)
	for try := 1; ; try++ {
		results := campaignOf(t, c, &campaign.Plan{Window: campaign.Duration(2 * time.Second), Grids: []campaign.Grid{
			{Kernels: allSeries(), CPUs: list(2), Loads: list("none"), Delays: list(campaign.Delay{}), Faults: list(fault(t, "restore"), fault(t, "step +1ms")), Boots: 1},
			{Kernels: list("5.10"), CPUs: list(2), Loads: list("none"), Delays: list(campaign.Delay{}), Faults: list(fault(t, "cpu1 +1ms")), Boots: 1},
		}})
		if len(results) != 2*len(allSeries())+1 {
			t.Fatalf("%d trials", len(results))
		}
		spoilt := slices.ContainsFunc(results, func(r *campaign.Result) bool { return r.Outcome != campaign.Stable && !r.Verdict().Noticed() })
		if spoilt && try < tries {
			continue
		}
		for _, r := range results {
			control := r.Trial.Cell.Fault.Kind == campaign.Restore
			if !r.Restored || r.Verdict().Noticed() == control || control && r.Outcome != campaign.Stable {
				t.Errorf("%s: restored %v, %s %s", r.Trial.Cell.Key(), r.Restored, r.Outcome, r.Cause)
			}
			if ns, known := r.NoticedNS.Get(); known == control || known && (ns <= 0 || ns > 5e9) {
				t.Errorf("%s: noticed after %d ns, %v", r.Trial.Cell.Key(), ns, known)
			}
			if control && len(r.Checks) < 4 {
				t.Errorf("%s: %d checks in a window of 4", r.Trial.Cell.Key(), len(r.Checks))
			}
		}
		return
	}
}

// Told a frequency that is 5 % wrong, every kernel condemns its TSC for the skew.
func TestBootsThatAreToldAWrongFrequencyAreNotStable(t *testing.T) {
	if os.Getenv("CSWATCH_TEST_LONG") == "" {
		t.Skip("internal/qemu boots 5.10 and 7 so in every run; set CSWATCH_TEST_LONG=1 for campaigns of all kernels")
	}
	c := realConfig(t, allSeries()...)
	for try := 1; ; try++ {
		results := campaignOf(t, c, &campaign.Plan{Window: campaign.Duration(20 * time.Second), Grids: []campaign.Grid{
			{Kernels: allSeries(), CPUs: list(2), Loads: list("none"), Delays: list(campaign.Delay{}), Faults: list(fault(t, "rate +5%"), fault(t, "rate -5%")), Boots: 1},
		}})
		if slices.ContainsFunc(results, func(r *campaign.Result) bool { return !r.Verdict().Noticed() }) && try < tries {
			continue
		}
		for _, r := range results {
			if !r.Verdict().Noticed() {
				t.Errorf("%s: %s %s", r.Trial.Cell.Key(), r.Outcome, r.Cause)
			}
		}
		return
	}
}

// A kernel that panics and one that never comes up are counted as that.
func TestBootsThatComeToNothingAreNotStable(t *testing.T) {
	c := realConfig(t, "7")
	results := campaignOf(t, c, &campaign.Plan{Window: campaign.Duration(time.Second), Append: list("rdinit=/no/such/program"), Grids: []campaign.Grid{
		{Kernels: list("7"), CPUs: list(1), Loads: list("none"), Delays: list(campaign.Delay{}), Faults: list(campaign.Fault{}), Boots: 1},
	}})
	if r := results[0]; r.Outcome != campaign.Panicked || !strings.HasPrefix(r.Why, "Kernel panic") {
		t.Errorf("%s: %s", r.Outcome, r.Why)
	}
}

// killQEMU kills a QEMU that a process has started, and reports whether there was one.
func killQEMU(parent int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE PARENT ..., the name cut at 15 bytes.
		head, rest, _ := strings.Cut(string(text), ") ")
		pid, command, _ := strings.Cut(head, " (")
		fields := strings.Fields(rest)
		if len(fields) < 2 || !strings.HasPrefix(command, "qemu-system") || fields[1] != strconv.Itoa(parent) {
			continue
		}
		if n, err := strconv.Atoi(pid); err == nil && syscall.Kill(n, syscall.SIGKILL) == nil {
			return true
		}
	}
	return false
}

// QEMU that is killed takes one trial with it: it is lost, and the next goes on.
func TestBootsOfWhichQEMUIsKilledAreLost(t *testing.T) {
	c := realConfig(t, "5.10")
	p := &campaign.Plan{Schema: campaign.PlanSchema, Executor: campaign.InQEMU, Accelerator: qemu.TCG, Window: campaign.Duration(time.Minute), Grids: []campaign.Grid{
		{Kernels: list("5.10"), CPUs: list(2), Loads: list("none"), Delays: list(campaign.Delay{}), Faults: list(campaign.Fault{}), Boots: 1},
	}}
	dir := filepath.Join(t.TempDir(), "campaign")
	s := newStore(t, p, dir)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		// The kernel's parent is this process: no other QEMU is met.
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if killQEMU(os.Getpid()) {
				return
			}
		}
	}()
	r := Runner{Plan: p, Store: s, Slots: 1, Executor: &QEMU{Plan: p, Config: c, States: filepath.Join(dir, store.Scratch)}}
	if err := r.Run(context.Background(), context.Background()); err != nil {
		t.Fatal(err)
	}
	<-killed
	results, err := Results(s)
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if r := results[0]; r.Outcome != campaign.Lost && r.Outcome != campaign.NeverBooted {
		t.Errorf("%s: %s", r.Outcome, r.Why)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	verifyAll(t, dir, 1)
}

// Ten times the runner is killed and ten times a QEMU, in the middle of boots: each
// trial has one outcome, and nothing that had ended changes.
func TestBootsAreLostWithTheirRunnerAndNothingElseIs(t *testing.T) {
	if os.Getenv("CSWATCH_TEST_LONG") == "" {
		t.Skip("takes minutes: set CSWATCH_TEST_LONG=1")
	}
	realConfig(t, "5.10")
	const boots, wanted = 60, 10
	p := &campaign.Plan{Schema: campaign.PlanSchema, Executor: campaign.InQEMU, Accelerator: qemu.TCG, Seed: 1, Window: campaign.Duration(time.Second), Grids: []campaign.Grid{
		{Kernels: list("5.10"), CPUs: list(2), Loads: list("none"), Delays: list(campaign.Delay{}), Faults: list(campaign.Fault{}), Boots: boots},
	}}
	dir := filepath.Join(t.TempDir(), "campaign")
	if err := newStore(t, p, dir).Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 0))
	runners, machines := 0, 0
	seen := map[string]campaign.Judgement{}
	for whole := false; !whole; {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killVariable+"="+dir)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var err error
		for running := true; running; {
			select {
			case err = <-ended:
				running = false
			case <-time.After(time.Duration(500+rng.IntN(3000)) * time.Millisecond):
				switch {
				case runners < wanted && rng.IntN(2) == 0:
					if cmd.Process.Kill() == nil {
						runners++
					}
				case machines < wanted:
					if killQEMU(cmd.Process.Pid) {
						machines++
					}
				}
			}
		}
		if whole = err == nil; !whole && cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		seen = unchanged(t, dir, seen)
	}
	by := map[campaign.Outcome]int{}
	for _, j := range seen {
		by[j.Outcome]++
	}
	t.Logf("the runner was killed %d times, QEMU %d times: %v", runners, machines, by)
	if len(seen) != boots || by[campaign.Lost]+by[campaign.NeverBooted] < machines {
		t.Errorf("%d trials of %d have an outcome: %v", len(seen), boots, by)
	}
	if runners < wanted || machines < wanted {
		t.Errorf("killed too rarely: the campaign is too short")
	}
	verifyAll(t, dir, boots)
}

func TestWhatCannotBeBootedIsSaidBeforeAnythingBegins(t *testing.T) {
	c := realConfig(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no kernel"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan := func(kernel, load, delayed string) *campaign.Plan {
		return &campaign.Plan{Schema: campaign.PlanSchema, Executor: campaign.InQEMU, Accelerator: qemu.TCG, Window: campaign.Duration(time.Second), Grids: []campaign.Grid{
			{Kernels: list(kernel), CPUs: list(2), Loads: list(load), Delays: list(delay(t, delayed)), Faults: list(campaign.Fault{}), Boots: 1},
		}}
	}
	for _, k := range []struct {
		name string
		c    qemu.Config
		p    *campaign.Plan
		want string
	}{
		{"a file that is no kernel", c, plan(text, "none", "none"), "make the kernel " + text + " ready"},
		{"a kernel that is not there", c, plan("/no/such/kernel", "none", "none"), "/no/such/kernel"},
		{"a series that was not fetched", c, plan("1.2", "none", "none"), "run scripts/fetch-kernels 1.2"},
		{"no QEMU", qemu.Config{QEMU: "/no/such/qemu"}, plan(text, "none", "none"), "/no/such/qemu is not installed"},
	} {
		t.Run(k.name, func(t *testing.T) {
			r := Runner{Plan: k.p, Executor: &QEMU{Plan: k.p, Config: k.c}}
			if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), k.want) {
				t.Error(err)
			}
		})
	}
}
