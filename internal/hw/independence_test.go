package hw

import (
	"testing"

	"github.com/cswatch/cswatch/machine"
)

func TestIndependenceOfReferences(t *testing.T) {
	yes, no, unknown := machine.Yes, machine.No, machine.Unknown
	for _, tt := range []struct {
		name      string
		reference string
		s         Surroundings
		want      machine.Answer
	}{
		{"the HPET of a real machine", HPET, Surroundings{Clocksource: "tsc", Guest: no}, yes},
		{"the HPET of a guest is computed by the host", HPET, Surroundings{Clocksource: "tsc", Guest: yes}, unknown},
		{"nobody knows whether this is a guest", ACPIPM, Surroundings{Clocksource: "tsc", Guest: unknown}, unknown},
		{"the raw clock on the TSC is the TSC", MonotonicRaw, Surroundings{Clocksource: "tsc", Guest: no}, no},
		{"so it is early in boot", MonotonicRaw, Surroundings{Clocksource: "tsc-early", Guest: no}, no},
		{"kvm-clock is the scaled TSC", MonotonicRaw, Surroundings{Clocksource: "kvm-clock", Guest: yes}, no},
		{"the page of Hyper-V, too", Monotonic, Surroundings{Clocksource: "hyperv_clocksource_tsc_page", Guest: yes}, no},
		{"Xen's clock, too", TAI, Surroundings{Clocksource: "xen", Guest: yes}, no},
		{"the register of Hyper-V is read by the host", BootTime, Surroundings{Clocksource: "hyperv_clocksource_msr", Guest: yes}, unknown},
		{"arm64's counter is what is under test", MonotonicRaw, Surroundings{Clocksource: "arch_sys_counter", Guest: no}, no},
		{"on the HPET the raw clock is the HPET", MonotonicRaw, Surroundings{Clocksource: "hpet", Guest: no}, yes},
		{"and in a guest it is the guest's HPET", RealTime, Surroundings{Clocksource: "acpi_pm", Guest: yes}, unknown},
		{"ticks may come from the TSC", MonotonicRaw, Surroundings{Clocksource: "refined-jiffies", Guest: no}, unknown},
		{"the current clocksource is not known", MonotonicVDSO, Surroundings{Guest: no}, unknown},
		{"a clocksource that this program does not know", RealTimeVDSO, Surroundings{Clocksource: "timer-mmio", Guest: no}, unknown},
		{"a network card has an oscillator", "ptp0", Surroundings{Clocksource: "tsc", PTPName: "mlx5_ptp"}, yes},
		{"the host's clock handed through by KVM", "ptp1", Surroundings{Clocksource: "tsc", PTPName: "KVM virtual PTP"}, unknown},
		{"a PTP clock without a name", "ptp1", Surroundings{Clocksource: "tsc"}, unknown},
		{"a real-time clock has a crystal", "rtc0", Surroundings{Clocksource: "tsc", Guest: no}, yes},
		{"the counter itself", ProcessorCounter, Surroundings{Clocksource: "hpet", Guest: no}, no},
		{"nothing that is known", "sundial", Surroundings{Guest: no}, unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Independent(tt.reference, tt.s); got.Independent != tt.want || got.Reason == "" {
				t.Errorf("%+v, want %s with a reason", got, tt.want)
			}
		})
	}
}
