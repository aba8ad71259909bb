//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/qemu/tap"
	"github.com/cswatch/cswatch/internal/trial"
)

// setting is how one boot is made.
type setting struct {
	cpus   int
	window time.Duration
	busy   bool // a program keeps one CPU of the guest busy
	hold   *tap.Hold
	endure bool // go on after a skip
}

// enduring is a setting that is skipped at once and then undisturbed, followed until
// the watchdog must have come back.
func enduring(readHPET uint64) setting {
	return setting{cpus: 2, window: 330 * time.Second, endure: true, hold: &tap.Hold{Address: readHPET, Model: always(2 * time.Millisecond)}}
}

// always holds for the same time.
type always time.Duration

func (a always) Next() time.Duration { return time.Duration(a) }
func (a always) String() string {
	return fmt.Sprintf("for %v until a check was skipped", time.Duration(a))
}

// plan is the i-th trial of a kernel: undisturbed, busy, and with delays around
// the limits of the kernel's era, in turn. Delays before any read of the HPET make
// the watchdog retry and skip; those before the second of an attempt make it
// retry and condemn.
func plan(series string, i int, readHPET uint64) (setting, error) {
	low, high := 20*time.Microsecond, 250*time.Microsecond // limits of 50 to 125 us
	perAttempt := 3
	switch series {
	case "6.12", "7.0":
		low, high = 100*time.Microsecond, 900*time.Microsecond // of 250 and 500 us
	case "7":
		perAttempt = 2
	}
	t := setting{cpus: []int{2, 4}[i/6%2], window: 2 * time.Minute}
	p, every := 0.0, 0
	switch i % 6 {
	case 0:
		return t, nil
	case 1:
		t.busy, t.window = true, time.Minute
		return t, nil
	case 2:
		p = 0.1
	case 3:
		p, every = 0.9, perAttempt
	case 4:
		p, every = 0.3, perAttempt
	case 5:
		p, every = 0.1, perAttempt
	}
	d := campaign.Delay{In: p, Out: 1 - p, Low: low, High: high, On: campaign.OnClock}
	t.hold = &tap.Hold{Address: readHPET, Model: d.Chain(uint64(i)), Attempt: every}
	return t, nil
}

func (t setting) String() string {
	how := "idle"
	switch {
	case t.endure:
		how = "idle, followed after a skip"
	case t.busy:
		how = "one CPU busy"
	}
	if t.hold == nil {
		return how + ", no delays programmed"
	}
	where := "before any read of the HPET"
	if t.hold.Attempt > 0 {
		where = "before the second read of an attempt"
	}
	return fmt.Sprintf("%s, held %s %s", how, where, t.hold.Model)
}

// boot carries out a trial.
func (c *session) boot(ctx context.Context, image string, t setting) (fidelity.Boot, error) {
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	t.busy = t.busy && c.load != ""
	w, err := trial.NewWitness(t.hold)
	if err != nil {
		return fidelity.Boot{}, err
	}
	spec := qemu.Spec{
		Kernel: image, CPUs: t.cpus, Extra: w.Args(),
		Plan: guest.Plan{Window: t.window, EndOn: []event.Kind{event.TSCUnstable}, Linger: time.Second},
	}
	if !t.endure {
		spec.Plan.EndOn = append(spec.Plan.EndOn, event.TestSkipped)
	}
	if t.busy {
		spec.Files = []qemu.File{{Guest: "/cswatch", Host: c.load, Perm: 0o755}}
		spec.Plan.Run = []string{"/cswatch", "log", "/dev/zero"}
	}
	config := c.config
	config.Observe = w.Observe
	r, err := config.Boot(ctx, spec)
	_, closeErr := w.Close()
	if err := errors.Join(err, closeErr); err != nil {
		return fidelity.Boot{}, err
	}
	if r.Outcome != qemu.Done {
		return fidelity.Boot{}, fmt.Errorf("%s: %s", r.Outcome, r.Why)
	}
	b := fidelity.Boot{Release: r.Hello.Release, Version: r.Hello.Version, CPUs: r.Hello.CPUs, How: t.String()}
	return b, w.Fill(&b)
}
