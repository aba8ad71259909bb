package hw

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
)

// bareMachine has every counter; its parts are taken away by the tests.
func bareMachine(t *testing.T) world {
	return world{
		readFile: files{fadtPath: table(t, "fadt-pc.hex"), "/sys/class/ptp/ptp0/clock_name": []byte("mlx5_ptp\n"), "/sys/class/ptp/ptp10/clock_name": []byte("KVM virtual PTP\n")}.read,
		devices: func(prefix string) ([]string, error) {
			return map[string][]string{"ptp": {"ptp0", "ptp10"}, "rtc": {"rtc0"}}[prefix], nil
		},
		counter: func() error { return nil },
		hpet: func() (Counter, error) {
			return Counter{Name: HPET, Hz: 23_999_999, Mask: clocksource.Mask32, From: "a script"}, nil
		},
		port:  func(uint16) error { return nil },
		clock: func(string) error { return nil },
		ptp:   func(string) ([]string, error) { return []string{"extended", "clock_gettime"}, nil },
		rtc:   func(string) error { return nil },
	}
}

func answers(found []Availability) map[string]machine.Answer {
	m := map[string]machine.Answer{}
	for _, a := range found {
		m[a.Name] = a.Can
	}
	return m
}

func TestProbeOfAMachineThatHasEverything(t *testing.T) {
	found := probe(bareMachine(t))
	want := map[string]machine.Answer{
		ProcessorCounter: machine.Yes, HPET: machine.Yes, ACPIPM: machine.Yes,
		MonotonicRaw: machine.Yes, Monotonic: machine.Yes, BootTime: machine.Yes, RealTime: machine.Yes, TAI: machine.Yes,
		MonotonicVDSO: machine.Yes, RealTimeVDSO: machine.Yes, "ptp0": machine.Yes, "ptp10": machine.Yes, "rtc0": machine.Yes,
	}
	if !hasPorts {
		want[ACPIPM] = machine.No
	}
	if d := cmp.Diff(want, answers(found)); d != "" {
		t.Error(d)
	}
}

func TestProbeKeepsNoAndCouldNotTellApart(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*world)
		which  string
		want   machine.Answer
		reason string
	}{
		{"a counter that may not be read", func(w *world) { w.counter = func() error { return &NotHere{What: "tsc", Reason: "denied"} } }, ProcessorCounter, machine.No, "denied"},
		{"no HPET", func(w *world) {
			w.hpet = func() (Counter, error) { return Counter{}, &NotHere{What: HPET, Reason: "/dev/hpet does not exist"} }
		}, HPET, machine.No, "does not exist"},
		{"an HPET that only root may open", func(w *world) {
			w.hpet = func() (Counter, error) {
				return Counter{}, &NotHere{What: HPET, Reason: "permission denied", Unsure: true}
			}
		}, HPET, machine.Unknown, "permission denied"},
		{"an error that nobody foresaw tells nothing", func(w *world) { w.hpet = func() (Counter, error) { return Counter{}, errors.New("odd") } }, HPET, machine.Unknown, "odd"},
		{"a PM timer that is not there", func(w *world) { w.readFile = files{fadtPath: table(t, "fadt-hardware-reduced.hex")}.read }, ACPIPM, machine.No, ""},
		{"a POSIX clock that an old kernel lacks", func(w *world) {
			w.clock = func(name string) error {
				if name == TAI {
					return &NotHere{What: name, Reason: "the kernel does not have this clock"}
				}
				return nil
			}
		}, TAI, machine.No, "does not have"},
		{"no PTP clock", func(w *world) { w.devices = func(string) ([]string, error) { return nil, nil } }, "ptp", machine.No, "/dev/ptp0"},
		{"no real-time clock", func(w *world) { w.devices = func(string) ([]string, error) { return nil, nil } }, "rtc", machine.No, "/dev/rtc0"},
		{"devices that cannot be listed", func(w *world) { w.devices = func(string) ([]string, error) { return nil, fs.ErrPermission } }, "ptp", machine.Unknown, "permission"},
		{"a PTP clock of others", func(w *world) {
			w.ptp = func(name string) ([]string, error) {
				return nil, &NotHere{What: name, Reason: "permission denied", Unsure: true}
			}
		}, "ptp0", machine.Unknown, "permission"},
		{"a real-time clock that does not answer", func(w *world) { w.rtc = func(string) error { return errors.New("no answer") } }, "rtc0", machine.Unknown, "no answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := bareMachine(t)
			tt.change(&w)
			for _, a := range probe(w) {
				if a.Name != tt.which {
					continue
				}
				if a.Can != tt.want || !strings.Contains(a.Why, tt.reason) || a.Needs == "" {
					t.Errorf("%+v, want %s because of %q", a, tt.want, tt.reason)
				}
				var n *NotHere
				if err := a.Err(); !errors.As(err, &n) || n.What != tt.which || n.Unsure != (tt.want == machine.Unknown) {
					t.Errorf("error %#v", err)
				}
				return
			}
			t.Errorf("%s was not probed", tt.which)
		})
	}
}

func TestErrorSaysWhatWhyAndWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  NotHere
		want string
	}{
		{"no", NotHere{What: "hpet", Reason: "/dev/hpet does not exist"}, "hpet cannot be used here: /dev/hpet does not exist"},
		{"no, with a remedy", NotHere{What: "hpet", Reason: "it is off", Remedy: "boot without hpet=disable"}, "hpet cannot be used here: it is off; boot without hpet=disable"},
		{"could not tell", NotHere{What: "hpet", Reason: "permission denied", Remedy: "run as root", Unsure: true}, "could not tell whether hpet can be used here: permission denied; run as root"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestReferenceIsChosenAsAKernelWouldAndItsWorthIsSaid(t *testing.T) {
	without := func(names ...string) []Availability {
		var found []Availability
		for _, a := range probe(bareMachine(t)) {
			a.Can = machine.Yes
			for _, n := range names {
				if a.Name == n {
					a = a.notHere(&NotHere{What: n, Reason: "taken away"})
				}
			}
			found = append(found, a)
		}
		return found
	}
	real := Surroundings{Clocksource: "tsc", Guest: machine.No}
	for _, tt := range []struct {
		name   string
		found  []Availability
		s      Surroundings
		want   string
		worth  machine.Answer
		passed int
	}{
		{"the HPET comes first", without(), real, HPET, machine.Yes, 0},
		{"then the PM timer", without(HPET), real, ACPIPM, machine.Yes, 1},
		{"then a network card", without(HPET, ACPIPM), real, "ptp0", machine.Yes, 2},
		{"a clock of the host is passed over for the raw clock", without(HPET, ACPIPM, "ptp0"), real, MonotonicRaw, machine.No, 4},
		{"a guest's HPET is taken, and its worth is open", without(), Surroundings{Clocksource: "kvm-clock", Guest: machine.Yes}, HPET, machine.Unknown, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Choose(tt.found, tt.s)
			if err != nil || c.Name != tt.want || c.Independent != tt.worth || len(c.Passed) != tt.passed {
				t.Errorf("chose %s (%s: %s) past %d, %v; want %s (%s) past %d", c.Name, c.Independent, c.Reason, len(c.Passed), err, tt.want, tt.worth, tt.passed)
			}
		})
	}
	var n *NotHere
	if _, err := Choose(nil, real); !errors.As(err, &n) {
		t.Errorf("error %v, want a NotHere", err)
	}
}

func TestDeviceNamesAreNoPaths(t *testing.T) {
	for name, want := range map[string]bool{"ptp0": true, "ptp12": true, "ptp": false, "ptp0/../sda": false, "../ptp0": false, "ptp-1": false, "ptp12345": false, "ptpx": false} {
		if got := isDevice(name, "ptp"); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
