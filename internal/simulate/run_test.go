package simulate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/dispatch"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

func spec(t testing.TB, machine string, era watchdog.Era, retries int, fault string) Spec {
	t.Helper()
	m, err := sim.Builtin(machine)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := watchdog.ProfileOf(era)
	if !ok {
		t.Fatalf("no era %s", era)
	}
	f, err := sim.ParseFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Model: m, Profile: p, Retries: retries, Fault: f}
}

func grid(t testing.TB) []Spec {
	return []Spec{spec(t, "e3-1240v5", watchdog.E5, 3, ""), spec(t, "milan-x", watchdog.E12, -1, ""), spec(t, "e3-1240v5", watchdog.E6, 3, "frequency:+800ppm@10s")}
}

func tallies(all []Result) (tallies []sim.Tally) {
	for _, r := range all {
		tallies = append(tallies, r.Tally)
	}
	return tallies
}

func TestTheResultIsTheSameForAnyNumberOfJobs(t *testing.T) {
	var first []sim.Tally
	for _, jobs := range []int{1, 2, 4, 7} {
		r := Runner{Seed: 3, Boots: 430, Jobs: jobs}
		all, err := r.Cells(context.Background(), grid(t))
		if err != nil {
			t.Fatal(err)
		}
		if all[0].Tally.Boots != 430 || all[0].Tally.Unstable == 0 || all[2].Tally.Detected == 0 {
			t.Fatalf("%d jobs: nothing to compare", jobs)
		}
		if first == nil {
			first = tallies(all)
		}
		if diff := cmp.Diff(first, tallies(all)); diff != "" {
			t.Errorf("1 job and %d jobs:\n%s", jobs, diff)
		}
	}
}

func ledger(t *testing.T, name string) *dispatch.Ledger {
	t.Helper()
	l, err := dispatch.OpenLedger(name, []dispatch.Parameter{{Name: "seed", Value: "3"}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestARunThatWasStoppedAndGoesOnEndsWithTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	const boots = 4300 // more pieces than can be under way when the run is stopped
	run := func(name string, jobs int, stopAfter int) ([]Result, error) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		l := ledger(t, filepath.Join(dir, name))
		defer l.Close()
		r := Runner{Seed: 3, Boots: boots, Jobs: jobs, Ledger: l}
		r.Progress = func(begin bool, _, _ uint64) {
			if stopAfter--; !begin && stopAfter == 0 {
				cancel(errors.New("stopped by the test"))
			}
		}
		return r.Cells(ctx, grid(t))
	}
	whole, err := run("whole", 2, -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{2, 5, 11} {
		part, err := run("parts", 4, after)
		if err == nil || !strings.Contains(err.Error(), "stopped by the test") {
			t.Fatalf("after %d pieces: %v", after, err)
		}
		done := uint64(0)
		for _, r := range part {
			done += r.Tally.Boots
		}
		if done == 0 || done >= 3*boots {
			t.Fatalf("after %d pieces: %d boots", after, done)
		}
		got, err := run("parts", 3, -1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tallies(whole), tallies(got)); diff != "" {
			t.Errorf("stopped after %d pieces:\n%s", after, diff)
		}
		want, _ := os.ReadFile(filepath.Join(dir, "whole"))
		text, _ := os.ReadFile(filepath.Join(dir, "parts"))
		if string(want) != string(text) {
			t.Errorf("stopped after %d pieces: another state", after)
		}
		os.Remove(filepath.Join(dir, "parts"))
	}
}

// endingAfter is a context that ends when it was asked so often.
type endingAfter struct {
	context.Context
	asked, last int
}

func (c *endingAfter) Err() error {
	if c.asked++; c.asked > c.last {
		return context.Canceled
	}
	return nil
}

func TestAStopTakesEffectAfterTheBootThatIsUnderWay(t *testing.T) {
	s := spec(t, "e3-1240v5", watchdog.E5, 3, "")
	cell, err := s.Cell()
	if err != nil {
		t.Fatal(err)
	}
	for _, boots := range []int{0, 1, 7} {
		got, err := runPiece(&endingAfter{context.Background(), 0, boots}, cell.NewRunner(), cell.NewTally(), &s.Fault, 3, piece{0, 0, 1000})
		if got.Boots != uint64(boots) {
			t.Errorf("%d boots were simulated, want %d (%v)", got.Boots, boots, err)
		}
	}
}

func TestACellThatCannotBeIsRefused(t *testing.T) {
	r := Runner{Seed: 1, Boots: 1, Jobs: 1}
	if _, err := r.Cells(context.Background(), []Spec{spec(t, "e3-1240v5", watchdog.E5, 3, "drift:node1:+5ppm")}); err == nil || !strings.Contains(err.Error(), "no node 1") {
		t.Errorf("error %v", err)
	}
}

func TestTheFirstMessageIsTheLineThatCondemns(t *testing.T) {
	for _, c := range []struct {
		era         watchdog.Era
		fault, want string
	}{
		{watchdog.E5, "", "hpet read-back delay of 6"},
		{watchdog.E6, "frequency:+900ppm@20s", "Marking clocksource 'tsc' as unstable because the skew is too large"},
		{watchdog.E12, "step:cpu1:+1ms@20s", "unstable"},
		{watchdog.TipForgive, "frequency:+900ppm@20s", "Marking clocksource 'tsc' as unstable because the skew is too large"},
	} {
		r := Runner{Seed: 1, Boots: 50, Jobs: 1}
		all, err := r.Cells(context.Background(), []Spec{spec(t, "e3-1240v5", c.era, 3, c.fault)})
		if err != nil {
			t.Fatal(err)
		}
		line, ok, err := all[0].FirstMessage(1)
		if err != nil || !ok || !strings.Contains(line.Line.Text, c.want) {
			t.Errorf("%s, %s: %v %v %q", c.era, c.fault, ok, err, line.Line.Text)
		}
	}
}

func TestEveryEraHasAReleaseWhoseLogIsWritten(t *testing.T) {
	for _, p := range watchdog.Profiles() {
		s := Spec{Profile: p}
		if r := s.release(); r.Major == 0 {
			t.Errorf("%s: none", p.Era)
		}
	}
}

// Run with -cpu 2: the rest of the machine should be idle.
func BenchmarkJobs(b *testing.B) {
	for _, machine := range []string{"e3-1240v5", "xeon-8490h-8s"} {
		for _, jobs := range []int{1, 2} {
			b.Run(machine+"/jobs="+string(rune('0'+jobs)), func(b *testing.B) {
				specs := []Spec{spec(b, machine, watchdog.E5, 3, "")}
				r := Runner{Seed: 1, Boots: 20_000, Jobs: jobs}
				for b.Loop() {
					if _, err := r.Cells(context.Background(), specs); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*float64(r.Boots)/b.Elapsed().Seconds(), "boots/s")
			})
		}
	}
}
