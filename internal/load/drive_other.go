//go:build !linux

package load

import (
	"context"
	"fmt"
	"runtime"
)

func (d Driver) drive(context.Context, *Running) (func(), error) {
	return func() {}, fmt.Errorf("loads can be driven on Linux only, and this is %s", runtime.GOOS)
}
