//go:build !linux

package guest

import "errors"

// Main reports that the guest program is for Linux.
func Main() error { return errors.New("the guest program runs on Linux only") }
