package bench

import (
	"strings"
	"testing"
)

func TestTheRouteIsToldFromTheTwoPrices(t *testing.T) {
	price := func(low, median, high float64) Cost { return Cost{Median: median, Low: low, High: high, Batches: 201} }
	for _, tt := range []struct {
		name        string
		vdso, call  Cost
		absent      string
		clocksource string
		want        string
		why         string
	}{
		{"the TSC is read in user space", price(15, 16, 17), price(110, 115, 120), "", "tsc", ByVDSO, "tsc can be read in user space"},
		{"the HPET is read in the kernel, which costs a little more by way of the vDSO", price(1400, 1410, 1420), price(1380, 1390, 1400), "", "hpet", BySyscall, "no kernel of today reads hpet"},
		{"a fall-back that measures as slightly cheaper than the call itself", price(1385, 1390, 1395), price(1390, 1395, 1400), "", "acpi_pm", BySyscall, "no kernel of today"},
		{"a read that traps makes both expensive, and the call still more so", price(1490, 1500, 1510), price(1610, 1620, 1630), "", "tsc", ByVDSO, "costs less"},
		{"prices that are too close to tell", price(4900, 4950, 5000), price(4990, 5090, 5190), "", "tsc", Unknown, "too close together"},
		{"intervals that overlap tell nothing", price(10, 50, 200), price(100, 120, 140), "", "", Unknown, "too close together"},
		{"a clock that has a mode in user space and does not use it", price(118, 119, 120), price(114, 115, 116), "", "tsc", BySyscall, "although tsc can be read in user space"},
		{"a clock that is said to have no such mode and is read without the kernel", price(15, 16, 17), price(110, 115, 120), "", "hpet", ByVDSO, "although no kernel of today reads hpet"},
		{"a clocksource that nobody knows is judged by the prices alone", price(15, 16, 17), price(110, 115, 120), "", "timer0", ByVDSO, "costs less"},
		{"no vDSO", Cost{}, price(110, 115, 120), "the kernel has given this process no vDSO", "tsc", BySyscall, "no vDSO"},
		{"no price of the system call", price(15, 16, 17), Cost{}, "", "tsc", Unknown, "not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := RouteOf("monotonic", tt.vdso, tt.call, tt.absent, tt.clocksource)
			if r.Path != tt.want || !strings.Contains(r.Why, tt.why) || r.Clock != "monotonic" {
				t.Errorf("%+v, want %s because of %q", r, tt.want, tt.why)
			}
		})
	}
}
