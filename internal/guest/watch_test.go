package guest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
)

// script is a world that goes by a list of moments.
type script struct {
	now     time.Duration
	moments []moment // in order of time
	clock   Clocksource
	logErr  error
	csErr   error
}

// moment is what happens at a time.
type moment struct {
	at    time.Duration
	kmsg  string
	clock string
	do    func()
}

func (s *script) uptime() time.Duration { return s.now }

func (s *script) kernelLog(wait time.Duration) ([]string, error) {
	until := s.now + wait
	var records []string
	for len(s.moments) > 0 && s.moments[0].at <= until {
		m := s.moments[0]
		s.moments = s.moments[1:]
		s.now = max(s.now, m.at)
		if m.clock != "" {
			s.clock.Current = m.clock
		}
		if m.do != nil {
			m.do()
			until = s.now
			break // what is next is for the next call
		}
		if m.kmsg != "" {
			records = append(records, m.kmsg)
			until = s.now // poll returns at the first record
		}
	}
	s.now = max(s.now, until)
	return records, s.logErr
}

func (s *script) clocksource() (Clocksource, error) { return s.clock, s.csErr }

func kmsg(seq int, text string) string { return fmt.Sprintf("6,%d,%d,-;%s", seq, 1000*seq, text) }

const marking = "tsc: Marking TSC unstable due to clocksource watchdog"

func TestWatchEndsForEachReason(t *testing.T) {
	s := time.Second
	ended := make(chan int, 1)
	cases := []struct {
		name    string
		plan    Plan
		moments []moment
		want    End
		types   string
	}{
		{
			"the zero plan hands over the log of the boot and ends",
			Plan{},
			[]moment{{kmsg: kmsg(0, "Linux version 5.10.0")}, {kmsg: kmsg(1, "x")}, {at: 1, kmsg: kmsg(2, "too late")}},
			End{Reason: EndWindow, Clocksource: Clocksource{Current: "tsc"}},
			"kmsg kmsg ",
		},
		{
			"the window passes",
			Plan{Window: 2 * s, EndOn: []event.Kind{event.TSCUnstable}},
			[]moment{{at: s, kmsg: kmsg(0, "clocksource: Switched to clocksource tsc")}, {at: 3 * s, kmsg: kmsg(1, marking)}},
			End{Reason: EndWindow, DweltNS: 2e9, Clocksource: Clocksource{Current: "tsc"}},
			"kmsg ",
		},
		{
			"an event comes, and the guest lingers to hear what follows",
			Plan{Window: 10 * s, EndOn: []event.Kind{event.TSCUnstable}, Linger: s},
			[]moment{
				{at: s, kmsg: kmsg(0, marking)},
				{at: s + s/2, clock: "hpet", kmsg: kmsg(1, "clocksource: Switched to clocksource hpet")},
				{at: 3 * s, kmsg: kmsg(2, "too late")},
			},
			End{Reason: EndEvent, Event: "tsc-unstable", DweltNS: 2e9, Clocksource: Clocksource{Current: "hpet"}},
			"kmsg kmsg clocksource ",
		},
		{
			"an event near the end does not extend the window",
			Plan{Window: 2 * s, EndOn: []event.Kind{event.TSCUnstable}, Linger: 5 * s},
			[]moment{{at: s, kmsg: kmsg(0, marking)}, {at: 3 * s, kmsg: kmsg(1, "too late")}},
			End{Reason: EndEvent, Event: "tsc-unstable", DweltNS: 2e9, Clocksource: Clocksource{Current: "tsc"}},
			"kmsg ",
		},
		{
			"the program ends",
			Plan{Window: 10 * s, Run: []string{"/x"}},
			[]moment{{at: s, do: func() { ended <- 7 }}, {at: s, kmsg: kmsg(0, "its last words")}},
			End{Reason: EndProgram, DweltNS: 1e9, Exit: ptr(7), Clocksource: Clocksource{Current: "tsc"}},
			"kmsg ",
		},
		{
			"records that the ring buffer dropped are counted",
			Plan{Window: s},
			[]moment{{kmsg: kmsg(7, "the first need not be number 0")}, {at: s / 2, kmsg: kmsg(10, "x")}, {at: s / 2, kmsg: kmsg(11, "y")}},
			End{Reason: EndWindow, DweltNS: 1e9, LostKmsg: 2, Clocksource: Clocksource{Current: "tsc"}},
			"kmsg kmsg kmsg ",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := &script{moments: c.moments, clock: Clocksource{Current: "tsc"}}
			types := ""
			got := watch(c.plan, w, Clocksource{Current: "tsc"}, func(r Record) { types += string(r.Type) + " " }, ended)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
			if types != c.types {
				t.Errorf("records %q, want %q", types, c.types)
			}
		})
	}
}

// A guest without /dev/kmsg or sysfs says so once and serves its time.
func TestWatchGoesOnWithoutLogAndSysfs(t *testing.T) {
	w := &script{logErr: errors.New("no log"), csErr: errors.New("no sysfs")}
	var troubles []string
	end := watch(Plan{Window: time.Second}, w, Clocksource{}, func(r Record) { troubles = append(troubles, r.Trouble) }, nil)
	if diff := cmp.Diff([]string{"read the kernel log: no log", "read the clocksource: no sysfs"}, troubles); diff != "" {
		t.Errorf("troubles (-want +got):\n%s", diff)
	}
	if end.Reason != EndWindow || end.DweltNS != 1e9 {
		t.Errorf("it ended with %+v", end)
	}
}
