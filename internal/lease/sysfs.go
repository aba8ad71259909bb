package lease

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cswatch/cswatch/clocksource"
)

// sysfs is where Linux has its clocksources.
const sysfs = "/sys/devices/system/clocksource/clocksource0"

// IgnoredError is the error of a write that the kernel accepted and that did nothing, as
// with a clocksource that it has condemned, or that is too coarse for high resolution timers.
type IgnoredError struct {
	Want string // what was written
	Got  string // what is current all the same
}

// Error implements the error interface.
func (e *IgnoredError) Error() string {
	return fmt.Sprintf("the kernel accepted %q as the clocksource and stayed with %q: it does so with a clock that it has condemned, until the next boot, "+
		"and with one that is too coarse for its timers", e.Want, e.Got)
}

// folder is the kernel's folder of its clocksources, or one that looks like it.
type folder string

// current returns the name of the clocksource that the kernel uses.
func (f folder) current() (string, error) {
	b, err := os.ReadFile(filepath.Join(string(f), clocksource.FileCurrent))
	if err != nil {
		return "", fmt.Errorf("read the current clocksource: %w", f.hint(err))
	}
	return strings.TrimSpace(string(b)), nil
}

// available returns the names that the kernel would accept, the best rated first.
func (f folder) available() ([]string, error) {
	b, err := os.ReadFile(filepath.Join(string(f), clocksource.FileAvailable))
	if err != nil {
		return nil, fmt.Errorf("read the available clocksources: %w", f.hint(err))
	}
	return strings.Fields(string(b)), nil
}

// writable tells, by an error, why names cannot be written.
func (f folder) writable() error {
	w, err := os.OpenFile(filepath.Join(string(f), clocksource.FileCurrent), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("switch the clocksource: %w", f.hint(err))
	}
	return w.Close()
}

// choose makes a clocksource current, and reads back whether it is.
func (f folder) choose(name string) error {
	w, err := os.OpenFile(filepath.Join(string(f), clocksource.FileCurrent), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("switch the clocksource to %s: %w", name, f.hint(err))
	}
	// The switch is over when the write returns.
	_, err = w.WriteString(name + "\n")
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("switch the clocksource to %s: %w", name, err)
	}
	got, err := f.current()
	if err != nil {
		return err
	}
	if got != name {
		return &IgnoredError{Want: name, Got: got}
	}
	return nil
}

// choosable tells, by an error, that a name is not on the kernel's list. A name that no
// clocksource has would be accepted, and be remembered as the user's wish.
func (f folder) choosable(name string) error {
	names, err := f.available()
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("switch the clocksource to %q: the kernel has no such clocksource to choose, only %s (%s)",
			name, strings.Join(names, ", "), filepath.Join(string(f), clocksource.FileAvailable))
	}
	return nil
}

// hint adds to an error what to do about it.
func (f folder) hint(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: it takes root outside of a container", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: /sys is mounted read-only, as in a container: run it on the host", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: want Linux with /sys mounted", err)
	}
	return err
}
