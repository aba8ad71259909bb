package hw

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// machineOf is a machine whose clock advances by what reading it costs.
type machineOf struct {
	t            time.Duration
	read, call   time.Duration
	runtimeReads int
	names        []string // of the clocksource, one for each time it is asked
	callErr      error
}

func (m *machineOf) sources() sources {
	return sources{
		now:     func() time.Duration { m.t += m.read; return m.t },
		runtime: func(n int) { m.runtimeReads += n; m.t += time.Duration(n) * m.read },
		syscall: func(n int) error { m.t += time.Duration(n) * m.call; return m.callErr },
		current: func() string {
			name := m.names[0]
			if len(m.names) > 1 {
				m.names = m.names[1:]
			}
			return name
		},
	}
}

func TestPathIsToldFromTheTwoPrices(t *testing.T) {
	for _, tt := range []struct {
		name       string
		read, call time.Duration
		want       string
	}{
		{"a TSC read is far below the system call", 25, 120, "vdso"},
		{"an HPET read by way of the vDSO pays for the call too", 1400, 1380, "syscall"},
		{"a read a little below the call is no proof of a vDSO", 80, 100, "syscall"},
		{"a slow system call of a sandbox does not hide the vDSO", 40, 2500, "vdso"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &machineOf{read: tt.read, call: tt.call, names: []string{"tsc"}}
			c, err := measureCost(t.Context(), m.sources(), budget{costBudget, slowBudget})
			if err != nil {
				t.Fatal(err)
			}
			if c.Path != tt.want || c.Clocksource != "tsc" {
				t.Errorf("path %q on %q, want %q on tsc", c.Path, c.Clocksource, tt.want)
			}
			// Timing a batch adds one read of the clock to at least 16.
			for _, p := range []struct {
				what string
				got  float64
				want time.Duration
			}{{"read", c.ReadNS, tt.read}, {"p99", c.ReadP99NS, tt.read}, {"syscall", c.SyscallNS, tt.call}} {
				if want := float64(p.want); p.got < want || p.got > want*1.07 {
					t.Errorf("%s: %.2f ns, want %v to 7 %% more", p.what, p.got, p.want)
				}
			}
			if c.Seconds > 0.060 {
				t.Errorf("took %.3f s, want less than 0.060", c.Seconds)
			}
		})
	}
}

func TestASlowClockIsReadLittle(t *testing.T) {
	m := &machineOf{read: 3 * time.Microsecond, call: 3 * time.Microsecond, names: []string{"acpi_pm"}}
	c, err := measureCost(t.Context(), m.sources(), budget{costBudget, slowBudget})
	if err != nil {
		t.Fatal(err)
	}
	if c.Seconds > 0.012 || m.runtimeReads > 2000 {
		t.Errorf("%.4f s and %d reads by the runtime, want at most 0.012 s and 2000", c.Seconds, m.runtimeReads)
	}
}

func TestASampleStaysWithinFiveMilliseconds(t *testing.T) {
	for _, read := range []time.Duration{5, 25, 300, 399, 401, time.Microsecond, 5 * time.Microsecond, 50 * time.Microsecond} {
		m := &machineOf{read: read, call: read + 100, names: []string{"a clock"}}
		c, err := measureCost(t.Context(), m.sources(), sampleBudget)
		if err != nil {
			t.Fatal(err)
		}
		if limit := max(0.005, 2*3*16*read.Seconds()+0.004); c.Seconds > limit || c.ReadNS < float64(read) {
			t.Errorf("reads of %v: %.4f s for a price of %.1f ns, want at most %.4f s", read, c.Seconds, c.ReadNS, limit)
		}
	}
}

func TestMeasurementFailsRatherThanLies(t *testing.T) {
	broken := errors.New("no such call")
	for _, tt := range []struct {
		name string
		m    machineOf
		want string
	}{
		{"the kernel switches clocks under it", machineOf{read: 20, call: 90, names: []string{"tsc", "hpet"}}, `changed from "tsc" to "hpet"`},
		{"the clock stands still", machineOf{names: []string{"tsc"}}, "did not advance"},
		{"the system call is refused", machineOf{read: 20, call: 90, names: []string{""}, callErr: broken}, "no such call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := measureCost(t.Context(), tt.m.sources(), budget{costBudget, slowBudget})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestMeasurementEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MeasureCost(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for p, want := range map[int]float64{50: 5, 99: 10, 100: 10, 10: 1, 1: 1} {
		if got := percentile(values, p); got != want {
			t.Errorf("percentile %d: %v, want %v", p, got, want)
		}
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("percentile of nothing: %v, want 0", got)
	}
}
