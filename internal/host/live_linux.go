package host

import (
	"fmt"

	"github.com/cswatch/cswatch/machine"
	"golang.org/x/sys/unix"
)

// LiveOptions are the options for the running machine: they ask uname and
// adjtimex, neither of which needs a privilege.
func LiveOptions() Options {
	opt := Options{Root: "/", Kind: machine.KindLive, Adjtimex: adjtimex}
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		opt.Arch = unix.ByteSliceToString(u.Machine[:])
	}
	return opt
}

func adjtimex() (ClockState, error) {
	var t unix.Timex // Modes 0: ask, change nothing
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return ClockState{}, fmt.Errorf("ask adjtimex for the state of the system clock: %w", err)
	}
	return clockState(state, t), nil
}

// clockState turns adjtimex's units into ours: freq is ppm with 16 binary
// places, offset is µs or, with STA_NANO, ns, maxerror is µs.
func clockState(state int, t unix.Timex) ClockState {
	offset := int64(t.Offset)
	if t.Status&unix.STA_NANO == 0 {
		offset *= 1000
	}
	return ClockState{
		Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		FrequencyPPM: float64(t.Freq) / 65536,
		OffsetNS:     offset,
		MaxErrorNS:   int64(t.Maxerror) * 1000,
	}
}
