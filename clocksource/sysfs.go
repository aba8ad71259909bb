package clocksource

import (
	"bytes"
	"fmt"
	"strings"
)

// The files below /sys/devices/system/clocksource/clocksource0.
const (
	FileCurrent   = "current_clocksource"
	FileAvailable = "available_clocksource"
	FileUnbind    = "unbind_clocksource"
)

// CurrentText returns what reading current_clocksource gives: the name and a
// newline, with a blank between them in 2.6.24. Before the boot is done there
// is no such file, and the text is empty.
func (r *Registry) CurrentText() string {
	switch {
	case r.Current == "":
		return ""
	case r.Rules.CurrentBlank:
		return r.Current + " \n"
	}
	return r.Current + "\n"
}

// Available returns the names of available_clocksource in rating order. In
// oneshot mode only clocks that are fit for it are there, from 2.6.31 on.
func (r *Registry) Available() []string {
	var names []string
	for i := range r.Sources {
		if !r.Rules.AvailableFilter || !r.Oneshot || r.Sources[i].Flags.Has(ValidForHRES) {
			names = append(names, r.Sources[i].Name)
		}
	}
	return names
}

// AvailableText returns what reading available_clocksource gives: each name
// with a blank behind it, and a newline.
func (r *Registry) AvailableText() string {
	var b strings.Builder
	for _, name := range r.Available() {
		b.WriteString(name)
		b.WriteByte(' ')
	}
	b.WriteByte('\n')
	return b.String()
}

// WriteCurrent writes to current_clocksource. Nothing, and 32 bytes or more
// (with the newline, if there is one), are an [ErrInvalid]. Every other write is
// accepted: the name is remembered as the wish and a selection is made. A name
// that no clock has stays remembered without a word; a condemned clock in oneshot mode
// is refused in the log only. A single newline forgets the wish.
func (r *Registry) WriteCurrent(b []byte) ([]Effect, error) {
	name, err := writtenName(FileCurrent, b)
	if err != nil {
		return nil, err
	}
	r.Override = name
	return r.selectBest(false), nil
}

// WriteUnbind writes to unbind_clocksource and removes the named clock. It
// fails with [ErrInvalid] as [Registry.WriteCurrent] does, with [ErrNotThere] for a name that no
// clock has, with a [BusyError] for one that cannot be replaced, and with
// [ErrNoFile] in releases without that file.
func (r *Registry) WriteUnbind(b []byte) ([]Effect, error) {
	if !r.Rules.UnbindFile {
		return nil, fmt.Errorf("writing %s: %w: it came with about 3.11", FileUnbind, ErrNoFile)
	}
	name, err := writtenName(FileUnbind, b)
	if err != nil {
		return nil, err
	}
	if r.index(name) < 0 {
		return nil, fmt.Errorf("writing %q to %s: %w: choose one of %s", name, FileUnbind, ErrNotThere, FileAvailable)
	}
	_, effects, err := r.Unregister(name)
	if err != nil {
		return effects, fmt.Errorf("writing %q to %s: %w", name, FileUnbind, err)
	}
	return effects, nil
}

// writtenName returns the name that a write carries: less one newline at the
// end, and up to the first zero byte, which ends a string in the kernel.
func writtenName(file string, b []byte) (string, error) {
	if len(b) == 0 || len(b) > MaxName {
		return "", fmt.Errorf("writing %d bytes to %s: %w: want 1 to %d bytes with the newline", len(b), file, ErrInvalid, MaxName)
	}
	b = bytes.TrimSuffix(b, []byte{'\n'})
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b), nil
}
