package machine_test

import (
	"fmt"

	"github.com/cswatch/cswatch/machine"
)

func ExampleOption() {
	values, _ := machine.Option("BOOT_IMAGE=/vmlinuz tsc=nowatchdog quiet", "tsc")
	_, quiet := machine.Option("BOOT_IMAGE=/vmlinuz tsc=nowatchdog quiet", "quiet")
	fmt.Println(values, quiet)
	// Output: [nowatchdog] true
}
