package host

import "github.com/cswatch/cswatch/machine"

// Options tells Collect what the tree is and lends it the answers that are not
// in files. The zero value is a folder that was copied from somewhere.
type Options struct {
	// Root is shown in the snapshot; "" is "/".
	Root string
	// Kind is one of the Kind constants of package machine; "" is machine.KindFolder.
	Kind string
	// Arch is what uname -m says; "" lets the files tell.
	Arch string
	// Adjtimex asks the kernel how the system clock is being disciplined. nil: it is not asked.
	Adjtimex func() (ClockState, error)
}

// ClockState is the part of adjtimex(2)'s answer that matters here.
type ClockState struct {
	Synchronised bool    `json:"synchronised"`
	FrequencyPPM float64 `json:"frequency_ppm"`
	OffsetNS     int64   `json:"offset_ns"`
	MaxErrorNS   int64   `json:"max_error_ns"`
}

func (o Options) kind() string {
	if o.Kind == "" {
		return machine.KindFolder
	}
	return o.Kind
}

func (o Options) root() string {
	if o.Root == "" {
		return "/"
	}
	return o.Root
}
