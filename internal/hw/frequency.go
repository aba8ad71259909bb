package hw

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Frequency is the rate of the processor's counter.
type Frequency struct {
	Hz clocksource.Hz `json:"frequency_hz"`
	// From says which source, and Exact what its number is worth.
	From  string `json:"source"`
	Exact string `json:"exact"`
	// Error is the greatest error of a measured rate against the clock that it
	// was measured with. It is 0 for a rate that somebody states, whose error is not known.
	Error clocksource.PPM `json:"error_ppm"`
	// Doubts are claims that were not believed, and why.
	Doubts []string `json:"doubts,omitempty"`
}

// Doubt is how far the rate may be from the one that the kernel counts with, where the
// current clocksource is the counter itself: a claim was only found to be within the tolerance.
func (f Frequency) Doubt() clocksource.PPM {
	switch f.From {
	case measuredRate:
		return f.Error
	case tscKHzPath:
		return 0
	}
	return claimTolerance
}

const (
	measuredRate    = "measured"
	calibrationTime = 100 * time.Millisecond
	calibrationPick = 32  // triples at each end, of which the narrowest counts
	claimTolerance  = 500 // ppm: a claim farther from the measured rate is not believed. 500 is what NTP can correct.
	tscKHzPath      = "/sys/devices/system/cpu/cpu0/tsc_freq_khz"
	counterFreqName = "CNTFRQ_EL0"
)

// triple encloses one reading of the raw monotonic clock between two of the counter.
type triple struct {
	before, after clocksource.Cycles
	raw           clocksource.Nanos
}

// frequencySources are what the rate is found from; tests have their own.
type frequencySources struct {
	readFile func(string) ([]byte, error)
	cpuid    func(leaf, sub uint32) (a, b, c, d uint32)
	counter  uint64                 // stated by the counter itself, 0 if it states none
	read     func() (triple, error) // nil where nothing can be measured
	sleep    func(context.Context, time.Duration) error
}

// TSCFrequency returns the rate of the processor's counter (TSC, CNTVCT_EL0) and
// where it is known from: tsc_freq_khz in sysfs, the hypervisor's leaf, CPUID
// 0x15 and 0x16, CNTFRQ_EL0, else what it measured against CLOCK_MONOTONIC_RAW. It always
// measures, for 100 ms, and does not believe a claim that is farther than 500
// ppm from the measured rate: in a guest, CPUID may state the rate of another
// machine. Where the current clocksource is the counter itself the measured rate is
// the kernel's idea of it, not an independent one.
func TSCFrequency(ctx context.Context) (Frequency, error) {
	return findFrequency(ctx, platformFrequency())
}

func findFrequency(ctx context.Context, s frequencySources) (Frequency, error) {
	if s.read == nil {
		return Frequency{}, &NotHere{What: processorCounter, Reason: "this program cannot read the processor's counter on this architecture or system"}
	}
	measured, err := calibrate(ctx, s)
	if err != nil {
		return Frequency{}, fmt.Errorf("measure the rate of the counter %s: %w", processorCounter, err)
	}
	for _, claim := range claims(s) {
		off, _ := clocksource.Deviation(claim.Hz, measured.Hz)
		if math.Abs(float64(off)) <= claimTolerance+float64(measured.Error) {
			claim.Doubts = measured.Doubts
			return claim, nil
		}
		measured.Doubts = append(measured.Doubts, fmt.Sprintf("%s says %d Hz, which is %+.0f ppm from the measured rate", claim.From, claim.Hz, float64(off)))
	}
	return measured, nil
}

// claims lists what the machine states, the best first.
func claims(s frequencySources) []Frequency {
	var found []Frequency
	if b, err := s.readFile(tscKHzPath); err == nil {
		if khz, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32); err == nil && khz > 0 {
			found = append(found, Frequency{Hz: clocksource.Hz(khz * 1000), From: tscKHzPath, Exact: "the kernel's own number, in whole kHz"})
		}
	}
	if s.counter > 0 {
		found = append(found, Frequency{Hz: clocksource.Hz(s.counter), From: counterFreqName, Exact: "the nominal rate that the firmware stored"})
	}
	highest, _, _, _ := s.cpuid(0, 0)
	// Hypervisors have leaves of their own from 0x40000000 on, where bit 31 of ECX of leaf 1 is set.
	if highest >= 1 {
		if _, _, c, _ := s.cpuid(1, 0); c>>31 == 1 {
			if top, _, _, _ := s.cpuid(0x40000000, 0); top >= 0x40000010 && top < 0x40010000 {
				if khz, _, _, _ := s.cpuid(0x40000010, 0); khz > 0 {
					found = append(found, Frequency{Hz: clocksource.Hz(uint64(khz) * 1000), From: "CPUID 0x40000010", Exact: "the hypervisor's number for this guest, in whole kHz"})
				}
			}
		}
	}
	if highest >= 0x15 {
		denominator, numerator, crystal, _ := s.cpuid(0x15, 0)
		if denominator > 0 && numerator > 0 && crystal > 0 {
			found = append(found, Frequency{Hz: clocksource.Hz(uint64(crystal) * uint64(numerator) / uint64(denominator)), From: "CPUID 0x15",
				Exact: "nominal: the crystal's rated frequency times an exact ratio"})
		}
	}
	if highest >= 0x16 {
		if mhz, _, _, _ := s.cpuid(0x16, 0); mhz&0xffff > 0 {
			found = append(found, Frequency{Hz: clocksource.Hz(uint64(mhz&0xffff) * 1_000_000), From: "CPUID 0x16", Exact: "the base frequency of the specification, in whole MHz"})
		}
	}
	return found
}

// calibrate measures the counter against CLOCK_MONOTONIC_RAW.
func calibrate(ctx context.Context, s frequencySources) (Frequency, error) {
	first, err := narrowest(s.read)
	if err != nil {
		return Frequency{}, err
	}
	if err := s.sleep(ctx, calibrationTime); err != nil {
		return Frequency{}, err
	}
	last, err := narrowest(s.read)
	if err != nil {
		return Frequency{}, err
	}
	span := last.raw - first.raw
	// The reading of the raw clock lies somewhere between those of the counter: take the middles.
	cycles := (last.before - first.before + last.after - first.after) / 2
	if span <= 0 || cycles == 0 {
		return Frequency{}, errors.New("the counter or the clock did not advance")
	}
	doubt := float64(last.after-last.before+first.after-first.before) / 2
	hz := float64(cycles) * 1e9 / float64(span)
	return Frequency{
		Hz: clocksource.Hz(math.Round(hz)), From: measuredRate,
		Error: clocksource.PPM(doubt / float64(cycles) * 1e6),
		Exact: fmt.Sprintf("measured for %d ms against CLOCK_MONOTONIC_RAW, within %.1f ppm", span/clocksource.Millisecond, doubt/float64(cycles)*1e6),
	}, nil
}

// narrowest takes several triples and returns the one whose counter values lie closest together.
func narrowest(read func() (triple, error)) (best triple, err error) {
	for i := range calibrationPick {
		t, err := read()
		if err != nil {
			return triple{}, err
		}
		if t.after < t.before {
			return triple{}, fmt.Errorf("the counter went backwards, from %d to %d", t.before, t.after)
		}
		if i == 0 || t.after-t.before < best.after-best.before {
			best = t
		}
	}
	return best, nil
}
