package fidelity

import (
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/watchdog"
)

func bootOf(release, version string) *Boot {
	return &Boot{Release: release, Version: version, CPUs: 2, HPET: hz, How: "made by hand"}
}

// retried is a boot of 5.10 whose third check needs two attempts, whose fourth
// is skipped.
func retried() *Boot {
	b := bootOf("5.10.0-32-amd64", "#1 SMP Debian 5.10.223-1 (2024-08-10)")
	b.Checks = []Check{
		{Begin: 10 * ms, CPU: 0, Gaps: []uint64{20 * us, us}},
		{Begin: 510 * ms, CPU: 1, Gaps: []uint64{20 * us, us}},
		{Begin: 1010 * ms, CPU: 0, Gaps: []uint64{101 * us, us, 3 * us, 20 * us, us}},
		{Begin: 1510 * ms, CPU: 1, Gaps: []uint64{200 * us, 51 * us}},
	}
	b.Log = []string{
		"4,400,6000000,-;clocksource: timekeeping watchdog on CPU1: hpet wd-wd read-back delay of 51000ns",
		"4,401,6000100,-;clocksource: wd-tsc-wd read-back delay of 200000ns, clock-skew test skipped!",
	}
	return b
}

func TestTheFiveMinutesAfterASkipAreNoDisagreement(t *testing.T) {
	b := retried()
	// It comes 12 s late, and catches up.
	for i := range 20 {
		b.Checks = append(b.Checks, Check{Begin: uint64(314_000+4*i) * ms, CPU: i % 2, Gaps: []uint64{us, us}})
	}
	r, err := Compare(b)
	if err != nil || len(r.Disagreements) > 0 {
		t.Errorf("disagreements %v, error %v", r.Disagreements, err)
	}
}

func TestAgreementIsCounted(t *testing.T) {
	b := retried()
	b.Log = append(b.Log, "6,500,7000000,-;clocksource: Switched to clocksource hpet")
	r, err := Compare(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Disagreements) > 0 {
		t.Errorf("disagreements %v", r.Disagreements)
	}
	if r.Era != watchdog.LTS510223 || r.Checks != 4 || r.NonTrivial != 2 || r.Lines != 2 || r.Aside[event.Switched] != 1 {
		t.Errorf("report %+v", r)
	}
	if r.Outcomes[watchdog.Initialised] != 1 || r.Outcomes[watchdog.Agreed] != 2 || r.Outcomes[watchdog.Skipped] != 1 || r.Attempts[2] != 1 {
		t.Errorf("report %+v", r)
	}
}

// Every way in which a kernel can differ from our era is seen.
func TestEachDisagreementIsSeen(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Boot)
		want   string
	}{
		{"the kernel does not read again", func(b *Boot) { b.Checks[2].Gaps = b.Checks[2].Gaps[:2] }, "our era wants another attempt"},
		{"the kernel reads again without need", func(b *Boot) { b.Checks[2].Gaps[0] = 99 * us }, "our era is content with attempt 1 (agreed), the kernel read on"},
		{"the limit is met exactly", func(b *Boot) { b.Checks[2].Gaps[0] = 100 * us }, "our era is content with attempt 1"},
		{"half an attempt", func(b *Boot) { b.Checks[1].Gaps = append(b.Checks[1].Gaps, us) }, "4 reads of the HPET are no whole attempts of 3"},
		{"the kernel stays on its CPU", func(b *Boot) { b.Checks[2].CPU = 1 }, "the kernel checked on CPU 1, our era on CPU 0"},
		{"the kernel goes on after a skip", func(b *Boot) {
			b.Checks = append(b.Checks, Check{Begin: 2010 * ms, CPU: 0, Gaps: []uint64{us, us}})
		}, "ms before our era would have"},
		{"the kernel pauses without a reason", func(b *Boot) {
			b.Checks[3].Begin, b.Log = 4000*ms, nil
			b.Checks[3].Gaps = []uint64{us, us}
		}, "ms after our era would have"},
		{"the kernel pauses for much longer than five minutes after a skip", func(b *Boot) {
			b.Checks = append(b.Checks, Check{Begin: 350_000 * ms, CPU: 0, Gaps: []uint64{us, us}})
		}, "ms after our era would have"},
		{"a line is missing in the log", func(b *Boot) { b.Log = b.Log[:1] }, "we print a line that the kernel did not"},
		{"a line too many in the log", func(b *Boot) {
			b.Log = append(b.Log, "4,402,6100000,-;clocksource: timekeeping watchdog on CPU0: hpet retried 2 times before success")
		}, "the kernel printed a line that we do not"},
		{"another number in the log", func(b *Boot) { b.Log[0] = strings.Replace(b.Log[0], "51000", "51010", 1) }, "the kernel printed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := retried()
			c.change(b)
			r, err := Compare(b)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Disagreements, func(d Disagreement) bool { return strings.Contains(d.What, c.want) }) {
				t.Errorf("disagreements %v, want one that says %q", r.Disagreements, c.want)
			}
		})
	}
}

func TestAKernelOfAnUncertainEraIsNotCompared(t *testing.T) {
	b := bootOf("5.15.0-91-generic", "")
	if _, err := Compare(b); err == nil || !strings.Contains(err.Error(), "its era is not certain") {
		t.Errorf("error %v", err)
	}
	if err := b.EndAt(0, 1, 0); err == nil {
		t.Error("no error from EndAt")
	}
}
