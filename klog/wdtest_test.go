package klog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/watchdog"
)

// fakeClocks are the clocks around the kernel's own test of its watchdog, first
// generation: wdtest-ktime against a clock of 1 GHz. Cycles are nanoseconds.
type fakeClocks struct {
	now     clocksource.Cycles
	slow    int                // reads of the clock that are delayed from now on
	delay   clocksource.Cycles // what a delayed read-back takes in all
	offset  clocksource.Cycles // of the clock against the reference
	between clocksource.Cycles // two reads of the reference
}

func (f *fakeClocks) ReadReference() clocksource.Cycles { return f.now }

func (f *fakeClocks) ReadBack(int, watchdog.ReadPattern) watchdog.ReadBack {
	took := clocksource.Cycles(60)
	if f.slow > 0 {
		f.slow--
		took = f.delay
	}
	rb := watchdog.ReadBack{Before: f.now, Clock: f.now + took - 30 + f.offset, After: f.now + took, Again: f.now + took + f.between}
	if took > 60 {
		rb.Clock = f.now + 30 + f.offset // where in the delay the value is taken cancels in the log, too
	}
	f.now = rb.Again + 40
	return rb
}

func (f *fakeClocks) Exchange(int, int, watchdog.RemoteRule) watchdog.Exchange {
	return watchdog.Exchange{}
}

func (f *fakeClocks) ReadRemote(int, int) (before, remote, after clocksource.Cycles) {
	f.now += 200
	return f.now - 200, f.now - 100, f.now
}

// module is the kernel's test module at work: what it and the kernel print.
type module struct {
	t     *testing.T
	setup watchdog.Setup
	cpus  watchdog.AllCPUs
	m     fakeClocks
	log   []string
	w     *watchdog.Watchdog
	print *Printer
	state watchdog.State
	out   []watchdog.Verdict
}

func newModule(t *testing.T, p watchdog.Profile, cpus int) *module {
	t.Helper()
	conversion, err := clocksource.Register(1_000_000, clocksource.ScaleKHz, clocksource.Mask64)
	if err != nil {
		t.Fatal(err)
	}
	margin := p.Margin("wdtest-ktime", 1_000_000, clocksource.ScaleKHz)
	x := &module{t: t, cpus: watchdog.AllCPUs(cpus), setup: watchdog.Setup{
		Profile: p, Retries: -1, Current: "kvm-clock",
		Reference: watchdog.Clock{Name: "kvm-clock", Mask: clocksource.Mask64, Conversion: conversion, Continuous: true, Margin: margin},
		Watched:   []watchdog.Clock{{Name: "wdtest-ktime", Mask: clocksource.Mask64, Conversion: conversion, Continuous: true, HRES: true, VerifyPerCPU: true, Margin: margin}},
	}}
	x.m = fakeClocks{now: 1_000_000_000, delay: clocksource.Cycles(4*margin) + 880, between: 46}
	x.register()
	return x
}

func (x *module) say(format string, args ...any) {
	x.log = append(x.log, "clocksource_wdtest: --- "+fmt.Sprintf(format, args...))
}

// register gives the watchdog a fresh clock, as the module does behind each verdict.
func (x *module) register() {
	var err error
	if x.w, err = watchdog.New(x.setup); err != nil {
		x.t.Fatal(err)
	}
	x.print, x.state = NewPrinter(x.setup), watchdog.State{}
	x.w.Start(&x.state, clocksource.Nanos(x.m.now), x.cpus)
	x.tick()
}

func (x *module) tick() watchdog.Verdict {
	x.m.now = max(x.m.now, clocksource.Cycles(x.state.Expiry))
	x.out = x.w.Step(&x.state, watchdog.Tick{Now: clocksource.Nanos(x.m.now), CPU: x.state.CPU, Online: x.cpus}, &x.m, x.out[:0])
	for _, l := range x.print.Verdict(&x.out[0]) {
		x.log = append(x.log, l.Text)
	}
	if x.out[0].Kind.Condemns() {
		x.say("Marking wdtest-ktime unstable due to clocksource watchdog.")
	}
	return x.out[0]
}

// inject is case 3 with i delayed reads: the module's line, and two seconds of checks.
func (x *module) inject(i int) (stable bool) {
	retries := x.setup.Profile.Attempts(x.cpus.Count(), -1) - 1
	suffix := ", expect clock skew"
	switch {
	case i <= 1 && i < retries:
		suffix = ""
	case i <= retries:
		suffix = ", expect message"
	}
	x.say("Watchdog with %dx error injection, %d retries%s.", i, retries, suffix)
	x.m.slow = i
	for range 4 {
		x.tick()
	}
	if x.m.slow != 0 {
		x.t.Errorf("%s, %dx: %d injections are left", x.setup.Profile.Era, i, x.m.slow)
	}
	if stable = !x.state.Clocks[0].Unstable; !stable {
		x.register()
	}
	return stable
}

// TestTheGoldenLogOfTheKernelsOwnTest is the log of a 6.5-rc4 kernel with one
// CPU against kvm-clock, line by line: our watchdog comes to every decision
// itself, from the delays and the counter values of the log.
func TestTheGoldenLogOfTheKernelsOwnTest(t *testing.T) {
	r, err := watchdog.ParseRelease("6.5-rc4")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := watchdog.ProfileAt(watchdog.E7, r)
	x := newModule(t, p, 1)
	for i := range 4 {
		x.inject(i)
	}
	// The fuzz: what the log says that the counters were at both checks.
	x.say("Watchdog clock-value-fuzz error injection, expect clock skew and per-CPU mismatches.")
	x.state = watchdog.State{}
	for _, at := range [][2]clocksource.Cycles{{0x928aec30e, 0x1780716719e80b86}, {0x9454aecf2, 0x17807167426ff864}} {
		x.m.now, x.m.offset = at[0], at[1]-at[0]-30
		x.state.Expiry = clocksource.Nanos(x.m.now)
		x.tick()
	}
	v := x.w.VerifyFrom(0, 0, x.cpus, watchdog.VerifyPlan{Anyway: true}, &x.m)
	for _, l := range x.print.Verification(&v) {
		x.log = append(x.log, l.Text)
	}
	x.say("Done with test.")

	golden, err := os.ReadFile("testdata/wdtest/6.5-rc4.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(golden)), "\n"), x.log); diff != "" {
		t.Errorf("(-log of the kernel +ours):\n%s", diff)
	}
	// And the parser has a word for each of its lines.
	var lines []Line
	for _, text := range x.log {
		lines = append(lines, Line{Text: text})
	}
	if read := readLines(lines); len(read) != len(lines) {
		t.Errorf("%d of %d lines were read", len(read), len(lines))
	}
}

// TestInjectionsPrintWhatTheModuleExpects is the text of case 3, for every era
// that condemns for latency and five sizes of machine. From 6.11 (6.10.5,
// 6.1.105) on the kernel says less than the module announces: it reports only a success in
// the very last attempt, and never one of a single retry.
func TestInjectionsPrintWhatTheModuleExpects(t *testing.T) {
	messages, silent := 0, 0
	for _, p := range watchdog.Profiles() {
		if !p.LatencyCondemns() || p.Skew.Limit.Reference == 0 {
			continue
		}
		for _, cpus := range []int{1, 2, 8, 64, 960} {
			retries := p.Attempts(cpus, -1) - 1
			x := newModule(t, p, cpus)
			for i := 0; i <= retries+1; i++ {
				x.log = nil
				stable := x.inject(i)
				announced := strings.HasSuffix(x.log[0], ", expect message.")
				want := []string{x.log[0]}
				on := "clocksource: timekeeping watchdog on CPU" + cpuOf(x.log)
				switch {
				case i > retries:
					took, limit := x.m.delay, p.MaxSkew
					text := fmt.Sprintf("kvm-clock read-back delay of %dns, attempt %d, marking unstable", took, i)
					if p.Text.Delay == "excessive" {
						text = fmt.Sprintf("wd-wdtest-ktime-wd excessive read-back delay of %dns vs. limit of %dns, wd-wd read-back delay only 46ns, attempt %d, marking wdtest-ktime unstable", took, limit, i)
					}
					want = append(want, on+": "+text, "clocksource_wdtest: --- Marking wdtest-ktime unstable due to clocksource watchdog.")
				case announced && (!p.Text.RetriedStrict || i > 1 && i == retries):
					messages++
					want = append(want, fmt.Sprintf("%s: kvm-clock retried %d times before success", on, i))
				case announced:
					silent++
				}
				if diff := cmp.Diff(want, x.log); diff != "" || stable != (i <= retries) {
					t.Errorf("%s, %d CPUs, %d of %d retries, stable %v (-want +printed):\n%s", p.Era, cpus, i, retries, stable, diff)
				}
			}
		}
	}
	if messages < 50 || silent < 20 {
		t.Errorf("%d messages and %d that the module expects in vain: the test lost its subject", messages, silent)
	}
}

// cpuOf is the CPU of the watchdog's line, which the rotation chose.
func cpuOf(log []string) string {
	for _, l := range log {
		if _, rest, ok := strings.Cut(l, "watchdog on CPU"); ok {
			number, _, _ := strings.Cut(rest, ":")
			return number
		}
	}
	return ""
}

// TestATSCLikeClockHasAMarginAndMoves is case 2: the margin that a registration
// without one makes is at least 1 us, and a busy wait of 1 us moves the clock by
// as much. The module prints both values, and the parser takes the line for the test's.
func TestATSCLikeClockHasAMarginAndMoves(t *testing.T) {
	for _, at := range [][3]int{{5, 14, 0}, {5, 15, 17}, {6, 1, 192}, {6, 5, 0}, {6, 14, 0}, {7, 0, 0}} {
		rules := clocksource.RulesAt(at[0], at[1], at[2])
		r := clocksource.NewRegistry(rules)
		if _, err := r.Register(rules.WDTestKtime()); err != nil {
			t.Fatal(err)
		}
		s, _ := r.Source("wdtest-ktime")
		if s.Margin < clocksource.Microsecond || s.Margin != 2*rules.MaxSkew {
			t.Errorf("%v: a margin of %d ns, want at least 1000, and twice S of %d", at, s.Margin, rules.MaxSkew)
		}
		before := clocksource.Cycles(1_700_000_000_000_000_123)
		after := before + s.Frequency().CyclesIn(clocksource.Microsecond)
		moved := s.Conversion.Between(before, after, s.Mask, clocksource.DeltaTopBit, clocksource.Wrapping)
		if moved < clocksource.Microsecond {
			t.Errorf("%v: a wait of 1 us moved the clock by %d ns", at, moved)
		}
		line := Line{Text: fmt.Sprintf("clocksource_wdtest: --- tsc-like times: %d - %d = %d.", after, before, moved)}
		read := readLines([]Line{{Text: "clocksource_wdtest: --- Verify tsc-like uncertainty margin."}, line})
		if len(read) != 2 || read[1].Kind != event.SelfTest || !strings.HasSuffix(read[1].Detail, "= 1000.") {
			t.Errorf("%v: read %+v", at, read)
		}
	}
}
