package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestAdjtimexUnitsBecomeNanosecondsAndPPM(t *testing.T) {
	for _, tt := range []struct {
		name  string
		state int
		in    unix.Timex
		want  ClockState
	}{
		{"microseconds", unix.TIME_OK, unix.Timex{Offset: -7, Freq: 65536 * 12, Maxerror: 1500}, ClockState{Synchronised: true, FrequencyPPM: 12, OffsetNS: -7000, MaxErrorNS: 1_500_000}},
		{"nanoseconds", unix.TIME_INS, unix.Timex{Offset: -7, Freq: -32768, Maxerror: 1, Status: unix.STA_NANO}, ClockState{Synchronised: true, FrequencyPPM: -0.5, OffsetNS: -7, MaxErrorNS: 1000}},
		{"an unsynchronised clock by its state", unix.TIME_ERROR, unix.Timex{}, ClockState{}},
		{"an unsynchronised clock by its status", unix.TIME_OK, unix.Timex{Status: unix.STA_UNSYNC}, ClockState{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, clockState(tt.state, tt.in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
