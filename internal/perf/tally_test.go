package perf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testNames() *names {
	kernel, _ := parseKallsyms(strings.NewReader(someKallsyms))
	return &names{
		kernel:  kernel,
		vdsoErr: errors.New("no permission"),
		file: func(_ int32, o object) (*program, error) {
			if o.name == "/lib/gone" {
				return nil, errors.New("the file is gone")
			}
			return &program{
				symbols: &symbols{list: []symbol{{start: 0x400100, end: 0x400200, name: "main"}}, lack: "stripped"},
				loads:   []load{{0, 0x1000, 0x400000}},
			}, nil
		},
	}
}

func TestSamplesBecomeStacksWithNamesOrReasons(t *testing.T) {
	y := newTally()
	at := func(tid int32, cpu uint32) Stamp { return Stamp{PID: 1, TID: tid, CPU: cpu} }
	for _, r := range []Record{
		Naming{at(1, 0), "prog", false},
		Naming{at(2, 0), "worker", false},
		mapping(1, 0x1000, 0x1000, 0, "/bin/prog"),
		mapping(1, 0x3000, 0x1000, 0, "/lib/gone"),
		mapping(1, 0x5000, 0x1000, 0, "//anon"),
		mapping(1, 0x7000, 0x1000, 0, "[vdso]"),
		Sample{Stamp: at(1, 0), Mode: UserMode, IP: 0x1100, Period: 5},
		Sample{Stamp: at(1, 0), Mode: UserMode, IP: 0x1108, Period: 5}, // another address of the same function
		Sample{Stamp: at(2, 1), Mode: UserMode, IP: 0x1100, Period: 5},
		Sample{Stamp: at(1, 0), Mode: UserMode, IP: 0x1300, Period: 5},
		Sample{Stamp: at(1, 0), Mode: UserMode, IP: 0x3300, Period: 5},
		Sample{Stamp: at(1, 0), Mode: UserMode, IP: 0x5300, Period: 5},
		Sample{Stamp: at(1, 0), Mode: UserMode, IP: 0x7300, Period: 5},
		Sample{Stamp: at(1, 0), Mode: UserMode, IP: 0x9300, Period: 5},
		Sample{Stamp: at(1, 0), Mode: HypervisorMode, IP: 1, Period: 5},
		Sample{Stamp: at(1, 0), Mode: GuestUserMode, IP: 2, Period: 5},
		Sample{Stamp: at(1, 0), Mode: KernelMode, IP: 0xffffffff81000080, Period: 5},
		Sample{Stamp: at(1, 0), Mode: KernelMode, IP: 0xffffffffc0000001, Period: 5},
		Sample{Stamp: at(1, 0), Mode: KernelMode, IP: 0xffffffff81000081, Period: 5, Chain: []uint64{
			contextKernel, 0xffffffff81000080, 0xffffffff810000c0, contextUser, 0x1100, 0x1200,
		}},
		Sample{Mode: UserMode, IP: 0x1100, Period: 5},
		Sample{Mode: KernelMode, IP: 0xffffffff81000040, Period: 5},
		Loss{Lost: 3},
		Loss{Lost: 4, Samples: true},
		Throttling{},
		Throttling{On: true},
	} {
		y.take(r)
	}
	got := map[string]int64{}
	for _, s := range testNames().stacks(y) {
		var frames []string
		for _, f := range s.Frames {
			text := f.Object + " " + f.Symbol
			if f.Why != "" {
				why, _, _ := strings.Cut(f.Why, ",")
				why, _, _ = strings.Cut(why, ":")
				text += " (" + why + ")"
			}
			frames = append(frames, text)
		}
		got[fmt.Sprintf("%s %d: %s", s.Command, s.CPU, strings.Join(frames, " < "))] += s.Weight.Samples
		if s.Weight.Sum != 5*float64(s.Weight.Samples) || s.Weight.Squares != 25*float64(s.Weight.Samples) {
			t.Errorf("%+v: its periods were 5", s)
		}
	}
	want := map[string]int64{
		"prog 0: prog main":                                                         2,
		"worker 1: prog main":                                                       1,
		"prog 0: prog 0x300 (stripped)":                                             1,
		"prog 0: gone 0x300 (the file is gone)":                                     1,
		"prog 0: [anon] [anon] (memory without a file)":                             1,
		"prog 0: [vdso] 0x300 (the vDSO of this process could not be read)":         1,
		"prog 0: [unknown] [unknown] (no mapping is known at the address)":          1,
		"prog 0: [hypervisor] [hypervisor] (code of a hypervisor)":                  1,
		"prog 0: [guest] [guest] (code of a virtual machine that runs on this one)": 1,
		"prog 0: [kernel] __x64_sys_clock_gettime":                                  1,
		"prog 0: [tcp_bbr] mod_function":                                            1,
		"[outside] 0: [unknown] [unknown] (no mapping is known at the address)":     1,
		"swapper 0: [kernel] local_helper":                                          1,
		// A return address points behind the call: that at the start of weak_one, and that at the end of main, are of the function before.
		"prog 0: [kernel] __x64_sys_clock_gettime < [kernel] __x64_sys_clock_gettime < prog main < prog main": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stacks (-want +got):\n%s", diff)
	}
	if y.lost != 7 || y.throttled != 1 {
		t.Errorf("lost %d, throttled %d, want 7 and 1", y.lost, y.throttled)
	}
	p := &Profile{Event: CPUClock, Stacks: testNames().stacks(y)}
	ids := map[string]bool{}
	for _, n := range y.notes(p, Config{}, errHidden) {
		ids[n.ID] = true
	}
	if diff := cmp.Diff(map[string]bool{"timer-event": true, "lost": true, "throttled": true, "no-kernel-names": true}, ids); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestATallyStaysWithinItsBoundsAndCountsEverySample(t *testing.T) {
	y := newTally()
	y.limit = 20 * (cellBytes + 24)
	const n = 1000
	for i := range uint64(n) {
		y.take(Sample{Stamp: Stamp{PID: 1, TID: 1}, Mode: KernelMode, IP: 0xffffffff81000000 + i%10, Period: 1,
			Chain: []uint64{contextKernel, 0xffffffff81000000 + i%10, 0xffffffff82000000 + i}})
	}
	var total, others int64
	for _, s := range testNames().stacks(y) {
		total += s.Weight.Samples
		if s.leaf().Object == "[others]" {
			others += s.Weight.Samples
		}
	}
	if total != n || others == 0 || others != y.others || y.bytes > y.limit+1000 {
		t.Errorf("%d samples of %d, %d of them others, %d told, %d bytes of %d", total, n, others, y.others, y.bytes, y.limit)
	}
}

func TestAFileIsTriedForSomeProcessesUntilOneOpensIt(t *testing.T) {
	y := newTally()
	var tried []int32
	y.seen = func(_ int32, o object, pid int32, _ mapped) bool {
		tried = append(tried, pid)
		return pid == 3
	}
	for _, pid := range []int32{1, 2, 3, 4} {
		y.take(mapping(pid, 0x1000, 0x1000, 0, "/lib/same"))
	}
	for _, pid := range []int32{1, 1, 2, 3, 4, 1} {
		y.take(Sample{Stamp: Stamp{PID: pid, TID: pid}, Mode: UserMode, IP: 0x1000, Period: 1})
	}
	if diff := cmp.Diff([]int32{1, 2, 3}, tried); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
}

// Whatever a stream says, each sample is counted once, and every frame has a name.
func FuzzTally(f *testing.F) {
	for _, chains := range []bool{false, true} {
		var stream []byte
		for range 2 {
			for _, r := range everyRecord(chains) {
				stream = append(stream, encode(r, Layout{Chains: chains})...)
			}
		}
		f.Add(stream, chains, uint16(1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, chains bool, limit uint16) {
		y := newTally()
		y.limit = int(limit)
		var samples, counted int64
		for len(data) > 0 {
			r, size, err := ParseRecord(data, Layout{Chains: chains})
			if size == 0 {
				break
			}
			data = data[size:]
			if err != nil {
				continue
			}
			if _, ok := r.(Sample); ok {
				samples++
			}
			y.take(r)
		}
		p := &Profile{Event: CPUClock, Stacks: testNames().stacks(y)}
		for _, s := range p.Stacks {
			counted += s.Weight.Samples
			for _, f := range s.Frames {
				if f.Object == "" || f.Symbol == "" {
					t.Fatalf("a frame without a name: %+v", f)
				}
			}
			if len(s.Frames) == 0 || s.Command == "" && s.PID == 0 {
				t.Fatalf("%+v lacks frames or a command", s)
			}
		}
		if counted != samples {
			t.Fatalf("%d samples became %d", samples, counted)
		}
		c := p.Clocks()
		if got := c.All.Counter.Samples + c.All.Inlined.Samples + c.All.Around.Samples; got != c.All.Whole.Samples || c.All.Samples != samples {
			t.Fatalf("parts of %d samples in clocks are %d; of %d in all %d", c.All.Whole.Samples, got, samples, c.All.Samples)
		}
	})
}
