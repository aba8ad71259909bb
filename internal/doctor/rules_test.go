package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/doctor"
)

// examineText judges log text.
func examineText(t testing.TB, log string) doctor.Diagnosis {
	t.Helper()
	d, err := examine(strings.NewReader(log), "log")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// block writes a skew block of 5.14 to 7.0.
func block(stamp, clock, ref, watchedNS, refNS, watchedHex, refHex string) string {
	return stamp + "clocksource: timekeeping watchdog on CPU1: Marking clocksource '" + clock + "' as unstable because the skew is too large:\n" +
		stamp + "clocksource:                       '" + ref + "' wd_nsec: " + refNS + " " + refHex + "\n" +
		stamp + "clocksource:                       '" + clock + "' cs_nsec: " + watchedNS + " " + watchedHex + "\n"
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, log string
		verdict   doctor.Verdict
		findings  []string // all of these
		not       []string // none of these
		advice    []string // all of these
		notAdvise []string
	}{
		{name: "the RFC's typical boot: slow reads condemn a good TSC",
			log: "[   13.669682] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n" +
				"[   13.669827] tsc: Marking TSC unstable due to clocksource watchdog\n" +
				"[   13.669917] TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\n" +
				"[   13.670048] sched_clock: Marking unstable (11633513890, 2036384489)<-(13965149377, -295250974)\n" +
				"[   13.672268] clocksource: Checking clocksource tsc synchronization from CPU 0 to CPUs 1-3,6-7.\n" +
				"[   13.673148] clocksource: Switched to clocksource hpet\n",
			verdict: doctor.Good, findings: []string{"reference-read-delay"}, advice: []string{"upgrade-kernel", "reboot-to-restore"}, notAdvise: []string{"tsc-reliable", "tsc-unstable-parameter", "firmware-update"}},
		{name: "a late check with both clocks in agreement is the watchdog's fault",
			log:     block("[ 100.000000] ", "tsc", "hpet", "14524115132", "14523447520", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: 2 wd_last: 1 mask: ffffffff"),
			verdict: doctor.Good, findings: []string{"late-watchdog"}, not: []string{"small-skew", "tsc-frequency-wrong"}, advice: []string{"find-the-stall"}},
		{name: "a second reference that agrees with the TSC convicts the first",
			log: block("", "tsc", "sgi_rtc", "512006458", "511302794", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: 2 wd_last: 1 mask: ffffffffffffff") +
				"clocksource: 'hpet' wd2_nsec: 512005960 wd2_now: 65892719 wd2_last: 64c5d684 mask: ffffffff\n",
			verdict: doctor.Good, findings: []string{"reference-wrong"}, advice: []string{"remove-reference"}},
		{name: "lost ticks early in the boot",
			log:     block("[    1.520000] ", "tsc-early", "refined-jiffies", "1980000000", "504000000", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: fffb7018 wd_last: fffb6e9d mask: ffffffff"),
			verdict: doctor.Undecided, findings: []string{"boot-tsc-early-vs-jiffies"}, not: []string{"late-watchdog", "tsc-written"}},
		{name: "one wrap of the PM timer",
			log:     block("[ 3302.211708] ", "tsc", "acpi_pm", "4999196389", "312227950", "cs_now: 9e811223a9754 cs_last: 9e80e767df194 mask: ffffffffffffffff", "wd_now: 92367f wd_last: 8128bd mask: ffffff"),
			verdict: doctor.Good, findings: []string{"acpi-pm-wrap", "late-watchdog"}},
		{name: "three wraps of the PM timer",
			log:     block("[ 3302.211708] ", "tsc", "acpi_pm", "14373134572", "312227950", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: 92367f wd_last: 8128bd mask: ffffff"),
			verdict: doctor.Good, findings: []string{"acpi-pm-wrap"}},
		{name: "nearly a wrap is none",
			log:     block("[ 3302.211708] ", "tsc", "acpi_pm", "4989196389", "312227950", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: 92367f wd_last: 8128bd mask: ffffff"),
			verdict: doctor.Undecided, not: []string{"acpi-pm-wrap", "late-watchdog"}},
		{name: "a HPET difference read as 0, and its counter plus two wraps agrees with the TSC",
			log:     block("[ 2410.694068] ", "tsc", "hpet", "471766594285", "0", "cs_now: 44f62c184e9 cs_last: 394a7a43771 mask: ffffffffffffffff", "wd_now: ffd70be2 wd_last: 40da633b mask: ffffffff"),
			verdict: doctor.Good, findings: []string{"hpet-wrap"}},
		{name: "the TSC read backwards: the skew equals the interval",
			log:     "[   50.000000] clocksource: Clocksource 'tsc' skewed -485515617 ns (-485 ms) over watchdog 'acpi_pm' interval of 485515617 ns (485 ms)\n",
			verdict: doctor.Undecided, findings: []string{"tsc-went-backwards"}, notAdvise: []string{"tsc-nowatchdog", "tsc-reliable", "hpet-disable"}, advice: []string{"check-cross-cpu-sync"}},
		{name: "the TSC read backwards, in hex",
			log: "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
				"clocksource: 'hpet' wd_now: 1c29fb9 wd_last: 151e3b8 mask: ffffffff\nclocksource: 'tsc' cs_now: 874f8e80b cs_last: 8af4c89f9 mask: ffffffffffffffff\n",
			verdict: doctor.Undecided, findings: []string{"tsc-went-backwards"}},
		{name: "a TSC that was written: hours within half a second",
			log:     block("[ 9000.000000] ", "tsc", "hpet", "36000500000000", "500123456", "cs_now: 57bc68b5d400 cs_last: 1234500000 mask: ffffffffffffffff", "wd_now: b71b00 wd_last: 0 mask: ffffffff"),
			verdict: doctor.Bad, findings: []string{"tsc-written"}, notAdvise: []string{"tsc-nowatchdog", "set-clocksource-tsc"}},
		{name: "the HPET lost time while the TSC shows the nominal interval",
			log:     block("[ 9000.000000] ", "tsc", "hpet", "503997000", "316000000", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: 73bb80 wd_last: 0 mask: ffffffff"),
			verdict: doctor.Good, findings: []string{"hpet-pc10"}, advice: []string{"upgrade-kernel", "hpet-disable"}},
		{name: "the reference jumped by minutes while the TSC shows the nominal interval",
			log:     block("[ 9000.000000] ", "tsc", "sgi_rtc", "503997000", "316000000000", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: 2 wd_last: 1 mask: ffffffffffffff"),
			verdict: doctor.Good, findings: []string{"reference-wrong"}},
		{name: "the CPUs disagree",
			log: block("[    5.000000] ", "tsc", "hpet", "480227204", "479206760", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: aece00 wd_last: 0 mask: ffffffff") +
				"[    5.076254] clocksource:         CPUs 1 ahead of CPU 0 for clocksource tsc.\n",
			verdict: doctor.Bad, findings: []string{"tsc-offset-between-cpus"}, not: []string{"small-skew"}, notAdvise: []string{"tsc-nowatchdog"}},
		{name: "7.1 finds inter CPU skew",
			log:     "[    5.000000] clocksource: Marking clocksource tsc unstable due to inter CPU skew\n[    5.000010] clocksource: CPU2       1234567890 < CPU0       1234667890 (cycles)\n[    5.000100] tsc: Marking TSC unstable due to clocksource watchdog\n",
			verdict: doctor.Bad, findings: []string{"tsc-offset-between-cpus"}},
		{name: "an interval of microseconds says nothing",
			log:     "[   27.500000] clocksource: Marking clocksource tsc unstable due to frequency skew\n[   27.542401] clocksource: Watchdog               kvm-clock interval:             5868ns\n[   27.542696] clocksource: Clocksource                  tsc interval:             5775ns\n",
			verdict: doctor.Undecided, findings: []string{"cause-unknown"}, not: []string{"small-skew", "tsc-frequency-wrong"}},
		{name: "a guest was paused: kvm-clock leaves the pause out",
			log:     "[   27.500000] clocksource: Marking clocksource tsc unstable due to frequency skew\n[   27.542401] clocksource: Watchdog               kvm-clock interval:        503967155ns\n[   27.542696] clocksource: Clocksource                  tsc interval:     61503967155ns\n",
			verdict: doctor.Good, findings: []string{"guest-paused"}, advice: []string{"ask-host"}, notAdvise: []string{"firmware-update"}},
		{name: "a small difference against kvm-clock, which stays in use",
			log: block("[514764.706607] ", "tsc", "kvm-clock", "504385576", "503967155", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: 2 wd_last: 1 mask: ffffffffffffffff") +
				"[514764.706629] clocksource:                       'kvm-clock' (not 'tsc') is current clocksource.\n",
			verdict: doctor.Good, findings: []string{"verdict-without-effect", "vcpu-preempted"}},
		{name: "firmware states a wrong frequency",
			log:     "[    1.000000] tsc: Warning: TSC freq calibrated by CPUID/MSR differs from what is calibrated by HW timer, please check with vendor!!\n[    1.000001] tsc: Previous calibrated TSC freq:\t 2100.000 MHz\n[    1.000002] tsc: TSC freq recalibrated by [HPET]:\t 2094.999 MHz\n",
			verdict: doctor.Bad, findings: []string{"tsc-frequency-wrong"}, advice: []string{"fix-frequency"}, notAdvise: []string{"tsc-reliable"}},
		{name: "an offset of a CPU after resume",
			log: "[33987.814614] Enabling non-boot CPUs ...\n[33987.845817] TSC synchronization [CPU#0 -> CPU#1]:\n[33987.845818] Measured 3483092704 cycles TSC warp between CPUs, turning off TSC clock.\n",

			verdict: doctor.Bad, findings: []string{"tsc-offset-between-cpus", "resume"}, advice: []string{"report-resume-problem"}},
		{name: "a passed synchronisation test is no accusation",
			log:     "TSC synchronization [CPU#0 -> CPU#1]: passed.\nchecking TSC synchronization [CPU#0 -> CPU#2]: passed.\n",
			verdict: doctor.None},
		{name: "2^33 ns is a stall of the 2.6.32 kind",
			log:     "Clocksource tsc unstable (delta = -8589964877 ns)\n",
			verdict: doctor.Good, findings: []string{"stall-2-6-32"}},
		{name: "2^33 ns forward is not",
			log:     "Clocksource tsc unstable (delta = 8589964877 ns)\n",
			verdict: doctor.Undecided, not: []string{"stall-2-6-32"}},
		{name: "an old delta of one PM wrap",
			log:     "Clocksource tsc unstable (delta = 4687619986 ns)\n",
			verdict: doctor.Good, findings: []string{"acpi-pm-wrap"}},
		{name: "a negative delta cannot be a PM wrap",
			log:     "Clocksource tsc unstable (delta = -4687619986 ns)\n",
			verdict: doctor.Undecided, not: []string{"acpi-pm-wrap"}},
		{name: "the option hides what the firmware does",
			log:     "[    0.000000] Kernel command line: root=/dev/sda1 tsc=reliable\n[   10.000000] [Firmware Bug]: TSC ADJUST differs: CPU15 45960750 --> 78394770. Restoring\n",
			verdict: doctor.Undecided, findings: []string{"option-hides-fault", "tsc-adjust-firmware"}, advice: []string{"remove-option"}},
		{name: "chrony sees a clock that runs wrong on a board without watchdog",
			log: "Tue Feb 11 10:13:11 2025 kern.info kernel: [    0.000000] clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0xc743ce346, max_idle_ns: 440795203123 ns\n" +
				"Tue Feb 11 10:13:12 2025 daemon.warn chronyd[3181]: Frequency -600043.5 ppm exceeds allowed maximum\n",
			verdict: doctor.None, findings: []string{"arch-drift"}, advice: []string{"fix-device-tree", "measure-drift"}},
		{name: "the same error at two checks is a rate",
			log: block("[ 1000.000000] ", "tsc", "hpet", "510000000", "500000000", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: b71b00 wd_last: 0 mask: ffffffff") +
				block("[ 1000.500000] ", "tsc", "hpet", "511020000", "501000000", "cs_now: 2 cs_last: 1 mask: ffffffffffffffff", "wd_now: b78ce0 wd_last: 0 mask: ffffffff"),
			verdict: doctor.Bad, findings: []string{"tsc-frequency-wrong"}},
		{name: "the TSC is switched off by the user",
			log:     "[    0.000000] Kernel command line: root=/dev/sda1 tsc=unstable\n[    0.000000] tsc: Marking TSC unstable due to boot parameter\n[    1.000000] clocksource: Switched to clocksource hpet\n",
			verdict: doctor.None, findings: []string{"tsc-disabled-by-option"}},
		{name: "a conviction outweighs a cleared accusation",
			log: "[   10.000000] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n" +
				"[    0.148008] Measured 4547752365 cycles TSC warp between CPUs, turning off TSC clock.\n",
			verdict: doctor.Bad, findings: []string{"tsc-offset-between-cpus"}, notAdvise: []string{"tsc-nowatchdog", "tsc-reliable"}},
		{name: "a machine check comes first",
			log: "[14874911.977687] [Hardware Error]: CPU 19: Machine Check Exception: 4 Bank 5: be00000000800400\n" +
				"[14874911.977777] Clocksource tsc unstable (delta = -8589935096 ns)\n",
			verdict: doctor.Good, findings: []string{"stall-2-6-32", "upstream-stall"}, advice: []string{"fix-hardware-error"}},
		{name: "a stall of hours ago is not the cause",
			log: "[  100.000000] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:412]\n" +
				"[90000.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n" +
				"[90000.000000] clocksource: 'hpet' wd_nsec: 500000000 wd_now: b71b00 wd_last: 0 mask: ffffffff\n[90000.000000] clocksource: 'tsc' cs_nsec: 500400000 cs_now: 2 cs_last: 1 mask: ffffffffffffffff\n",
			verdict: doctor.Undecided, findings: []string{"small-skew"}, not: []string{"upstream-stall"}},
		{name: "a xen guest on its slow default clock",
			log:     "[    0.000000] Linux version 4.14.0\n[    0.000000] Hypervisor detected: Xen HVM\n[    0.500000] clocksource: Switched to clocksource xen\n",
			verdict: doctor.None, findings: []string{"slow-default-clock"}},
		{name: "from the TSC to the HPET without a word why",
			log:     "[    0.000000] Linux version 5.15.0\n[    1.000000] clocksource: Switched to clocksource tsc\n[   42.000000] clocksource: Switched to clocksource hpet\n",
			verdict: doctor.Undecided, findings: []string{"cause-unknown"}, not: []string{"slow-default-clock"}},
		{name: "a switch to the PM timer hours after the boot",
			log:     "[ 8996.146113] clocksource: Switched to clocksource acpi_pm\n",
			verdict: doctor.Undecided, findings: []string{"cause-unknown"}, advice: []string{"capture-full-log"}},
		{name: "the HPET on the way to the TSC is the way of old kernels",
			log:     "Switching to clocksource hpet\nSwitching to clocksource tsc\n",
			verdict: doctor.None},
		{name: "a verdict that is cut behind its first words",
			log:     "[   42.000000] tsc: Marking TSC unstable due to\n",
			verdict: doctor.Undecided, findings: []string{"cause-unknown"}},
		{name: "an old verdict that is cut behind its first words",
			log:     "Clocksource tsc unstable\n",
			verdict: doctor.Undecided, findings: []string{"cause-unknown"}},
		{name: "lines of others that repeat a verdict",
			log:     "Mar  5 08:00:00 host puppet[12]: clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:\n",
			verdict: doctor.None, findings: []string{"not-a-clocksource-event"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := examineText(t, c.log)
			got, advice := findingIDs(d), adviceIDs(d)
			if d.TSCVerdict != c.verdict {
				t.Errorf("verdict %s, want %s", d.TSCVerdict, c.verdict)
			}
			for _, id := range c.findings {
				if !slices.Contains(got, id) {
					t.Errorf("finding %s is missing", id)
				}
			}
			for _, id := range c.advice {
				if !slices.Contains(advice, id) {
					t.Errorf("advice %s is missing", id)
				}
			}
			if bad := overlap(got, c.not); len(bad) > 0 {
				t.Errorf("contradicted findings %q", bad)
			}
			if bad := overlap(advice, c.notAdvise); len(bad) > 0 {
				t.Errorf("harmful advice %q", bad)
			}
			if t.Failed() {
				for _, x := range d.Decisions {
					t.Logf("%s: %s: %s", x.Kind, x.Verdict, x.Why)
				}
				t.Logf("findings %q, advice %q", got, advice)
			}
		})
	}
}
