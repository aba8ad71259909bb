package trial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/store"
	"github.com/cswatch/cswatch/sim"
)

func newStore(t *testing.T, p *campaign.Plan, dir string) *store.Store {
	t.Helper()
	text, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(dir, "plan.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verifyAll checks a campaign's folder, and judges its trials again.
func verifyAll(t *testing.T, dir string, trials int) {
	t.Helper()
	checked := 0
	problems, err := store.Verify(dir, func(_ string, raw json.RawMessage, file func(string) ([]byte, error)) error {
		checked++
		var r campaign.Result
		if err := json.Unmarshal(raw, &r); err != nil {
			return err
		}
		return Recheck(&r, file)
	})
	if err != nil || len(problems) > 0 || checked > trials {
		t.Errorf("%d trials were judged again, problems %v, error %v", checked, problems, err)
	}
}

// simulatedPlan has 2 kernels, 3 numbers of retries, delays and their control, and a search.
func simulatedPlan(boots int) *campaign.Plan {
	burst, _ := campaign.ParseDelay("burst in=0.05 out=0.1 150us..300us")
	return &campaign.Plan{
		Schema: campaign.PlanSchema, Executor: campaign.Simulated, Machine: "qemu-skylake", Seed: 3, Window: campaign.Duration(10 * time.Second),
		Grids: []campaign.Grid{
			{Kernels: []string{"5.10.223"}, Set: []string{campaign.RetriesParameter + "=1,10"}, CPUs: []int{2}, Loads: []string{"none"}, Delays: []campaign.Delay{burst}, Faults: []campaign.Fault{{}}, Boots: boots},
			{Kernels: []string{"6.1.192"}, CPUs: []int{2}, Loads: []string{"none"}, Delays: []campaign.Delay{{}}, Faults: []campaign.Fault{{Kind: campaign.Rate, CPU: campaign.AllCPUs, PPM: -50000}}, Boots: 2},
			{Kernels: []string{"7.3.4"}, CPUs: []int{2, 4}, Loads: []string{"none"}, Delays: []campaign.Delay{{}, burst}, Faults: []campaign.Fault{{}}, Boots: boots},
		},
		Searches: []campaign.Search{{Kernels: []string{"6.12"}, CPUs: []int{2}, Loads: []string{"none"}, Fault: "step",
			Low: campaign.Duration(50 * time.Microsecond), High: campaign.Duration(5 * time.Millisecond), Ratio: 1.2, Boots: 3}},
	}
}

func simulated(t *testing.T, p *campaign.Plan) *Simulated {
	t.Helper()
	m, err := sim.Builtin(p.Machine)
	if err != nil {
		t.Fatal(err)
	}
	return &Simulated{Plan: p, Machine: m}
}

// outcomes are a campaign's results without what depends on time.
func outcomes(t *testing.T, s *store.Store) map[string]campaign.Judgement {
	t.Helper()
	results, err := Results(s)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]campaign.Judgement{}
	for _, r := range results {
		if _, twice := all[r.Trial.ID]; twice {
			t.Errorf("trial %s has two outcomes", r.Trial.ID)
		}
		all[r.Trial.ID] = r.Judgement
	}
	return all
}

func TestACampaignComesToTheSameWhateverTheNumberOfSlots(t *testing.T) {
	p := simulatedPlan(12)
	var want map[string]campaign.Judgement
	for _, slots := range []int{1, 3} {
		dir := filepath.Join(t.TempDir(), "campaign")
		s := newStore(t, p, dir)
		told, wrong := 0, 0
		r := Runner{Plan: p, Store: s, Executor: simulated(t, p), Slots: slots, Tell: func(p Progress) {
			told++
			if p.Result.Trial.Cell.Fault.Kind == campaign.Rate && p.Result.Verdict().Noticed() {
				wrong++
			}
		}}
		if err := r.Run(t.Context(), t.Context()); err != nil {
			t.Fatal(err)
		}
		got := outcomes(t, s)
		if told != len(got) || len(got) < 12*6+6 {
			t.Errorf("told of %d trials of %d", told, len(got))
		}
		if wrong != 2 {
			t.Errorf("a rate that is 5 %% wrong was noticed %d times of 2", wrong)
		}
		if want == nil {
			want = got
		}
		for id, j := range want {
			if got[id] != j {
				t.Errorf("trial %s came to %+v with %d slots, %+v with one", id, got[id], slots, j)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		verifyAll(t, dir, len(got))
	}
	causes := map[campaign.Verdict]int{}
	for _, j := range want {
		causes[j.Verdict()]++
	}
	if causes[campaign.Verdict{Outcome: campaign.Unstable, Cause: campaign.ReadDelay}] == 0 || causes[campaign.Verdict{Outcome: campaign.Unstable, Cause: campaign.Skew}] == 0 || causes[campaign.Verdict{Outcome: campaign.Stable}] == 0 {
		t.Errorf("outcomes %v: want some of each", causes)
	}
}

func TestWhatHasNoCounterpartInASimulationIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*campaign.Plan)
		want   string
	}{
		{"a load", func(p *campaign.Plan) { p.Grids[0].Loads = []string{"cpu"} }, "load cpu"},
		{"another parameter", func(p *campaign.Plan) { p.Append = []string{"tsc=reliable"} }, "the parameter tsc=reliable has no counterpart"},
		{"delays of the reference", func(p *campaign.Plan) { p.Grids[0].Delays[0].On = campaign.OnReference }, "hold the read-back of the TSC only"},
		{"a kernel that nobody knows", func(p *campaign.Plan) { p.Grids[0].Kernels[0] = "99" }, "kernel=99"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := simulatedPlan(1)
			c.change(p)
			r := Runner{Plan: p, Executor: simulated(t, p)}
			if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
}

func TestACampaignThatWasStoppedGoesOn(t *testing.T) {
	p := simulatedPlan(6)
	whole := newStore(t, p, filepath.Join(t.TempDir(), "whole"))
	r := Runner{Plan: p, Store: whole, Executor: simulated(t, p), Slots: 2}
	if err := r.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	want := outcomes(t, whole)

	dir := filepath.Join(t.TempDir(), "parts")
	s := newStore(t, p, dir)
	runs := 0
	for {
		runs++
		ctx, stop := context.WithCancelCause(t.Context())
		n := 0
		r := Runner{Plan: p, Store: s, Executor: simulated(t, p), Slots: 2, Most: 7, Tell: func(Progress) {
			if n++; n == 5 && runs%2 == 0 {
				stop(errStopped)
			}
		}}
		err := r.Run(ctx, t.Context())
		stop(nil)
		if closeErr := s.Close(); closeErr != nil {
			t.Fatal(closeErr)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, ErrMost) && !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		var repairs store.Repairs
		if s, repairs, err = store.Open(dir); err != nil || !repairs.None() {
			t.Fatalf("repairs %+v, error %v", repairs, err)
		}
	}
	s, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := outcomes(t, s)
	if len(got) != len(want) || runs < 5 {
		t.Errorf("%d trials in %d runs, %d in one", len(got), runs, len(want))
	}
	for id, j := range want {
		if got[id] != j {
			t.Errorf("trial %s came to %+v in parts, %+v in one run", id, got[id], j)
		}
	}
}

var errStopped = errors.New("stopped by the test")

// failing carries out some trials, and then no more.
type failing struct {
	Executor
	left atomic.Int64
}

func (f *failing) Carry(ctx context.Context, t *campaign.Trial) (Carried, error) {
	if f.left.Add(-1) < 0 {
		return Carried{}, errStopped
	}
	return f.Executor.Carry(ctx, t)
}

func TestAfterAFailureNoTrialIsBegun(t *testing.T) {
	p := simulatedPlan(30)
	dir := filepath.Join(t.TempDir(), "campaign")
	s := newStore(t, p, dir)
	e := &failing{Executor: simulated(t, p)}
	e.left.Store(10)
	r := Runner{Plan: p, Store: s, Executor: e, Slots: 1}
	if err := r.Run(t.Context(), t.Context()); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if n := len(outcomes(t, s)); n != 10 {
		t.Errorf("%d trials are over, want 10", n)
	}
	begun := 0
	for _, e := range s.Entries() {
		if e.State == store.Started {
			begun++
		}
	}
	if begun != 1 {
		t.Errorf("%d trials were begun and not ended, want the one that failed", begun)
	}
}

// killVariable names the folder in which a child of this test runs a campaign.
const killVariable = "CSWATCH_TEST_CAMPAIGN"

// TestMain is also the program that is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(killVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := goOn(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// goOn resumes the campaign in a folder, as the command does.
func goOn(dir string) error {
	s, repairs, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := campaign.ReadPlan(bytes.NewReader(s.Plan()))
	if err != nil {
		return err
	}
	if err := Lose(p, s, repairs.Interrupted); err != nil {
		return err
	}
	var e Executor = &QEMU{Plan: p, States: filepath.Join(dir, store.Scratch)}
	if p.Executor == campaign.Simulated {
		m, err := sim.Builtin(p.Machine)
		if err != nil {
			return err
		}
		e = &Simulated{Plan: p, Machine: m}
	}
	// Each line lets the parent see that a trial is over, and kill in the middle of the next ones.
	r := Runner{Plan: p, Store: s, Executor: e, Slots: 3, Tell: func(p Progress) { fmt.Println(p.Result.Trial.ID) }}
	ctx := context.Background()
	return r.Run(ctx, ctx)
}

// unchanged returns the outcomes that a campaign has now, after holding those that it
// had before a kill against them.
func unchanged(t *testing.T, dir string, seen map[string]campaign.Judgement) map[string]campaign.Judgement {
	t.Helper()
	s, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := outcomes(t, s)
	for id, j := range seen {
		if now[id] != j {
			t.Fatalf("trial %s had come to %+v, and after a kill it is %+v", id, j, now[id])
		}
	}
	return now
}

// kills is how often the runner is killed in the middle; a hundred times with
// CSWATCH_TEST_LONG.
func kills() int {
	if os.Getenv("CSWATCH_TEST_LONG") != "" {
		return 100
	}
	return 12
}

// Whenever the runner is killed, each trial has one outcome at the end: that of an
// undisturbed run, or lost.
func TestAKilledRunnerLosesWhatRanAndNothingElse(t *testing.T) {
	p := simulatedPlan(40 * kills() / 12)
	dir := filepath.Join(t.TempDir(), "campaign")
	if err := newStore(t, p, dir).Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 0))
	killed, seen := 0, map[string]campaign.Judgement{}
	for range 20 * kills() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killVariable+"="+dir)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after, pause := 1+rng.IntN(12), time.Duration(rng.IntN(3000))*time.Microsecond
		lines := bufio.NewScanner(out)
		for n := 1; lines.Scan(); n++ {
			if n == after && killed < kills() {
				time.Sleep(pause)
				_ = cmd.Process.Kill()
			}
		}
		err = cmd.Wait()
		seen = unchanged(t, dir, seen)
		if err == nil {
			break
		}
		if cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		killed++
	}
	whole := newStore(t, p, filepath.Join(t.TempDir(), "whole"))
	r := Runner{Plan: p, Store: whole, Executor: simulated(t, p), Slots: 2}
	if err := r.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	want, lost := outcomes(t, whole), 0
	for id, j := range seen {
		if j.Outcome == campaign.Lost {
			lost++
		} else if w, ok := want[id]; ok && w != j {
			t.Errorf("trial %s came to %+v, undisturbed to %+v", id, j, w)
		}
	}
	// A search may have taken another way, where one of its trials was lost.
	for id := range want {
		_, ofGrid := p.Find(id, func(string) (campaign.Verdict, bool) { return campaign.Verdict{}, false })
		if _, ok := seen[id]; !ok && ofGrid {
			t.Errorf("trial %s has no outcome", id)
		}
	}
	t.Logf("killed %d times, %d of %d trials lost", killed, lost, len(seen))
	if killed < kills() {
		t.Errorf("killed %d times only: the campaign is too short", killed)
	}
	verifyAll(t, dir, len(seen))
}
