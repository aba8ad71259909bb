//go:build !linux

package bench

import "github.com/cswatch/cswatch/internal/hw"

// orderedInstruction is none.
const orderedInstruction = ""

// here fails: only Linux is supported.
func here() (edges, error) {
	return edges{}, &hw.NotHere{What: "a clock benchmark", Reason: "this program measures clocks on Linux only"}
}
