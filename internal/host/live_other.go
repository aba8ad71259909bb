//go:build !linux

package host

import "github.com/cswatch/cswatch/machine"

// LiveOptions are the options for the running machine. Elsewhere than on Linux there is nothing to ask.
func LiveOptions() Options { return Options{Root: "/", Kind: machine.KindLive} }
