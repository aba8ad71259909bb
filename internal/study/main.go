// Study answers how many retries are right: it fits the counts of the request
// for comments, simulates machines under the designs of all eras, and writes
// docs/how-many-retries.md with its plots.
//
//	go run ./internal/study [-docs docs] [-boots 20000] [-seed 1]
//
// The same seed and number of boots give the same page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cswatch/cswatch/internal/simulate"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

// study is one run: its settings, and what has gone wrong.
type study struct {
	docs  string
	boots uint64
	seed  uint64
	errs  []error
}

func main() {
	var s study
	flag.StringVar(&s.docs, "docs", "docs", "folder of the documents")
	flag.Uint64Var(&s.boots, "boots", 20_000, "simulated boots in each cell")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the random numbers")
	flag.Parse()
	page, plots, err := s.write()
	if err == nil {
		err = s.save(page, plots)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "study: %v\n", err)
		os.Exit(1)
	}
}

// save writes the page and its plots.
func (s *study) save(page []byte, plots map[string][]byte) error {
	dir := filepath.Join(s.docs, "plots")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	errs := []error{os.WriteFile(filepath.Join(s.docs, "how-many-retries.md"), page, 0o644)}
	for name, svg := range plots {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), svg, 0o644))
	}
	return errors.Join(errs...)
}

// design is a watchdog as the study compares it.
type design struct {
	name    string // for people
	era     watchdog.Era
	retries int  // -1 for its own
	plotted bool // a chart has room for six
}

// designs are those that a kernel had, or was meant to have.
func designs() []design {
	return []design{
		{"5.14 to 5.16 (E5)", watchdog.E5, -1, true},
		{"the same with 50 retries, as the RFC proposed", watchdog.E5, 50, true},
		{"5.17 to 6.2 (E6)", watchdog.E6, -1, true},
		{"6.3 to 6.7 (E7)", watchdog.E7, -1, false},
		{"6.9 to 6.11 (E9)", watchdog.E9, -1, true},
		{"6.12 (E10)", watchdog.E10, -1, true},
		{"7.0 and 6.12.68 (E11)", watchdog.E11, -1, true},
		{"7.1 (E12)", watchdog.E12, -1, true},
		{"forgive (2021, never merged)", watchdog.TipForgive, -1, false},
		{"dynamic limit (never merged)", watchdog.PropDynamicSkew, -1, false},
		{"8/7 rule (never merged)", watchdog.PropRatio, -1, false},
		{"limit by the longest delay (2025)", watchdog.PropMaxDelay, -1, false},
	}
}

// cell simulates boots of one combination. What goes wrong is kept for the end.
func (s *study) cell(m sim.Model, d design, f sim.Fault, boots uint64) sim.Tally {
	p, ok := watchdog.ProfileOf(d.era)
	if !ok {
		s.errs = append(s.errs, fmt.Errorf("no era %s", d.era))
		return sim.Tally{}
	}
	run := simulate.Runner{Seed: s.seed, Boots: boots, Jobs: runtime.NumCPU()}
	results, err := run.Cells(context.Background(), []simulate.Spec{{Model: m, Profile: p, Retries: d.retries, Fault: f}})
	if err != nil {
		s.errs = append(s.errs, err)
		return sim.Tally{}
	}
	return results[0].Tally
}

// attempts is how often a check of the design reads at most on so many CPUs.
func (d design) attempts(cpus int) int {
	p, _ := watchdog.ProfileOf(d.era)
	return p.Attempts(cpus, d.retries)
}
