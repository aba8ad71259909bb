package report

import (
	"fmt"
	"slices"

	"github.com/cswatch/cswatch/internal/bench"
	clockcost "github.com/cswatch/cswatch/internal/cost"
	"github.com/cswatch/cswatch/internal/hw"
)

// ReadPrice is what one read inside the kernel takes, and how that is known.
type ReadPrice struct {
	NS   clockcost.Value
	From string
}

// FastPrice takes the price of a read inside the kernel from what was measured under the clocksource that
// was current at the beginning, while so many CPUs read at once: that of the processor's instruction with its fence,
// which is what the kernel's read consists of; for other clocksources that the vDSO reads, that by vDSO, which has the arithmetic in it.
// The error says what the document lacks.
func FastPrice(d *ClockBench, cpus int) (ReadPrice, error) {
	for _, instruction := range []string{"lfence_rdtsc", "rdtscp", "isb_cntvct"} {
		if d.Clocksource != "tsc" && d.Clocksource != "arch_sys_counter" {
			break
		}
		if r := d.price(d.Clocksource, cpus, func(w bench.Way) bool { return w.Instruction == instruction }); r != nil {
			return ReadPrice{costOf(r), fmt.Sprintf("the instruction %s under %s, %s", instruction, d.Clocksource, together(cpus))}, nil
		}
	}
	vdso := slices.ContainsFunc(d.Routes, func(r ClockRoute) bool {
		return r.Clocksource == d.Clocksource && r.Clock == hw.Monotonic && r.Path == bench.ByVDSO
	})
	if r := d.price(d.Clocksource, cpus, func(w bench.Way) bool { return w.Path == bench.PathVDSO && w.Clock == hw.Monotonic }); r != nil && vdso {
		return ReadPrice{costOf(r), fmt.Sprintf("by vDSO under %s, the arithmetic included, %s", d.Clocksource, together(cpus))}, nil
	}
	return ReadPrice{}, fmt.Errorf("find what a read takes inside the kernel under %q: the document has no price by instruction, and none by a vDSO that reads it in user space, %s", d.Clocksource, together(cpus))
}

// SlowPrice takes the price of a read inside the kernel under a slow clocksource from what was measured under it and
// under the fast one, in one document of several clocksources or in two: the system call's price less that under the fast
// clocksource, plus the fast read. The error says what a document lacks.
func SlowPrice(slow *ClockBench, name string, fast *ClockBench, read ReadPrice, cpus int) (ReadPrice, error) {
	call := func(d *ClockBench, source string) (clockcost.Value, error) {
		r := d.price(source, cpus, func(w bench.Way) bool { return w.Path == bench.PathSyscall && w.Clock == hw.Monotonic })
		if r == nil {
			return clockcost.Value{}, fmt.Errorf("find what a read takes inside the kernel under %q: there is no price of the system call under %q, %s", name, source, together(cpus))
		}
		return costOf(r), nil
	}
	slowCall, err := call(slow, name)
	if err != nil {
		return ReadPrice{}, err
	}
	fastCall, err := call(fast, fast.Clocksource)
	if err != nil {
		return ReadPrice{}, err
	}
	v, err := clockcost.KernelRead(slowCall, fastCall, read.NS)
	if err != nil {
		return ReadPrice{}, fmt.Errorf("%s and %s: %w", name, fast.Clocksource, err)
	}
	return ReadPrice{v, fmt.Sprintf("system call under %s %s, less that under %s %s, plus the fast read %s, %s",
		name, timeText(slowCall.Value), fast.Clocksource, timeText(fastCall.Value), timeText(read.NS.Value), together(cpus))}, nil
}

// MeasuredUnder reports whether reads were measured under a clocksource.
func (d *ClockBench) MeasuredUnder(source string) bool {
	return slices.ContainsFunc(d.Results, func(r ClockRead) bool { return r.Clocksource == source && r.Batches > 0 })
}

// CounterPrice takes the price of a read of a counter, such as hpet, that was read directly in user
// space. The error says which counters the document has.
func CounterPrice(d *ClockBench, name string) (ReadPrice, error) {
	var had []string
	for i := range d.Counters {
		switch c := &d.Counters[i]; {
		case c.Batches == 0:
		case c.Name == name:
			return ReadPrice{clockcost.Value{Value: c.Median, Low: c.Low, High: c.High}, name + " read directly in user space, one CPU alone"}, nil
		default:
			had = append(had, c.Name)
		}
	}
	if len(had) == 0 {
		return ReadPrice{}, fmt.Errorf("find what a read of %s takes: the document has nothing measured under it, and no counter that was read", name)
	}
	return ReadPrice{}, fmt.Errorf("find what a read of %s takes: the document has nothing measured under it, and of the counters %s", name, listed(had))
}

// price finds the result of a way under a clocksource while so many CPUs read, nil where it was not measured.
func (d *ClockBench) price(source string, cpus int, is func(bench.Way) bool) *ClockRead {
	part := bench.Costs
	if cpus > 1 {
		part = bench.Contention
	}
	for i := range d.Results {
		if r := &d.Results[i]; r.Clocksource == source && r.Part == part && r.CPUs == cpus && r.Batches > 0 && is(r.Way) {
			return r
		}
	}
	return nil
}

func costOf(r *ClockRead) clockcost.Value {
	return clockcost.Value{Value: r.Median, Low: r.Low, High: r.High}
}

func together(cpus int) string {
	if cpus == 1 {
		return "one CPU alone"
	}
	return fmt.Sprintf("%d CPUs at once", cpus)
}
