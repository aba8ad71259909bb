//go:build !linux

package live

import "github.com/cswatch/cswatch/internal/hw"

// thisMachine fails: only Linux is supported.
func thisMachine(bool) (Hardware, error) {
	return Hardware{}, &hw.NotHere{What: "the counters of this machine", Reason: "this program reads counters on Linux only"}
}
