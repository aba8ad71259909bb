package live

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

type closer struct {
	*script
	closed *int
}

func (c closer) Close() error { *c.closed++; return nil }

// scripted is hardware with the given counters, all of which read the script.
func scripted(s *script, closed *int, can map[string]machine.Answer) Hardware {
	known := []hw.Availability{
		{Counter: hw.Counter{Name: "tsc", Mask: clocksource.Mask64}},
		{Counter: hw.Counter{Name: hw.HPET, Hz: 25_000_000, Mask: clocksource.Mask32}},
		{Counter: hw.Counter{Name: hw.ACPIPM, Hz: hw.PMTimerHz, Mask: clocksource.Mask24}},
		{Counter: hw.Counter{Name: hw.MonotonicRaw, Hz: 1_000_000_000, Mask: clocksource.Mask64}},
		{Counter: hw.Counter{Name: "ptp0", Hz: 1_000_000_000, Mask: clocksource.Mask64}, Title: "igb"},
		{Counter: hw.Counter{Name: "rtc0", Hz: 1}, Slow: true},
	}
	read := func(name string) {
		for _, a := range known {
			if a.Name == name {
				s.reference = a.Counter
			}
		}
	}
	return Hardware{
		Counter: "tsc",
		Probe: func() (found []hw.Availability) {
			for _, a := range known {
				a.Can, a.Needs, a.Why = can[a.Name], "nothing", "the test says so"
				if a.Can == "" {
					a.Can, a.Remedy = machine.No, "ask the test"
				}
				found = append(found, a)
			}
			return found
		},
		Frequency: func(context.Context) (hw.Frequency, error) {
			return hw.Frequency{Hz: 2_500_000_000, From: "script", Exact: "exact"}, nil
		},
		Reader: func(name string) (ReadCloser, error) { read(name); return closer{s, closed}, nil },
		Stream: func(p hw.Plan) (StreamCloser, error) {
			read(p.Reference)
			return &scriptStream{s, p}, p.Validate()
		},
		World: s,
		Close: func() error { *closed++; return nil },
	}
}

func TestOpenChoosesTheReferenceAndSaysWhatItIsWorth(t *testing.T) {
	all := map[string]machine.Answer{"tsc": machine.Yes, hw.HPET: machine.Yes, hw.ACPIPM: machine.Yes, hw.MonotonicRaw: machine.Yes, "ptp0": machine.Yes, "rtc0": machine.Yes}
	without := func(names ...string) map[string]machine.Answer {
		m := map[string]machine.Answer{}
		for k, v := range all {
			m[k] = v
		}
		for _, n := range names {
			delete(m, n)
		}
		return m
	}
	cases := []struct {
		name        string
		can         map[string]machine.Answer
		ask         string
		guest       machine.Answer
		want        string
		independent machine.Answer
		passed      []string
		err         string
	}{
		{"the HPET goes first", all, "", machine.No, hw.HPET, machine.Yes, nil, ""},
		{"then the ACPI PM timer", without(hw.HPET), Auto, machine.No, hw.ACPIPM, machine.Yes, []string{hw.HPET}, ""},
		{"then a PTP clock", without(hw.HPET, hw.ACPIPM), Auto, machine.No, "ptp0", machine.Yes, []string{hw.HPET, hw.ACPIPM}, ""},
		{"at last the kernel's clock, which is no witness", without(hw.HPET, hw.ACPIPM, "ptp0"), Auto, machine.No,
			hw.MonotonicRaw, machine.No, []string{hw.HPET, hw.ACPIPM, "ptp0"}, ""},
		{"in a guest the HPET is the hypervisor's", all, Auto, machine.Yes, hw.HPET, machine.Unknown, nil, ""},
		{"one that is named is taken", all, hw.MonotonicRaw, machine.No, hw.MonotonicRaw, machine.No, nil, ""},
		{"one that is named and not there is an error", without(hw.HPET), hw.HPET, machine.No, "", "", nil, "the test says so"},
		{"a real-time clock is too slow", all, "rtc0", machine.No, "", "", nil, "too slow"},
		{"the counter itself is no reference", all, "tsc", machine.No, "", "", nil, "would be compared with itself; name one that can be read, or auto: hpet, acpi_pm, monotonic_raw, ptp0"},
		{"an unknown name is an error that lists what there is", all, "sundial", machine.No, "", "", nil, "hpet, acpi_pm, monotonic_raw, ptp0"},
		{"without the counter there is nothing to watch", without("tsc"), Auto, machine.No, "", "", nil, "tsc"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, closed := newScript(2), 0
			p, _ := watchdog.ProfileOf(watchdog.E9)
			session, err := OpenOn(context.Background(), Options{
				Profile: p, Retries: -1, Reference: c.ask, Ticks: 3,
				Surroundings: hw.Surroundings{Clocksource: "tsc", Guest: c.guest},
			}, scripted(s, &closed, c.can))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q", err, c.err)
				}
				if n := (*hw.NotHere)(nil); !errors.As(err, &n) {
					t.Errorf("error %v is no *hw.NotHere", err)
				}
				if closed != 1 {
					t.Errorf("closed %d times after an error", closed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ref := session.Reference
			var passed []string
			for _, x := range ref.Passed {
				passed = append(passed, x.Name)
				if x.Reason == "" {
					t.Errorf("%s is passed over without a reason", x.Name)
				}
			}
			if ref.Name != c.want || ref.Independent != c.independent || cmp.Diff(c.passed, passed) != "" {
				t.Errorf("reference %s, independent %s, passed over %q; want %s, %s, %q", ref.Name, ref.Independent, passed, c.want, c.independent, c.passed)
			}
			r := collect(session.Watch)
			if got := strings.Join(r.kinds, " "); r.err != nil || got != "initialised agreed agreed" {
				t.Errorf("verdicts %s, error %v", got, r.err)
			}
			if err := session.Close(); err != nil || closed == 0 {
				t.Errorf("closed %d times, error %v", closed, err)
			}
		})
	}
}

func TestOpenTakesAnotherReferenceWhereItMay(t *testing.T) {
	here := map[string]machine.Answer{"tsc": machine.Yes, hw.MonotonicRaw: machine.Yes}
	cases := []struct {
		name, ask string
		can       map[string]machine.Answer
		passed    []string
		err       string
	}{
		{"the one that was named is the first of those passed over", hw.ACPIPM, here, []string{hw.ACPIPM, hw.HPET, "ptp0"}, ""},
		{"a clock that nobody knows is an error all the same", "sundial", here, nil, "no such counter"},
		{"and so is one that is too slow", "rtc0", here, nil, "too slow"},
		{"where there is no other the error is that of the named one", hw.HPET, map[string]machine.Answer{"tsc": machine.Yes}, nil, "hpet cannot be used here: the test says so; ask the test"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, closed := newScript(2), 0
			p, _ := watchdog.ProfileOf(watchdog.E12)
			session, err := OpenOn(context.Background(), Options{Profile: p, Reference: c.ask, Instead: true}, scripted(s, &closed, c.can))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			var passed []string
			for _, x := range session.Reference.Passed {
				passed = append(passed, x.Name)
			}
			if session.Reference.Name != hw.MonotonicRaw || cmp.Diff(c.passed, passed) != "" {
				t.Errorf("reference %s, passed over %q; want %q", session.Reference.Name, passed, c.passed)
			}
		})
	}
}

func TestARoughRateIsNotHeldToTheNarrowLimit(t *testing.T) {
	cases := []struct {
		name    string
		error   clocksource.PPM // 0: stated, not measured
		current string
		known   bool
		want    bool
	}{
		{"a rate that somebody states", 0, "tsc", false, true},
		{"one that the kernel was told", 0, "tsc", true, false},
		{"a good measurement", 8, "tsc", false, true},
		{"one that was disturbed", 300, "hpet", false, false},
		{"one by the kernel's first estimate", 8, "tsc-early", false, false},
		{"a stated one before the kernel has refined its own", 0, "tsc-early", false, true},
	}
	p, _ := watchdog.ProfileOf(watchdog.E12)
	choice := hw.Choice{Availability: hw.Availability{Counter: hw.Counter{Name: hw.HPET, Hz: 100_000_000, Mask: clocksource.Mask32}}}
	for _, c := range cases {
		o := Options{Profile: p, Known: c.known, Surroundings: hw.Surroundings{Clocksource: c.current}}
		h := header(o, choice, hw.Frequency{Hz: 2_500_000_000, Error: c.error}, "tsc", []int{0, 1})
		if got := h.Watched[0].Calibrated; got != c.want {
			t.Errorf("%s: calibrated %v, want %v", c.name, got, c.want)
		}
	}
}

func TestARecordingOfThePMTimerRefusesMoreAttemptsThanItHolds(t *testing.T) {
	p, _ := watchdog.ProfileOf(watchdog.E5)
	for retries, fits := range map[int]bool{7: true, 8: false, 50: false} {
		var file bytes.Buffer
		s, closed := newScript(2), 0
		session, err := OpenOn(context.Background(), Options{Profile: p, Retries: retries, Record: &file, Reference: hw.ACPIPM, Ticks: 2},
			scripted(s, &closed, map[string]machine.Answer{"tsc": machine.Yes, hw.ACPIPM: machine.Yes}))
		if (err == nil) != fits {
			t.Errorf("%d retries: error %v", retries, err)
		}
		if err != nil {
			continue
		}
		if r := collect(session.Watch); r.err != nil {
			t.Error(r.err)
		}
		if report, err := trace.Verify(&file); err != nil || report.Ticks != 2 || !report.Ended {
			t.Errorf("%d retries: report %+v, error %v", retries, report, err)
		}
	}
}

func TestARecordingHoldsWhatTheRetriesAskForUpToSixteen(t *testing.T) {
	p, _ := watchdog.ProfileOf(watchdog.E5)
	cases := []struct {
		reference string
		retries   int
		want      int
	}{
		{hw.MonotonicRaw, -1, 8}, {hw.MonotonicRaw, 11, 12}, {hw.MonotonicRaw, 200, 16}, {hw.HPET, 50, 8},
	}
	for _, c := range cases {
		choice := hw.Choice{Availability: hw.Availability{Counter: hw.Counter{Name: c.reference, Hz: 1_000_000_000, Mask: clocksource.Mask64}}}
		h := header(Options{Profile: p, Retries: c.retries, RecordedBy: "test"}, choice, hw.Frequency{Hz: 2_500_000_000}, "tsc", []int{0, 1})
		if h.ReadBacks != c.want {
			t.Errorf("%s with %d retries: %d read-backs, want %d", c.reference, c.retries, h.ReadBacks, c.want)
		}
		if err := h.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestAConfigurationReportsAllFaultsAtOnce(t *testing.T) {
	s := newScript(1)
	c := configOf(s, watchdog.E5, -1)
	c.Retries, c.Header.Interval, c.Header.ReadBacks = 1000, 1000, 16
	c.Record = new(trace.Writer)
	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"1000 retries", "-1 ticks", "not read faster", "at most 8 of hpet"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if _, err := New(Config{}, s, s); err == nil {
		t.Error("an empty configuration was taken")
	}
}

func TestAReferenceThatTheKernelMayUseIsNotLoaded(t *testing.T) {
	all := map[string]machine.Answer{"tsc": machine.Yes, hw.HPET: machine.Yes, hw.ACPIPM: machine.Yes, hw.MonotonicRaw: machine.Yes}
	for _, c := range []struct {
		name      string
		reference string
		retries   int
		accept    bool
		refused   bool
		loads     bool
	}{
		{"eight attempts over the HPET are a watchdog's pace", hw.HPET, 7, false, false, false},
		{"nine come in a row just when it is slow", hw.HPET, 8, false, true, false},
		{"as many as there can be", hw.HPET, MaxRetries, false, true, false},
		{"the PM timer may be the kernel's reference, too", hw.ACPIPM, 50, false, true, false},
		{"a loss that was accepted", hw.HPET, 50, true, false, true},
		{"one over the PM timer", hw.ACPIPM, 50, true, false, true},
		{"a clock that no kernel watches with", hw.MonotonicRaw, 255, false, false, false},
	} {
		s, closed := newScript(2), 0
		p, _ := watchdog.ProfileOf(watchdog.E5)
		session, err := OpenOn(context.Background(), Options{
			Profile: p, Retries: c.retries, Reference: c.reference, Ticks: 2, AcceptLosingTSC: c.accept,
		}, scripted(s, &closed, all))
		if refused := errors.Is(err, hw.ErrTooFast); refused != c.refused || err != nil && !refused {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err != nil {
			continue
		}
		if session.Loads != c.loads {
			t.Errorf("%s: loads %v, want %v", c.name, session.Loads, c.loads)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestARecordingKeepsMoreWhereThatIsHarmless(t *testing.T) {
	all := map[string]machine.Answer{"tsc": machine.Yes, hw.HPET: machine.Yes, hw.ACPIPM: machine.Yes, hw.MonotonicRaw: machine.Yes}
	for reference, want := range map[string]int{hw.HPET: 8, hw.ACPIPM: 8, hw.MonotonicRaw: 16} {
		s, closed := newScript(2), 0
		p, _ := watchdog.ProfileOf(watchdog.E5)
		var file bytes.Buffer
		session, err := OpenOn(context.Background(), Options{Profile: p, Retries: -1, Reference: reference, Ticks: 2, Record: &file}, scripted(s, &closed, all))
		if err != nil {
			t.Fatal(err)
		}
		if r := collect(session.Watch); r.err != nil {
			t.Fatal(r.err)
		}
		r, err := trace.NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		var tick trace.Tick
		if err := r.Read(&tick); err != nil || len(tick.Reads[0]) != want || r.Header().ReadBacks != want {
			t.Errorf("%s: %d read-backs of %d, want %d; error %v", reference, len(tick.Reads[0]), r.Header().ReadBacks, want, err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}
