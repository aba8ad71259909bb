package fidelity_test

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/fidelity"
)

// Two checks of a kernel 7.3 that read the HPET of QEMU: the second time the first
// attempt took 89 us, which is above the limit of 50 us, and the kernel read again.
func Example() {
	boots, err := fidelity.ParseBoots(strings.NewReader(`boot 7.3.4+deb13-amd64
version #1 SMP PREEMPT_DYNAMIC Debian 7.3.4-1~bpo13+1 (2026-11-03)
cpus 2
hpet 100000000
how idle
c 723796226 0 3682
c 51201219 0 8905 794 141
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := fidelity.Compare(&boots[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Era, r.Checks, r.NonTrivial, r.Outcomes, len(r.Disagreements))
	// Output: E12 2 1 map[initialised:1 agreed:1] 0
}
