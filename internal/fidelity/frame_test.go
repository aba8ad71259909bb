package fidelity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const hz = 100_000_000

// ms and us are ticks of a counter of 100 MHz.
const (
	us = hz / 1_000_000
	ms = hz / 1000
)

func TestReadsAreGatheredIntoChecks(t *testing.T) {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	cases := []struct {
		name  string
		reads []Read
		want  []Check
	}{
		{"nothing", nil, nil},
		{
			"two checks on two CPUs",
			[]Read{{at(0), 0, 1000}, {at(0), 0, 1200}, {at(0), 0, 1300}, {at(500), 1, 1000 + 500*ms}, {at(500), 1, 1500 + 500*ms}, {at(500), 1, 1600 + 500*ms}},
			[]Check{{Begin: 1000, CPU: 0, Gaps: []uint64{200, 100}}, {Begin: 1000 + 500*ms, CPU: 1, Gaps: []uint64{500, 100}}},
		},
		{
			"a late check, and the next at once on the next CPU",
			[]Read{{at(0), 0, 0}, {at(1), 1, 1 * ms}},
			[]Check{{Begin: 0, CPU: 0}, {Begin: 1 * ms, CPU: 1}},
		},
		{
			"two checks on one CPU, the second after several attempts of the first",
			[]Read{{at(0), 0, 0}, {at(100), 0, 100 * ms}, {at(150), 0, 150 * ms}, {at(500), 0, 500 * ms}},
			[]Check{{Begin: 0, Gaps: []uint64{100 * ms, 50 * ms}}, {Begin: 500 * ms}},
		},
		{
			"the counter wraps within an attempt",
			[]Read{{at(0), 0, 0xffffff00}, {at(0), 0, 0x100}},
			[]Check{{Begin: 0xffffff00, Gaps: []uint64{0x200}}},
		},
		{
			"the counter wraps twice while the watchdog is suspended",
			[]Read{{at(0), 0, 50}, {at(100_000), 0, 50 + 100_000*ms - 2<<32}},
			[]Check{{Begin: 50}, {Begin: 50 + 100_000*ms}},
		},
		{
			"the clock outside is a little ahead",
			[]Read{{at(0), 0, 50}, {at(0) + 9*time.Microsecond, 0, 50 + 8*us}},
			[]Check{{Begin: 50, Gaps: []uint64{8 * us}}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Frame(c.reads, hz)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Check{}, "At")); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABootEndsWithTheCheckThatCondemned(t *testing.T) {
	b := bootOf("6.1.0-50-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-06-30)")
	b.Checks = []Check{{At: 0, Gaps: []uint64{1, 2}}, {At: time.Second, Gaps: []uint64{1, 2, 3, 4, 5, 6, 7}}, {At: 2 * time.Second}}
	if err := b.EndAt(time.Second+time.Millisecond, 2, 0); err != nil {
		t.Fatal(err)
	}
	want := []Check{{At: 0, Gaps: []uint64{1, 2}}, {At: time.Second, Gaps: []uint64{1, 2, 3, 4, 5}}}
	if diff := cmp.Diff(want, b.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if err := b.EndAt(-1, 1, 0); err == nil {
		t.Error("no error though the verdict stands before all checks")
	}
}

// The kernel keeps time by the HPET before its word has come: that is no check.
func TestABootEndsWithTheAttemptThatTookAsLongAsTheKernelSays(t *testing.T) {
	b := bootOf("6.1.0-50-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-06-30)")
	b.HPET = 100_000_000
	condemned := Check{At: time.Second, Gaps: []uint64{30_000, 1000, 50, 24_420, 900, 40, 77}}
	b.Checks = []Check{{At: 0, Gaps: []uint64{1400, 1000}}, condemned, {At: time.Second + time.Millisecond, CPU: 1, Gaps: []uint64{1700, 900}}}
	if err := b.EndAt(2*time.Second, 2, 244_210); err != nil {
		t.Fatal(err)
	}
	if n := len(b.Checks); n != 2 || len(b.Checks[1].Gaps) != 5 || b.Checks[1].Gaps[3] != 24_420 {
		t.Errorf("%d checks, the last %+v", n, b.Checks[n-1])
	}
}
