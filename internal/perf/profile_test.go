package perf

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/stats"
)

func equal(n int64) Weight { return Weight{n, float64(n), float64(n)} }

func kernelFrame(symbol string) Frame { return Frame{Object: "[kernel]", Symbol: symbol, Kernel: true} }

func stack(pid int32, command string, cpu uint32, n int64, frames ...Frame) Stack {
	return Stack{PID: pid, Command: command, CPU: cpu, Frames: frames, Weight: equal(n)}
}

// netperfProfile has the numbers of the profile with which the RFC showed what the
// HPET costs, as samples of 10 000, and the rest in one row for each command.
func netperfProfile() *Profile {
	return &Profile{Event: BusCycles, Stacks: []Stack{
		stack(101, "netserver", 0, 4086, kernelFrame("read_hpet")),
		stack(102, "netperf", 1, 4383, kernelFrame("read_hpet")),
		stack(102, "netperf", 1, 227, kernelFrame("syscall_exit_to_user_mode")),
		stack(101, "netserver", 0, 219, kernelFrame("syscall_exit_to_user_mode")),
		stack(101, "netserver", 0, 96, kernelFrame("entry_SYSCALL_64")),
		stack(0, "swapper", 0, 92, kernelFrame("read_hpet")),
		stack(102, "netperf", 1, 897, kernelFrame("copy_user_enhanced_fast_string")),
	}}
}

func TestTheTableIsTheOneOfTheKernelDevelopers(t *testing.T) {
	p := netperfProfile()
	var got []string
	for _, r := range p.Table(true) {
		got = append(got, strings.Join([]string{percent(r.Ratio), r.Command, r.Object, r.Symbol, string(rune('0' + r.CPU))}, " "))
		if want := stats.Wilson(stats.Count{Events: int(r.Samples), Trials: 10000}, 0.95); r.Within != want {
			t.Errorf("%s: interval %v, want %v", r.Symbol, r.Within, want)
		}
	}
	want := []string{
		"43.83 netperf [kernel] read_hpet 1",
		"40.86 netserver [kernel] read_hpet 0",
		"8.97 netperf [kernel] copy_user_enhanced_fast_string 1",
		"2.27 netperf [kernel] syscall_exit_to_user_mode 1",
		"2.19 netserver [kernel] syscall_exit_to_user_mode 0",
		"0.96 netserver [kernel] entry_SYSCALL_64 0",
		"0.92 swapper [kernel] read_hpet 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if rows := p.Table(false); rows[0].CPU != -1 {
		t.Errorf("a table without CPUs says CPU %d", rows[0].CPU)
	}
}

func percent(ratio float64) string {
	n := int(math.Round(ratio * 10000))
	digits := []rune{rune('0' + n/1000%10), rune('0' + n/100%10), '.', rune('0' + n/10%10), rune('0' + n%10)}
	return strings.TrimPrefix(string(digits), "0")
}

func TestTheHPETOfTheRFCIsHot(t *testing.T) {
	c := netperfProfile().Clocks()
	if got := c.All; math.Abs(got.Whole.Ratio-0.8561) > 1e-9 || got.Counter != got.Whole || got.Around.Samples != 0 || got.Samples != 10000 {
		t.Errorf("in all: %+v", got)
	}
	var names []string
	for _, p := range c.Processes {
		names = append(names, p.Command)
	}
	if diff := cmp.Diff([]string{"netperf", "netserver", "swapper"}, names); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	if r := c.Processes[0]; r.Whole.Samples != 4383 || r.Samples != 4383+227+897 || r.OfAll.Ratio != 0.4383 {
		t.Errorf("netperf: %+v", r)
	}
	if len(c.Functions) != 1 || c.Functions[0].Symbol != "read_hpet" || c.Functions[0].Part != Counter || c.Functions[0].Why == "" {
		t.Errorf("functions: %+v", c.Functions)
	}
}

func TestPartsOfReadingAClockAddUp(t *testing.T) {
	libc := Frame{Object: "libc.so.6", Symbol: "clock_gettime"}
	p := &Profile{Stacks: []Stack{
		stack(1, "a", 0, 10, kernelFrame("read_hpet")),
		stack(1, "a", 0, 20, kernelFrame("ktime_get_ts64")),
		stack(1, "b", 0, 30, Frame{Object: "[vdso]", Symbol: "__vdso_clock_gettime"}),
		stack(1, "b", 0, 5, libc),
		stack(1, "b", 0, 35, Frame{Object: "a", Symbol: "main"}),
		stack(2, "c", 0, 100, Frame{Object: "c", Symbol: "main"}),
	}}
	c := p.Clocks()
	r := c.Processes[0]
	if len(c.Processes) != 1 || r.Command != "b" || r.Counter.Samples != 10 || r.Around.Samples != 25 || r.Inlined.Samples != 30 ||
		r.Whole.Samples != 65 || r.Samples != 100 || r.Whole.Ratio != 0.65 || r.OfAll.Ratio != 0.325 || c.Chains {
		t.Errorf("%+v", c)
	}
}

func TestClocksThatCannotBeSeenAreTold(t *testing.T) {
	p := &Profile{UserOnly: true, Stacks: []Stack{
		stack(1, "a", 0, 60, Frame{Object: "a", Symbol: "main"}),
		stack(1, "a", 0, 30, Frame{Object: "libx.so", Symbol: "0x10", Why: "stripped"}),
		stack(1, "a", 0, 10, Frame{Object: "[vdso]", Symbol: "0x10", Why: "no symbol"}), // counts, whatever it is called
	}}
	if c := p.Clocks(); !c.UserOnly || c.Unnamed.Samples != 30 || c.Unnamed.Ratio != 0.3 || c.All.Whole.Samples != 10 {
		t.Errorf("%+v", c)
	}
}

func TestACallChainChargesTheWayInToTheClock(t *testing.T) {
	user := func(symbol string) Frame { return Frame{Object: "libc.so.6", Symbol: symbol} }
	for _, tt := range []struct {
		name   string
		frames []Frame
		want   Part
	}{
		{"the counter beneath a system call", []Frame{kernelFrame("read_hpet"), kernelFrame("ktime_get_ts64"), user("clock_gettime")}, Counter},
		{"the entry into the system call", []Frame{kernelFrame("entry_SYSCALL_64"), user("clock_gettime")}, Around},
		{"the result on its way out", []Frame{kernelFrame("_copy_to_user"), kernelFrame("put_timespec64"), kernelFrame("__x64_sys_clock_gettime")}, Around},
		{"another system call", []Frame{kernelFrame("entry_SYSCALL_64"), user("read")}, NoClock},
		{"an interrupt that hits while a clock is read", []Frame{kernelFrame("tcp_v4_rcv"), kernelFrame("asm_sysvec_apic_timer_interrupt"), user("clock_gettime")}, NoClock},
		{"a clock that is read in an interrupt", []Frame{kernelFrame("read_hpet"), kernelFrame("asm_sysvec_apic_timer_interrupt"), user("main")}, Counter},
		{"a handler that lies on the counter's time", []Frame{kernelFrame("asm_common_interrupt"), kernelFrame("read_hpet")}, NoClock},
		{"no frame at all", nil, NoClock},
	} {
		s := stack(1, "a", 0, 1, tt.frames...)
		if got, _, _ := newClockIndex().part(&s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFunctionsCountAsClocksOnlyWhereTheyLie(t *testing.T) {
	for _, tt := range []struct {
		frame Frame
		want  Part
	}{
		{kernelFrame("read_hpet"), Counter},
		{kernelFrame("read_hpet.cold"), Counter},
		{kernelFrame("acpi_pm_read_verified"), Counter},
		{kernelFrame("read_tsc"), Counter},
		{kernelFrame("kvm_clock_get_cycles"), Counter},
		{kernelFrame("pvclock_clocksource_read_nowd"), Counter},
		{kernelFrame("read_hv_clock_tsc_cs"), Counter},
		{kernelFrame("arch_counter_get_cntvct_stable"), Counter},
		{kernelFrame("ktime_get_real_ts64"), Around},
		{kernelFrame("timekeeping_get_ns.constprop.0"), Around},
		{kernelFrame("__x64_sys_clock_gettime"), Around},
		{kernelFrame("__x64_sys_clock_nanosleep"), NoClock},
		{kernelFrame("sched_clock_cpu"), NoClock},
		{kernelFrame("native_sched_clock"), NoClock},
		{kernelFrame("hrtimer_interrupt"), NoClock},
		{kernelFrame("clock_gettime"), NoClock},
		{Frame{Object: "[kernel]", Symbol: "0xffffffff81000000", Kernel: true, Why: "hidden"}, NoClock},
		{Frame{Object: "[ptp_kvm]", Symbol: "read_hpet", Kernel: true}, Counter},
		{Frame{Object: "[vdso]", Symbol: "__vdso_clock_gettime"}, Inlined},
		{Frame{Object: "[vdso]", Symbol: "0x9c0", Why: "no symbol"}, Inlined},
		{Frame{Object: "[vdso]", Symbol: "__vdso_getcpu"}, NoClock},
		{Frame{Object: "[vdso]", Symbol: "__vdso_getrandom"}, NoClock},
		{Frame{Object: "[vsyscall]", Symbol: "gettimeofday"}, Around},
		{Frame{Object: "[vsyscall]", Symbol: "getcpu"}, NoClock},
		{Frame{Object: "libc.so.6", Symbol: "clock_gettime@@GLIBC_2.17"}, Around},
		{Frame{Object: "libc.so.6", Symbol: "time"}, Around},
		{Frame{Object: "ld-musl-x86_64.so.1", Symbol: "time"}, Around},
		{Frame{Object: "game", Symbol: "time"}, NoClock},
		{Frame{Object: "static", Symbol: "clock_gettime"}, Around},
		{Frame{Object: "prog", Symbol: "time.now"}, Around},
		{Frame{Object: "prog", Symbol: "runtime.nanotime1.abi0"}, Around},
		{Frame{Object: "prog", Symbol: "read_hpet"}, NoClock},
		{Frame{Object: "libjvm.so", Symbol: "_ZN2os13javaTimeNanosEv"}, Around},
		{Frame{Object: "rust", Symbol: "_ZN3std4time7Instant3now17h0123456789abcdefE"}, Around},
		{Frame{Object: "[anon]", Symbol: "[anon]", Why: "no names"}, NoClock},
		{Frame{}, NoClock},
	} {
		got := NoClock
		if c := newClockIndex().of(tt.frame); c != nil {
			got = c.Part
		}
		if got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.frame.Symbol, tt.frame.Object, got, tt.want)
		}
	}
}

func TestEveryClockSymbolHasAReasonAndAppearsOnce(t *testing.T) {
	seen := map[[2]string]bool{}
	places := map[string]bool{inKernel: true, inVDSO: true, inVsyscall: true, inLibC: true, inUser: true}
	for _, c := range ClockSymbols() {
		key := [2]string{c.Where, c.Name}
		if seen[key] {
			t.Errorf("%s of the %s appears twice", c.Name, c.Where)
		}
		seen[key] = true
		if len(c.Why) < 5 || !places[c.Where] || c.Name == "" {
			t.Errorf("%+v lacks a reason, a place or a name", c)
		}
		if c.Where == inUser && c.Name == "*" {
			t.Error("all code of users counts as reading clocks")
		}
	}
}

func TestIdleCPUsAreTakenOutAndTheirInterruptsAreNot(t *testing.T) {
	p := &Profile{Stacks: []Stack{
		stack(0, "swapper", 0, 50, kernelFrame("pv_native_safe_halt"), kernelFrame("do_idle")),
		stack(0, "swapper", 1, 20, kernelFrame("intel_idle_ibrs")),
		stack(0, "swapper", 1, 3, kernelFrame("read_hpet"), kernelFrame("do_idle")),
		stack(7, "default_idle", 1, 27, kernelFrame("default_idle")),
		stack(0, "swapper", 0, 9, Frame{Object: "[kernel]", Symbol: "0xffffffff82000000", Kernel: true, Why: "hidden"}),
	}}
	busy, idle := p.Busy()
	if idle.Samples != 79 || busy.Total().Samples != 30 || len(p.Stacks) != 5 {
		t.Errorf("idle %d, busy %d", idle.Samples, busy.Total().Samples)
	}
	if rest := p.Without(7); rest.Total().Samples != 82 || len(p.Stacks) != 5 {
		t.Errorf("without process 7: %d samples", rest.Total().Samples)
	}
	for _, w := range waiting {
		if w.Name == "" || w.Name == "*" || w.Why == "" {
			t.Errorf("%+v lacks a name or a reason", w)
		}
	}
}

func TestSharesAreWeighedByPeriodsAndAsSureAsTheSamplesAreEqual(t *testing.T) {
	if got := ShareOf(equal(30), equal(100)); got.Ratio != 0.3 || got.Within != stats.Wilson(stats.Count{Events: 30, Trials: 100}, Confidence) {
		t.Errorf("of equal samples: %+v", got)
	}
	// One sample of period 100 and a hundred of period 1: of 100 of 200 no more is known than two samples tell.
	big, small := Weight{1, 100, 10000}, Weight{100, 100, 100}
	total := big
	total.add(small)
	got := ShareOf(big, total)
	if got.Ratio != 0.5 || got.Samples != 1 || got.Within.Width() < 0.6 {
		t.Errorf("of unequal samples: %+v", got)
	}
	for _, tt := range [][2]Weight{{{}, {}}, {equal(0), equal(0)}, {{}, {Samples: 1, Sum: math.Inf(1), Squares: math.Inf(1)}}} {
		if got := ShareOf(tt[0], tt[1]); got.Ratio != 0 || math.IsNaN(got.Within.Low) {
			t.Errorf("of nothing: %+v", got)
		}
	}
}

func TestFoldedStacksAreReadableWhateverNamesAre(t *testing.T) {
	p := &Profile{Stacks: []Stack{
		stack(1, "a;b\nc", 0, 3, kernelFrame("read_hpet"), Frame{Object: "libc.so.6", Symbol: "clock_gettime"}, Frame{Object: "prog", Symbol: "main"}),
		stack(2, "a;b\nc", 1, 4, kernelFrame("read_hpet"), Frame{Object: "libc.so.6", Symbol: "clock_gettime"}, Frame{Object: "prog", Symbol: "main"}),
		stack(1, "x", 0, 1, Frame{Object: "libz.so", Symbol: "0x123", Why: "stripped"}),
		stack(1, "", 0, 2, Frame{Object: "prog", Symbol: "f(int, char*)"}),
	}}
	var b strings.Builder
	if err := p.WriteFolded(&b); err != nil {
		t.Fatal(err)
	}
	want := "[unknown];f(int, char*) 2\na:b_c;main;clock_gettime;read_hpet_[k] 7\nx;libz.so+0x123 1\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("folded (-want +got):\n%s", diff)
	}
}

func TestWhatHasNoNameIsSummedUpByItsReason(t *testing.T) {
	p := &Profile{Stacks: []Stack{
		stack(1, "a", 0, 10, Frame{Object: "x", Symbol: "0x1", Why: "stripped"}),
		stack(1, "a", 0, 10, Frame{Object: "x", Symbol: "0x2", Why: "stripped"}),
		stack(1, "a", 0, 30, Frame{Object: "[anon]", Symbol: "[anon]", Why: "just in time"}),
		stack(1, "a", 0, 50, Frame{Object: "x", Symbol: "main"}),
	}}
	got := p.Nameless()
	if len(got) != 2 || got[0].Object != "[anon]" || got[0].Ratio != 0.3 || got[1].Samples != 20 {
		t.Errorf("%+v", got)
	}
}
