package trial

import (
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/qemu/tap"
)

// resumed is a witness of a machine that goes on from a saved state; nothing is written to it.
func resumed(t *testing.T, checks int) (*Witness, <-chan struct{}, time.Time) {
	t.Helper()
	w, err := NewWitness(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	now := time.Now()
	w.Resumed(now)
	return w, w.Enough(checks), now
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestChecksOfAResumedMachineAreCountedByTheirDistance(t *testing.T) {
	w, enough, now := resumed(t, 3)
	for check := range 3 {
		if closed(enough) {
			t.Fatalf("enough after %d checks", check)
		}
		// Three attempts of three reads.
		for read := range 9 {
			w.read(tap.Read{At: now.Add(time.Duration(check)*500*time.Millisecond + time.Duration(read)*time.Millisecond), CPU: check % 2})
		}
	}
	if !closed(enough) {
		t.Error("three checks are not enough")
	}
}

// Once the kernel keeps time by the HPET, all CPUs read it all the time.
func TestReadsForTheTimeAreNoChecks(t *testing.T) {
	w, enough, now := resumed(t, 3)
	for i := range 1000 {
		w.read(tap.Read{At: now.Add(time.Duration(i) * 100 * time.Microsecond), CPU: i % 2})
	}
	if closed(enough) {
		t.Error("reads of a tenth of a second are taken for three checks")
	}
}

func TestAVerdictEndsAResumedMachineALittleLater(t *testing.T) {
	w, enough, now := resumed(t, 1000)
	w.read(tap.Read{At: now})
	w.Observe(qemu.Stamped{Record: guest.Record{Type: guest.TypeKmsg, Kmsg: "4,380,5644176,-;tsc: Marking TSC unstable due to clocksource watchdog"}})
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Fatal("it goes on although the kernel has decided")
	}
	w.read(tap.Read{At: now.Add(time.Second), CPU: 1})
	if w.checks != 1 {
		t.Errorf("%d checks were counted, one was made before the verdict", w.checks)
	}
}

func TestTicksOfTheHPETBecomeDelaysOfAttempts(t *testing.T) {
	b := &fidelity.Boot{HPET: 100_000_000, Checks: []fidelity.Check{
		{Begin: 1000, CPU: 1, Gaps: []uint64{20_000, 1_000, 50, 1_400, 900}},
		{Begin: 50_001_000, CPU: 0, Gaps: []uint64{1_300, 1_100}},
	}}
	got := checksOf(b, 3)
	if len(got) != 2 || got[0].AtNS != 0 || got[1].AtNS != 500_000_000 || got[0].CPU != 1 {
		t.Fatalf("%+v", got)
	}
	if d, r := got[0].DelaysNS, got[0].ReferenceNS; len(d) != 2 || d[0] != 200_000 || d[1] != 14_000 || len(r) != 2 || r[0] != 10_000 || r[1] != 9_000 {
		t.Errorf("delays %v, reference %v", d, r)
	}
	if two := checksOf(b, 2); len(two[1].DelaysNS) != 1 || two[1].DelaysNS[0] != 13_000 || two[1].ReferenceNS != nil {
		t.Errorf("an era that reads the reference twice: %+v", two[1])
	}
}
