// Command cswatch-guest is process 1 of the virtual machines that cswatch boots.
// It reads its plan from the kernel command line and hands over what it sees on
// the second serial port; see package internal/guest.
package main

import (
	"fmt"
	"os"

	"github.com/cswatch/cswatch/internal/guest"
)

func main() {
	if err := guest.Main(); err != nil {
		fmt.Fprintf(os.Stderr, "cswatch-guest: %v\n", err)
		os.Exit(1)
	}
}
