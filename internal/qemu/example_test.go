package qemu_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
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
