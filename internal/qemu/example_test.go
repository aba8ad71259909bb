package qemu_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/qemu/snapshot"
)

// A boot with a TSC that is declared 5 % too fast, watched until the kernel
// condemns it. qemu.Config{}.Boot carries it out.
func ExampleSpec() {
	spec := qemu.Spec{
		Kernel: "vmlinuz",
		Append: []string{"tsc_early_khz=2415000"},
		Plan:   guest.Plan{Window: 20 * time.Second, EndOn: []event.Kind{event.TSCUnstable}, Linger: 2 * time.Second},
	}
	fmt.Println(spec.Validate())
	// Output: <nil>
}

// A test that needs a kernel says why it is skipped.
func ExampleConfig_CachedKernel() {
	_, err := qemu.Config{Cache: "/no/such/folder"}.CachedKernel("5.10")
	var unavailable *qemu.UnavailableError
	if errors.As(err, &unavailable) {
		fmt.Println("skipped:", err)
	}
	// Output: skipped: no kernel of series 5.10 in the cache: run scripts/fetch-kernels 5.10
}

// One boot, and any number of lives with a TSC that is wrong: here on CPU 1 alone,
// from half a minute after the start.
func ExampleMachine_Save() {
	ctx, config := context.Background(), qemu.Config{}
	spec := qemu.Spec{Kernel: "vmlinuz", QMP: true, Plan: guest.Plan{Window: time.Hour, EndOn: []event.Kind{event.TSCUnstable}}}
	m, err := config.Start(ctx, spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	time.Sleep(30 * time.Second)
	if err := m.Save(ctx, "state"); err != nil {
		fmt.Println(err)
		return
	}
	spec.From = "state"
	for _, by := range []time.Duration{100 * time.Microsecond, time.Millisecond} {
		spec.Steps = []snapshot.Step{{CPU: 1, Cycles: snapshot.Cycles(by, 2_300_000_000)}}
		r, err := config.Boot(ctx, spec)
		fmt.Println(by, r.Why, err)
	}
}
