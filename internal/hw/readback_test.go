package hw

import (
	"os"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

func TestLateReadsHaveACause(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after Usage
		want          Cause
	}{
		{"another thread got the CPU", Usage{Involuntary: 3}, Usage{Involuntary: 4}, Preempted},
		{"the thread waited", Usage{Voluntary: 3}, Usage{Voluntary: 4}, Preempted},
		{"a switch counts before the interrupts that come with it", Usage{Involuntary: 3, Interrupts: 5, Counted: true}, Usage{Involuntary: 4, Interrupts: 9, Counted: true}, Preempted},
		{"interrupts and no switch", Usage{Interrupts: 5, Counted: true}, Usage{Interrupts: 6, Counted: true}, Interrupted},
		{"nothing was seen", Usage{Interrupts: 5, Counted: true}, Usage{Interrupts: 5, Counted: true}, Unexplained},
		{"interrupts that were not counted explain nothing", Usage{}, Usage{Interrupts: 6, Counted: true}, Unexplained},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CauseOf(tt.before, tt.after); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestInterruptsAreAddedUpForOneCPU(t *testing.T) {
	real, err := os.ReadFile("testdata/interrupts.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		cpu        int
		want       uint64
		ok         bool
	}{
		{"CPU 0, without the totals at the end", string(real), 0, 140 + 440 + 20 + 117 + 1, true},
		{"CPU 1", string(real), 1, 130 + 505 + 18 + 105 + 1, true},
		{"a CPU that is offline has no column", string(real), 2, 0, false},
		{"columns are found by name where a CPU is missing", "      CPU0 CPU2\n 9:  5  7  acpi\n", 2, 7, true},
		{"an empty file says nothing", "", 0, 0, false},
		{"a header alone says nothing", "      CPU0\n", 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := interruptsOn(tt.text, tt.cpu); got != tt.want || ok != tt.ok {
				t.Errorf("%d, %v; want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestDelayCrossesOneWrap(t *testing.T) {
	pm := Counter{Hz: PMTimerHz, Mask: clocksource.Mask24}
	if got, want := pm.Delay(0xfffff0, 0x10), pm.Nanos(0x20); got != want {
		t.Errorf("%d ns across the wrap, want %d", got, want)
	}
}

func TestHPETIsJudgedByItsRegisters(t *testing.T) {
	qemu := HPETRegisters{Capabilities: 0x8086a201, PeriodFs: 10_000_000, Config: 1}
	for _, tt := range []struct {
		name   string
		change func(*HPETRegisters)
		hz     clocksource.Hz
	}{
		{"QEMU's runs with 100 MHz", func(*HPETRegisters) {}, 100_000_000},
		{"the usual 24 MHz are cut to whole Hz as the kernel does", func(r *HPETRegisters) { r.PeriodFs = 41_666_667 }, 23_999_999},
		{"all ones are an empty bus", func(r *HPETRegisters) { *r = HPETRegisters{^uint32(0), ^uint32(0), ^uint32(0)} }, 0},
		{"a revision of 0 is no HPET", func(r *HPETRegisters) { r.Capabilities &^= 0xff }, 0},
		{"a period of 0 is not believable", func(r *HPETRegisters) { r.PeriodFs = 0 }, 0},
		{"a counter that is off is of no use", func(r *HPETRegisters) { r.Config = 0 }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := qemu
			tt.change(&r)
			c, absent := r.check()
			if c.Hz != tt.hz || (absent == nil) != (tt.hz != 0) {
				t.Errorf("%d Hz, %v; want %d", c.Hz, absent, tt.hz)
			}
		})
	}
	if qemu.Comparators() != 3 || !qemu.Wide() || !qemu.Enabled() || qemu.Revision() != 1 {
		t.Errorf("%+v is read as %d comparators, wide %v, enabled %v, revision %d", qemu, qemu.Comparators(), qemu.Wide(), qemu.Enabled(), qemu.Revision())
	}
}
