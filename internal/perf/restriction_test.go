package perf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// asUser is a process without privileges on a machine of that paranoia.
func asUser(paranoid, kptr int) Sight {
	return Sight{
		Paranoid: &paranoid, Kptr: &kptr, MaxRate: ptr(100000), PerfEvents: ptr(true), PMU: ptr(true),
		Status: Status{Known: true, UID: 1000},
	}
}

func with(s Sight, change func(*Sight)) Sight {
	change(&s)
	return s
}

func TestWhatMayNotBeSeenIsToldWithTheWayToAllowIt(t *testing.T) {
	all, own, one := Config{Target: Target{All: true}}, Config{}, Config{Target: Target{PIDs: []int{7}}}
	root := with(asUser(2, 1), func(s *Sight) { s.Status = Status{Known: true, Capabilities: ^uint64(0)} })
	for _, tt := range []struct {
		name string
		s    Sight
		c    Config
		want string
	}{
		{"root sees everything", root, all, ""},
		{"root does not see addresses that are hidden from everybody", with(root, func(s *Sight) { s.Kptr = ptr(2) }), all, "kptr-restrict"},
		{"the capabilities for it are enough", with(asUser(2, 1), func(s *Sight) { s.Status.Capabilities = 1<<capPerfmon | 1<<capSyslog | 1<<capSysPtrace }), all, ""},
		{"the old capability is, too", with(asUser(2, 1), func(s *Sight) { s.Status.Capabilities = 1<<capSysAdmin | 1<<capSyslog }), own, ""},
		{"a user at level 2 sees user code, and no addresses", asUser(2, 0), own, "perf-event-paranoid kptr-restrict"},
		{"a user who asks for no more", asUser(2, 0), Config{UserOnly: true}, ""},
		{"a user at level 1 sees the kernel and its names", asUser(1, 0), own, ""},
		{"a user at level 1 sees no whole CPUs", asUser(1, 0), all, "perf-event-paranoid programs-of-others"},
		{"a user at level 0 sees whole CPUs", asUser(0, 0), all, "programs-of-others"},
		{"a user at Debian's level 3 sees nothing", asUser(3, 1), own, "perf-event-paranoid kptr-restrict"},
		{"a process that may be another user's", asUser(1, 0), one, "process-of-others"},
		{"a rootless container's root is none", with(root, func(s *Sight) { s.UserNS = true }), own, "user-namespace perf-event-paranoid kptr-restrict"},
		{"a container", with(root, func(s *Sight) { s.Status.Seccomp = 2; s.Container = "/.dockerenv"; s.PIDNS = true }), all, "seccomp pid-namespace"},
		{"a container that profiles itself", with(root, func(s *Sight) { s.PIDNS = true }), own, ""},
		{"a virtual machine without counters", with(root, func(s *Sight) { s.PMU = ptr(false); s.Hypervisor = true }), own, "no-pmu"},
		{"no counters, and none are asked for", with(root, func(s *Sight) { s.PMU = ptr(false) }), Config{Events: []Event{CPUClock}}, ""},
		{"a kernel without perf events", with(root, func(s *Sight) { s.PerfEvents = ptr(false); s.Paranoid = nil }), own, "no-perf-events"},
		{"a kernel that is locked down", with(root, func(s *Sight) { s.Lockdown = "confidentiality" }), own, "lockdown"},
		{"the lesser lockdown forbids nothing", with(root, func(s *Sight) { s.Lockdown = "integrity" }), own, ""},
		{"more samples than the kernel takes", root, Config{Frequency: 200000}, "max-sample-rate"},
		{"a /proc that hides others", with(root, func(s *Sight) { s.HiddenProc = true }), all, "hidden-processes"},
		{"nothing could be read: nothing is claimed", Sight{}, own, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ids []string
			for _, r := range Restrictions(tt.s, tt.c) {
				ids = append(ids, r.ID)
				if len(r.Why) < 20 || len(r.HowToAllow) < 10 {
					t.Errorf("%+v: want a reason and a way", r)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(ids, " ")); diff != "" {
				t.Errorf("restrictions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheStatusOfAProcessIsRead(t *testing.T) {
	got, err := parseStatus(strings.NewReader("Name:\tcat\nUid:\t1000\t1001\t1000\t1000\nCapEff:\t0000004000000000\nSeccomp:\t2\nSeccomp_filters:\t1\n"))
	if want := (Status{Known: true, UID: 1001, Capabilities: 1 << capPerfmon, Seccomp: 2}); err != nil || got != want {
		t.Errorf("%+v, error %v, want %+v", got, err, want)
	}
	if got, err := parseStatus(strings.NewReader("Uid:\t1000\t1001\t1000\t1000\nCapEff:\tx\n")); err == nil || got.Known {
		t.Errorf("%+v, error %v, want an error alone", got, err)
	}
}

func TestARefusalSaysWhatWasTriedAndWhatToDo(t *testing.T) {
	e := &Refused{Target{PIDs: []int{7}}, []Attempt{{Cycles, false, "no counters"}, {BusCycles, false, "no counters"}, {CPUClock, true, "not permitted"}},
		[]Restriction{{"seccomp", "it is filtered", "run it outside"}}}
	want := "profile process 7: nothing could be sampled: cycles, bus-cycles: no counters; cpu-clock of user code alone: not permitted\n" +
		"seccomp: it is filtered; to allow it, run it outside"
	if diff := cmp.Diff(want, e.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestWhatWasGotIsToldWithWhatWasPreferred(t *testing.T) {
	for want, attempts := range map[string][]Attempt{
		"sampling cycles": {{Event: Cycles}},
		"sampling cpu-clock, because of cycles, bus-cycles: none":   {{Cycles, false, "none"}, {BusCycles, false, "none"}, {Event: CPUClock}},
		"sampling cycles of user code alone, because of cycles: no": {{Cycles, false, "no"}, {Event: Cycles, UserOnly: true}},
	} {
		if got := Got(attempts); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPlansThatCannotBeAreRefusedWithAllThatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Config
		want []string
	}{
		{"the zero value is good", Config{}, nil},
		{"all and one", Config{Target: Target{All: true, PIDs: []int{3}}}, []string{"want one of the two"}},
		{"numbers below zero", Config{Target: Target{PIDs: []int{-1}}, Frequency: -1}, []string{"process -1", "-1 samples a second"}},
		{"a process twice", Config{Target: Target{PIDs: []int{3, 4, 3}}}, []string{"process 3 is named twice"}},
		{"a frequency and a period", Config{Frequency: 1, Period: 1}, []string{"want one of the two"}},
		{"an event that there is not", Config{Events: []Event{"instructions"}}, []string{`"instructions": want cycles, bus-cycles, cpu-clock, task-clock`}},
	} {
		err := tt.c.Validate()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q in it", tt.name, err, want)
			}
		}
	}
	for _, e := range Events() {
		if got, err := ParseEvent(string(e)); got != e || err != nil || e.Sentence() == "" {
			t.Errorf("%s: %v, %v, %q", e, got, err, e.Sentence())
		}
	}
}
