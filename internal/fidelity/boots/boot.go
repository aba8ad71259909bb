//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/qemu/tap"
	"github.com/cswatch/cswatch/klog"
)

// trial is how one boot is made.
type trial struct {
	cpus   int
	window time.Duration
	busy   bool // a program keeps one CPU of the guest busy
	hold   *tap.Hold
	endure bool // go on after a skip
}

// enduring is a trial that is skipped at once and then undisturbed, followed until
// the watchdog must have come back.
func enduring(readHPET uint64) trial {
	return trial{cpus: 2, window: 330 * time.Second, endure: true, hold: &tap.Hold{Address: readHPET, Model: always(2 * time.Millisecond)}}
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
func plan(series string, i int, readHPET uint64) (trial, error) {
	low, high := 20*time.Microsecond, 250*time.Microsecond // limits of 50 to 125 us
	perAttempt := 3
	switch series {
	case "6.12", "7.0":
		low, high = 100*time.Microsecond, 900*time.Microsecond // of 250 and 500 us
	case "7":
		perAttempt = 2
	}
	t := trial{cpus: []int{2, 4}[i/6%2], window: 2 * time.Minute}
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
	m, err := tap.NewSometimes(p, low, high, uint64(i))
	t.hold = &tap.Hold{Address: readHPET, Model: m, Attempt: every}
	return t, err
}

func (t trial) String() string {
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

// address finds the kernel's function that reads the HPET.
func (c *session) address(ctx context.Context, image string) (uint64, error) {
	const name = "read_hpet"
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	r, err := c.config.Boot(ctx, qemu.Spec{Kernel: image, Plan: guest.Plan{Symbols: []string{name}}})
	if err != nil {
		return 0, err
	}
	for _, s := range r.Records {
		for _, symbol := range s.Record.Symbols {
			return symbol.Address, nil
		}
	}
	return 0, fmt.Errorf("%s tells no address of %s: %s", image, name, r.Why)
}

// settle is how long after the switch to the TSC its calibration is surely over.
const settle = 300 * time.Millisecond

// observer gathers what a boot does.
type observer struct {
	mu          sync.Mutex
	reads       []tap.Read
	records     []stamped
	switched    time.Time // when the kernel took the refined TSC
	arm, disarm func()
}

// stamped is a record of the kernel log and when it came.
type stamped struct {
	at     time.Time
	record string
	event  event.Event
}

func (o *observer) read(r tap.Read) {
	o.mu.Lock()
	o.reads = append(o.reads, r)
	o.mu.Unlock()
}

func (o *observer) observe(s qemu.Stamped) {
	if s.Record.Kmsg == "" {
		return
	}
	now := time.Now()
	record, _, _ := strings.Cut(s.Record.Kmsg, "\n") // without its dictionary
	for r := klog.NewReader(strings.NewReader(record+"\n"), "kmsg"); r.Next(); {
		e := r.Event()
		o.mu.Lock()
		o.records = append(o.records, stamped{now, record, e})
		if e.Kind == event.Switched && e.Clocksource == "tsc" {
			o.switched = now
			time.AfterFunc(settle, o.arm)
		}
		if e.Kind == event.TestSkipped {
			o.disarm()
		}
		o.mu.Unlock()
	}
}

// boot carries out a trial.
func (c *session) boot(ctx context.Context, image string, t trial) (fidelity.Boot, error) {
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	t.busy = t.busy && c.load != ""
	dir, err := os.MkdirTemp("", "cswatch-tap-")
	if err != nil {
		return fidelity.Boot{}, err
	}
	defer os.RemoveAll(dir)
	o := &observer{}
	pipe, err := tap.New(dir, t.hold, o.read)
	if err != nil {
		return fidelity.Boot{}, err
	}
	o.arm, o.disarm = pipe.Arm, pipe.Disarm
	spec := qemu.Spec{
		Kernel: image, CPUs: t.cpus, Extra: pipe.Args(),
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
	config.Observe = o.observe
	r, err := config.Boot(ctx, spec)
	_, closeErr := pipe.Close()
	if err := errors.Join(err, closeErr); err != nil {
		return fidelity.Boot{}, err
	}
	if r.Outcome != qemu.Done {
		return fidelity.Boot{}, fmt.Errorf("%s: %s", r.Outcome, r.Why)
	}
	b := fidelity.Boot{Release: r.Hello.Release, Version: r.Hello.Version, CPUs: r.Hello.CPUs, How: t.String()}
	return b, o.fill(&b)
}

// fill takes from what was gathered what belongs to the watchdog of the TSC:
// from the first check after the TSC was refined to the last before the guest
// ended, or to the verdict.
func (o *observer) fill(b *fidelity.Boot) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.records {
		if s.event.Kind == event.HPETCounter {
			b.HPET = clocksource.Hz(s.event.FrequencyHz.Value)
		}
	}
	switch {
	case b.HPET == 0:
		return errors.New("the kernel log tells no rate of the HPET")
	case o.switched.IsZero():
		return errors.New("the kernel never took its TSC")
	}
	from := o.switched.Add(settle)
	var reads []fidelity.Read
	for _, r := range o.reads {
		reads = append(reads, fidelity.Read{At: r.At.Sub(o.switched), CPU: r.CPU, Value: uint32(r.Value)})
	}
	checks := fidelity.Frame(reads, b.HPET)
	// The first may have begun before, the last may have been cut by the end.
	for len(checks) > 0 && checks[0].At < from.Sub(o.switched) {
		checks = checks[1:]
	}
	if len(checks) == 0 {
		return nil
	}
	begin := o.switched.Add(checks[0].At)
	condemned := false
	b.Checks = checks
	for _, s := range o.records {
		if s.at.Before(begin.Add(-settle / 3)) {
			continue
		}
		b.Log = append(b.Log, s.record)
		if s.event.Kind == event.DelayVerdict && !condemned {
			condemned = true
			if err := b.EndAt(s.at.Sub(o.switched), int(s.event.Attempt.Value)); err != nil {
				return err
			}
		}
	}
	return nil
}
