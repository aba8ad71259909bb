//go:build linux

// Boots boots real kernels in QEMU, with and without delays of the HPET,
// until each has made so many checks, and compares every one with our era.
//
//	go run ./internal/fidelity/boots -out FOLDER [-checks 2000] [-nontrivial 50] [-jobs 4] [5.10 6.1 ...]
//
// Each boot is written to the folder as text when it ends; boots that are there
// count, so that what was interrupted goes on. Exit code 1 means that a kernel
// and our era disagree somewhere.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"

	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/trial"
)

type session struct {
	config     qemu.Config
	out        string
	checks     int
	nontrivial int
	load       string // a program for the guest that keeps a CPU busy, "" for none
	slots      chan struct{}
}

func main() {
	var c session
	flag.StringVar(&c.out, "out", "", "folder for the boots")
	flag.IntVar(&c.checks, "checks", 2000, "checks for each kernel")
	flag.IntVar(&c.nontrivial, "nontrivial", 50, "checks that read more than once or accept nothing, for each kernel")
	flag.StringVar(&c.load, "load", "", "path of a static cswatch: some guests run it to be busy")
	jobs := flag.Int("jobs", 4, "boots at the same time")
	flag.Parse()
	series := flag.Args()
	if len(series) == 0 {
		series = []string{"5.10", "6.1", "6.12", "7.0", "7"}
	}
	c.slots = make(chan struct{}, max(*jobs, 1))
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := c.run(ctx, series); err != nil {
		fmt.Fprintf(os.Stderr, "boots: %v\n", err)
		os.Exit(1)
	}
}

// run boots all kernels, and says what came of each.
func (c *session) run(ctx context.Context, series []string) error {
	if c.out == "" {
		return fmt.Errorf("name a folder for the boots with -out")
	}
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	guest, err := c.config.FindGuest(ctx)
	if err != nil {
		return err
	}
	c.config.Guest = guest
	var wait sync.WaitGroup
	errs := make([]error, len(series))
	for i, s := range series {
		wait.Go(func() { errs[i] = c.kernel(ctx, s) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tally is what a kernel's boots brought so far.
type tally struct {
	boots, checks, nontrivial, lines, disagreements int
}

func (t *tally) add(name string, b *fidelity.Boot) error {
	r, err := fidelity.Compare(b)
	if err != nil {
		return err
	}
	t.boots++
	t.checks += r.Checks
	t.nontrivial += r.NonTrivial
	t.lines += r.Lines
	t.disagreements += len(r.Disagreements)
	fmt.Printf("%s: %s, %d CPUs, %s: %d checks, attempts %v, %v, %d lines, aside %v\n", name, b.Release, b.CPUs, b.How, r.Checks, r.Attempts, r.Outcomes, r.Lines, r.Aside)
	for _, d := range r.Disagreements {
		fmt.Printf("%s: DISAGREEMENT at check %d: %s\n", name, d.Check, d.What)
	}
	return nil
}

// kernel boots one kernel until it has made enough checks.
func (c *session) kernel(ctx context.Context, series string) error {
	image, err := c.config.CachedKernel(series)
	if err != nil {
		return err
	}
	address := sync.OnceValues(func() (uint64, error) {
		c.slots <- struct{}{}
		defer func() { <-c.slots }()
		s, err := trial.ScoutKernel(ctx, c.config, image)
		return s.ReadHPET, err
	})
	var t tally
	if series != "7" { // 7.1 and later skip nothing
		p := func() (setting, error) {
			a, err := address()
			return enduring(a), err
		}
		if err := c.trial(ctx, series+"-skip", image, p, &t); err != nil {
			return err
		}
	}
	for i := 0; ctx.Err() == nil && (t.checks < c.checks || t.nontrivial < c.nontrivial); i++ {
		p := func() (setting, error) {
			a, err := address()
			if err != nil {
				return setting{}, err
			}
			return plan(series, i, a)
		}
		if err := c.trial(ctx, fmt.Sprintf("%s-%03d", series, i), image, p, &t); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d boots, %d checks, %d not trivial, %d lines, %d disagreements\n", series, t.boots, t.checks, t.nontrivial, t.lines, t.disagreements)
	if t.disagreements > 0 {
		return fmt.Errorf("%s: %d disagreements", series, t.disagreements)
	}
	return ctx.Err()
}

// trial counts a boot: the one that the folder holds, or else a new one.
func (c *session) trial(ctx context.Context, name, image string, plan func() (setting, error), t *tally) error {
	path := filepath.Join(c.out, name+".txt")
	text, err := os.ReadFile(path)
	if err != nil {
		p, err := plan()
		if err != nil {
			return err
		}
		b, err := c.boot(ctx, image, p)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text = b.Append(nil)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	boots, err := fidelity.ParseBoots(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := range boots {
		if err := t.add(name, &boots[i]); err != nil {
			return err
		}
	}
	return nil
}
