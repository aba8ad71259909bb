package hw

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/role"
	"github.com/google/go-cmp/cmp"
)

func TestPinnedThreadMayUseOneCPU(t *testing.T) {
	cpus, err := AllowedCPUs()
	if err != nil || len(cpus) == 0 {
		t.Fatalf("CPUs %v, %v", cpus, err)
	}
	for _, cpu := range cpus {
		done := make(chan struct{})
		go func() { // a thread of its own, which ends with it
			defer close(done)
			runtime.LockOSThread()
			if err := Pin(cpu); err != nil {
				t.Error(err)
				return
			}
			if got, err := AllowedCPUs(); err != nil || !cmp.Equal(got, []int{cpu}) {
				t.Errorf("bound to CPU %d, may use %v, %v", cpu, got, err)
			}
			if _, on, ok := ReadCounterOn(); ok && on != cpu {
				t.Errorf("bound to CPU %d, the counter was read on CPU %d", cpu, on)
			}
		}()
		<-done
	}
	again, err := AllowedCPUs()
	if d := cmp.Diff(cpus, again); d != "" || err != nil {
		t.Errorf("the binding of a thread came to others: %s, %v", d, err)
	}
}

func TestOnRunsThereAndLeavesTheThreadAsItWas(t *testing.T) {
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range cpus {
		ran := false
		if err := On(cpu, func() {
			ran = true
			if got, err := AllowedCPUs(); err != nil || !cmp.Equal(got, []int{cpu}) {
				t.Errorf("on CPU %d the thread may use %v, %v", cpu, got, err)
			}
		}); err != nil || !ran {
			t.Errorf("on CPU %d: ran %v, %v", cpu, ran, err)
		}
		if got, err := AllowedCPUs(); err != nil || !cmp.Equal(got, cpus) {
			t.Errorf("after CPU %d the thread may use %v, %v", cpu, got, err)
		}
	}
	if err := On(maxCPUs-1, func() { t.Error("ran on a CPU that is not there") }); err == nil {
		t.Error("no error")
	}
}

func TestPinningToACPUThatIsNotThere(t *testing.T) {
	for _, cpu := range []int{-1, maxCPUs - 1, maxCPUs} {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- Pin(cpu)
		}()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "CPU") {
			t.Errorf("CPU %d: error %v", cpu, err)
		}
	}
}

func TestReaderReadsInOrderAndDoesNotAllocate(t *testing.T) {
	for _, name := range []string{MonotonicRaw, MonotonicVDSO, Monotonic, BootTime} {
		t.Run(name, func(t *testing.T) {
			r, err := OpenReader(name)
			skipUnless(t, err)
			var rb, last ReadBack
			for range 1000 {
				first := ReadCounter()
				if err := r.ReadBack(&rb); err != nil {
					t.Fatal(err)
				}
				if rb.Before > rb.After || rb.After > rb.Again || last.Again > rb.Before {
					t.Fatalf("the reference went backwards: %+v after %+v", rb, last)
				}
				if rb.Clock < first || rb.Clock > ReadCounter() {
					t.Fatalf("the counter %d was not read between its neighbours", rb.Clock)
				}
				last = rb
			}
			if n := testing.AllocsPerRun(100, func() { _ = r.ReadBack(&rb) }); n != 0 {
				t.Errorf("a read-back allocates %v times", n)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if err := r.ReadBack(&rb); err == nil {
				t.Error("a closed reader reads")
			}
		})
	}
}

// A word of memory stands for the register of the HPET.
func TestReaderOfARegisterKeepsToItsMaskAndDoesNotAllocate(t *testing.T) {
	skipUnless(t, tryCounter())
	word := uint32(0xfedcba98)
	r := &Reader{reference: Counter{Name: "word", Hz: 1e6, Mask: clocksource.Mask24}, how: byRegister, register: &word}
	var rb ReadBack
	if n := testing.AllocsPerRun(100, func() { _ = r.ReadBack(&rb) }); n != 0 {
		t.Errorf("a read-back allocates %v times", n)
	}
	if want := (ReadBack{Before: 0xdcba98, Clock: rb.Clock, After: 0xdcba98, Again: 0xdcba98}); rb != want || rb.Clock == 0 {
		t.Errorf("%+v, want %+v", rb, want)
	}
	var n *NotHere
	if err := r.advances(); !errors.As(err, &n) || !strings.Contains(n.Reason, "stands still") {
		t.Errorf("error %v, want that it stands still", err)
	}
}

func TestReadersThatCannotBe(t *testing.T) {
	for _, tt := range []struct{ name, reference, want string }{
		{"the PM timer is read by a child", ACPIPM, "child process"},
		{"a real-time clock is too slow", "rtc0", "seconds"},
		{"a PTP clock has a number", "ptp/../null", "the names are"},
		{"a name that is none", "sundial", "no such counter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r, err := OpenReader(tt.reference); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("reader %v, error %v; want one with %q", r, err, tt.want)
			}
		})
	}
}

// fast is a plan of short ticks on a clock that every machine has.
func fast(ticks int) Plan {
	return Plan{Reference: MonotonicRaw, Interval: 2 * time.Millisecond, Ticks: ticks, ReadBacks: 2}
}

func TestStreamDeliversItsPlan(t *testing.T) {
	p := fast(3)
	p.Interrupts = true
	s, err := OpenStream(p)
	skipUnless(t, err)
	var numbers []int
	err = s.Run(t.Context(), func(k *Tick) error {
		numbers = append(numbers, k.Number)
		if k.At == 0 || len(k.Groups) != 1 || len(k.Groups[0].Samples) != 2 || k.Exchange != nil {
			t.Errorf("tick %+v", k)
		}
		return nil
	})
	if d := cmp.Diff([]int{0, 1, 2}, numbers); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	if err := s.Run(t.Context(), nil); err == nil {
		t.Error("a stream ran twice")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestStreamStopsWithItsContextAndItsConsumer(t *testing.T) {
	boom := errors.New("boom")
	for _, child := range []bool{false, true} {
		open := openSource
		if child {
			open = func(p Plan) (source, error) { return startChild(job{Plan: p}) }
		}
		t.Run(map[bool]string{false: "in this process", true: "in a child"}[child], func(t *testing.T) {
			for _, fail := range []bool{false, true} {
				s, err := openStream(fast(0), open)
				skipUnless(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				n := 0
				err = s.Run(ctx, func(*Tick) error {
					if n++; n < 3 {
						return nil
					}
					if fail {
						return boom
					}
					cancel()
					return nil
				})
				cancel()
				if fail && !errors.Is(err, boom) || !fail && err != nil || n < 3 {
					t.Errorf("consumer fails %v: error %v after %d ticks", fail, err, n)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestStreamComparesCPUs(t *testing.T) {
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) < 2 || runtime.GOMAXPROCS(0) < 2 {
		t.Skip("there are no two CPUs to compare")
	}
	p := fast(4)
	p.CPUs, p.BootCPU, p.AlsoBoot = cpus[:2], cpus[0], true
	p.Exchange = 100 * clocksource.Millisecond
	s, err := OpenStream(p)
	skipUnless(t, err)
	var compared []bool
	err = s.Run(t.Context(), func(k *Tick) error {
		compared = append(compared, k.Exchange != nil)
		if e := k.Exchange; e != nil && (e.ControlCPU != cpus[0] || e.RemoteCPU != cpus[1]) {
			t.Errorf("compared %d with %d", e.ControlCPU, e.RemoteCPU)
		}
		return nil
	})
	if d := cmp.Diff([]bool{false, true, false, true}, compared); err != nil || d != "" {
		t.Errorf("%v: it is CPU %d's turn every other tick: %s", err, cpus[1], d)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestStreamRefusesAPlanThatIsTooFast(t *testing.T) {
	if _, err := OpenStream(Plan{Reference: HPET, Interval: time.Millisecond}); !errors.Is(err, ErrTooFast) {
		t.Errorf("error %v, want ErrTooFast", err)
	}
}

func TestChildDeliversWhatItReads(t *testing.T) {
	p := fast(3)
	p.Limit = 1 // everything is late, so causes travel, too
	s, err := openStream(p, func(p Plan) (source, error) { return startChild(job{Plan: p}) })
	skipUnless(t, err)
	if s.Reference().Name != MonotonicRaw {
		t.Errorf("reference %+v", s.Reference())
	}
	var last clocksource.Cycles
	n := 0
	err = s.Run(t.Context(), func(k *Tick) error {
		if k.Number != n || len(k.Groups) != 1 || len(k.Groups[0].Samples) != 2 {
			t.Errorf("tick %+v", k)
			return nil
		}
		n++
		for _, x := range k.Groups[0].Samples {
			if x.Before <= last || x.After < x.Before || !x.Late || x.Cause == "" {
				t.Errorf("sample %+v behind %d", x, last)
			}
			last = x.Again
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("%d ticks, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestChildThatIsKilledIsNoticed(t *testing.T) {
	c, err := startChild(job{Plan: Plan{Reference: MonotonicRaw, Interval: time.Millisecond, CPUs: []int{0}, ReadBacks: 1}})
	skipUnless(t, err)
	killed := false
	err = c.run(t.Context(), Plan{}, func(*Tick) error {
		if !killed {
			killed = true
			return c.command.Process.Kill()
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "ended early") {
		t.Errorf("error %v, want that the child ended early", err)
	}
}

func TestChildSaysWhyItCannot(t *testing.T) {
	_, err := startChild(job{Plan: Plan{Reference: "sundial"}})
	if err == nil || !strings.Contains(err.Error(), "no such counter") {
		t.Errorf("error %v, want that of the child", err)
	}
	// Port 0x80 is a register of the old DMA controller, harmless to read and no
	// timer: either the kernel refuses ioperm, or nothing answers, or it stands still.
	var n *NotHere
	if err := tryPort(0x80); !errors.As(err, &n) || n.What != ACPIPM {
		t.Errorf("error %v, want a NotHere of the PM timer", err)
	}
}

func TestChildEndsWithItsParent(t *testing.T) {
	c, err := startChild(job{Plan: Plan{Reference: MonotonicRaw, Interval: time.Hour, CPUs: []int{0}, ReadBacks: 1}})
	skipUnless(t, err)
	// What the end of the parent does: its end of the pipe closes.
	if err := c.close(); err != nil || !c.command.ProcessState.Success() {
		t.Errorf("the child ended with %v, %v", c.command.ProcessState, err)
	}
}

func TestProgramThatIsNotArmedStartsNoChild(t *testing.T) {
	armed := reading
	reading = role.New("CSWATCH_TEST_NOT_ARMED", "read ports", "hw.ChildMain")
	defer func() { reading = armed }()
	var n *NotHere
	if _, err := startChild(job{}); !errors.As(err, &n) || !strings.Contains(n.Reason, "ChildMain") {
		t.Errorf("error %v, want that ChildMain is missing", err)
	}
}

func TestChildRefusesNonsense(t *testing.T) {
	for _, input := range []string{"", "{", "no line", "[1]\n"} {
		in, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writer.WriteString(input); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if err := childRun(in, os.Stderr); err == nil {
			t.Errorf("%q was understood", input)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPortErrorsSayWhatWouldHelp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		unsure bool
		want   string
	}{
		{"a kernel without ioperm", syscall.ENOSYS, false, "CONFIG_X86_IOPL_IOPERM"},
		{"no privilege or a lockdown", syscall.EPERM, false, "lockdown"},
		{"anything else tells nothing", syscall.ENOMEM, true, "could not tell"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if n := iopermError(0x608, tt.err); n.Unsure != tt.unsure || !strings.Contains(n.Error(), tt.want) {
				t.Errorf("%v, want %q", n, tt.want)
			}
		})
	}
}

func TestHPETErrorsSayWhatWouldHelp(t *testing.T) {
	open := func(e error) *NotHere { return hpetOpenError(&os.PathError{Op: "open", Path: hpetPath, Err: e}) }
	for _, tt := range []struct {
		name   string
		n      *NotHere
		unsure bool
		want   string
	}{
		{"no device", open(syscall.ENOENT), false, "hpet=disable"},
		{"not allowed", open(syscall.EACCES), true, "run as root"},
		{"all comparators taken", open(syscall.EBUSY), false, "in use"},
		{"something else", open(syscall.EIO), true, "input/output"},
		{"mapping is switched off", hpetMapError(syscall.EACCES), false, "hpet_mmap=1"},
		{"mapping fails otherwise", hpetMapError(syscall.ENOMEM), true, "memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.n.Unsure != tt.unsure || !strings.Contains(tt.n.Error(), tt.want) {
				t.Errorf("%v, unsure %v; want %q, %v", tt.n, tt.n.Unsure, tt.want, tt.unsure)
			}
		})
	}
}

func TestUsageCountsSwitchesAndInterrupts(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		cpus, err := AllowedCPUs()
		if err != nil {
			t.Error(err)
			return
		}
		if err := Pin(cpus[0]); err != nil {
			t.Error(err)
			return
		}
		var c UsageCounter
		before := c.Usage(cpus[0], true)
		for range 3 {
			syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil) // the thread waits, so it is switched
		}
		after := c.Usage(cpus[0], true)
		if after.Voluntary <= before.Voluntary {
			t.Errorf("waiting was not counted: %+v, then %+v", before, after)
		}
		if before.Counted && after.Interrupts < before.Interrupts {
			t.Errorf("interrupts went from %d to %d", before.Interrupts, after.Interrupts)
		}
	}()
	<-done
}

func BenchmarkReadBackMonotonicRaw(b *testing.B) {
	r, err := OpenReader(MonotonicRaw)
	if err != nil {
		b.Skip(err)
	}
	var rb ReadBack
	b.ReportAllocs()
	for b.Loop() {
		if err := r.ReadBack(&rb); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCounterLoop is compared with the same loop in C by testdata/bench. Its
// thread is bound to the last CPU; the runtime's others stay free to run beside it.
func BenchmarkCounterLoop(b *testing.B) {
	cpus, err := AllowedCPUs()
	if err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread() // and never unlocked: the binding ends with the thread
	if err := Pin(cpus[len(cpus)-1]); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	counterLoop(b.N)
}

// BenchmarkExchange measures a comparison of two CPUs with the waking of their threads.
func BenchmarkExchange(b *testing.B) {
	cpus, err := AllowedCPUs()
	if err != nil || len(cpus) < 2 {
		b.Skipf("two CPUs are needed: %v, %v", cpus, err)
	}
	team := NewTeam()
	defer team.Close()
	completed, runs := 0, 0
	var waited clocksource.Nanos
	for b.Loop() {
		e, err := team.Exchange(cpus[0], cpus[1], 0)
		if err != nil {
			b.Skip(err)
		}
		runs++
		if e.Completed {
			completed++
			waited += e.Waited
		}
	}
	b.ReportMetric(float64(completed)/float64(runs), "completed/op")
	b.ReportMetric(float64(waited)/float64(max(completed, 1)), "ns/exchange")
}

// BenchmarkWatch measures what a stream at the kernel's interval with a
// comparison of CPUs costs: the time of all CPUs in millionths of one, over ten ticks.
func BenchmarkWatch(b *testing.B) {
	for b.Loop() {
		s, err := OpenStream(Plan{Reference: MonotonicRaw, Ticks: 10, AlsoBoot: true, Exchange: DefaultTimeout})
		if err != nil {
			b.Skip(err)
		}
		var before, after syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := s.Run(b.Context(), func(*Tick) error { return nil }); err != nil {
			b.Fatal(err)
		}
		wall := time.Since(start)
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
			b.Fatal(err)
		}
		used := time.Duration(after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano())
		b.ReportMetric(float64(used)/float64(wall)*1e6, "ppm-of-a-CPU")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
