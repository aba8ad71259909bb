//go:build !linux

package loopback

import "github.com/cswatch/cswatch/internal/hw"

// here fails: only Linux is supported.
func here() (edges, error) {
	return edges{}, &hw.NotHere{What: "a benchmark of the network", Reason: "this program measures loopback on Linux only"}
}
