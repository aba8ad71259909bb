package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/machine"
)

// watchedTSC is a 5.15 machine whose TSC is in use, watched, and can be lost to slow reads.
func watchedTSC() *machine.Snapshot {
	return &machine.Snapshot{
		Schema: machine.Schema, Live: true, Arch: "x86_64",
		Kernel:      machine.Kernel{Release: "5.15.0", Banner: "Linux version 5.15.0 (a@b) #1 SMP"},
		Clocksource: machine.Clocksource{Current: "tsc", Available: []string{"tsc", "hpet", "acpi_pm"}, Parameters: map[string]string{"max_cswd_read_retries": "3", "verify_n_cpus": "8"}},
		CPU:         machine.CPU{Flags: []string{"tsc", "constant_tsc", "nonstop_tsc", "tsc_adjust"}, Nodes: 1, Packages: 1},
		Hypervisor:  machine.Hypervisor{Guest: machine.No}, Time: machine.Time{Synchronised: machine.Yes},
		CommandLine: "root=/dev/sda1 ro",
	}
}

// liveRun is a healthy watch of five seconds against the HPET.
func liveRun() *doctor.Live {
	return &doctor.Live{
		Era: "E5", EraWhy: "of this kernel: the version names the upstream release", Retries: 3, Kernel: "5.15.0", Current: "tsc", Guest: machine.No,
		Counter: "tsc", CounterHz: 2_500_000_000, CounterFrom: "measured", Doubt: 0.2,
		Reference: "hpet", Independent: machine.Yes, IndependentWhy: "a counter of its own in the chipset", CPUs: "0-7",
		Asked: 5, Elapsed: 5 * clocksource.NanosPerSecond, Ended: "duration", Ticks: 11, Checks: 11,
		Kinds:     map[string]uint64{"initialised": 1, "agreed": 10},
		Delays:    doctor.LiveDelays{Count: 11, Min: 1900, Median: 2100, P99: 3000, Max: 3000, Limit: 50_000, InterruptsCounted: true},
		Skew:      doctor.LiveSkew{Compared: 10, Least: -2, Greatest: 3, Mean: 0.4, Noise: 10, Largest: 1500},
		Exchanges: doctor.LiveExchanges{Made: 9, Completed: 9},
	}
}

// skewed is a counter that is off by so many ppm at each comparison.
func skewed(l *doctor.Live, ppm clocksource.PPM) {
	l.Skew.Least, l.Skew.Greatest, l.Skew.Mean, l.Skew.Beyond = ppm-2, ppm+3, ppm, ppm-10
	l.Skew.Largest = clocksource.Nanos(ppm * 500)
	l.Skew.Condemned = 5
}

// apart makes the CPUs disagree.
func apart(l *doctor.Live) {
	l.Exchanges.Backwards, l.Exchanges.Most, l.Exchanges.Between = 3, 1200, "CPU 0 and CPU 3"
}

// slow makes the era condemn the clock twice for latency, for no reason that only a program has.
func slow(l *doctor.Live) {
	l.Latency.Condemned, l.Delays.Unexplained, l.Delays.Max = 2, 8, 60_666
	l.Kinds = map[string]uint64{"initialised": 3, "agreed": 6, "condemned-delay": 2}
}

func TestWhatALiveWatchProves(t *testing.T) {
	const offset, rate = "tsc-offset-between-cpus", "tsc-frequency-wrong"
	arm := func(s *machine.Snapshot, l *doctor.Live) {
		s.Arch, s.Kernel, s.CPU = "aarch64", machine.Kernel{Release: "6.12.41"}, machine.CPU{}
		s.Clocksource = machine.Clocksource{Current: "arch_sys_counter", Available: []string{"arch_sys_counter"}}
		l.Counter, l.Current, l.Reference, l.Kernel = "arch_sys_counter", "arch_sys_counter", "ptp0", "6.12.41"
	}
	type ids = []string
	for _, c := range []struct {
		name      string
		change    func(*machine.Snapshot, *doctor.Live)
		status    doctor.Status
		verdict   doctor.Verdict
		severity  doctor.Severity // of the first of the findings
		findings  ids
		not       ids
		advice    ids
		notAdvise ids
		says      string // in the summary of the finding live-watch
	}{
		{"a healthy machine", func(*machine.Snapshot, *doctor.Live) {}, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"live-watch"}, ids{offset, rate, "skew-now", "slow-read-backs"}, ids{"nothing"}, nil, "the CPUs agree in 9 comparisons; no read-back was late"},
		{"a TSC that runs off against an independent reference", func(_ *machine.Snapshot, l *doctor.Live) { skewed(l, 1000) }, doctor.StatusCritical, doctor.Bad, doctor.Critical,
			ids{rate, "live-watch"}, ids{"skew-now"}, ids{"measure-drift", "switch-away", "fix-frequency"}, ids{"stay-on-fallback", "tsc-nowatchdog", "tsc-reliable"}, "differ by 1e+03 ppm"},
		{"the same against a reference that is computed from it", func(_ *machine.Snapshot, l *doctor.Live) { skewed(l, 1000); l.Independent = machine.No }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"live-watch"}, ids{rate, "skew-now"}, ids{"nothing"}, nil, "hpet is computed from tsc, so that its rate was not checked"},
		{"the same in a guest, where the host computes the reference", func(s *machine.Snapshot, l *doctor.Live) {
			skewed(l, 1000)
			l.Independent, l.Guest, s.Hypervisor.Guest = machine.Unknown, machine.Yes, machine.Yes
		}, doctor.StatusWarning, doctor.Undecided, doctor.Warning, ids{"skew-now"}, ids{rate}, ids{"ask-host", "measure-drift"}, ids{"firmware-update", "switch-away"}, "may not be independent"},
		{"a difference that comes and goes may be the reference's", func(_ *machine.Snapshot, l *doctor.Live) {
			skewed(l, 1000)
			l.Skew.Least = 1
		}, doctor.StatusWarning, doctor.Undecided, doctor.Warning, ids{"skew-now"}, ids{rate}, ids{"check-cross-cpu-sync"}, ids{"tsc-nowatchdog", "switch-away"}, ""},
		{"one comparison shows no rate", func(_ *machine.Snapshot, l *doctor.Live) { skewed(l, 1000); l.Skew.Compared = 1 }, doctor.StatusWarning, doctor.Undecided, doctor.Warning,
			ids{"skew-now"}, ids{rate}, nil, nil, "over 1 comparison"},
		{"a skew within the doubt about the counter's rate is none", func(_ *machine.Snapshot, l *doctor.Live) {
			skewed(l, 700)
			l.Doubt, l.Skew.Condemned = 500, 0
		}, doctor.StatusOK, doctor.None, doctor.Info, ids{"live-watch"}, ids{rate, "skew-now"}, nil, nil, ""},
		{"nothing that came in time to be compared", func(_ *machine.Snapshot, l *doctor.Live) { l.Skew = doctor.LiveSkew{LeftOut: 9} }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"live-watch"}, ids{rate, "skew-now"}, nil, nil, "no two read-backs of hpet came in time"},
		{"CPUs that disagree while the TSC keeps the time", func(_ *machine.Snapshot, l *doctor.Live) { apart(l) }, doctor.StatusCritical, doctor.Bad, doctor.Critical,
			ids{offset, "live-watch"}, nil, ids{"check-cross-cpu-sync", "switch-away", "power-cycle"}, ids{"stay-on-fallback", "tsc-nowatchdog", "set-clocksource-tsc"}, "the CPUs disagree in 3 of 9 comparisons"},
		{"CPUs that disagree while another clock keeps the time", func(s *machine.Snapshot, l *doctor.Live) {
			apart(l)
			s.Clocksource.Current, s.Clocksource.Available, l.Current = "hpet", ids{"hpet", "acpi_pm"}, "hpet"
		}, doctor.StatusWarning, doctor.Bad, doctor.Warning, ids{offset}, ids{"better-source-available"}, ids{"stay-on-fallback"}, ids{"switch-away", "set-clocksource-tsc"}, ""},
		{"CPUs of a guest that disagree are the host's to repair", func(s *machine.Snapshot, l *doctor.Live) { apart(l); s.Hypervisor.Guest = machine.Yes }, doctor.StatusCritical, doctor.Bad, doctor.Critical,
			ids{offset}, nil, ids{"ask-host"}, ids{"firmware-update", "power-cycle"}, ""},
		{"CPUs that disagree without a TSC", func(s *machine.Snapshot, l *doctor.Live) { arm(s, l); apart(l) }, doctor.StatusCritical, doctor.None, doctor.Critical,
			ids{"counter-offset-between-cpus"}, ids{offset}, ids{"firmware-update"}, ids{"check-cross-cpu-sync"}, ""},
		{"a counter that runs off without a TSC", func(s *machine.Snapshot, l *doctor.Live) { arm(s, l); skewed(l, -2000) }, doctor.StatusWarning, doctor.None, doctor.Warning,
			ids{"arch-drift"}, ids{rate}, ids{"fix-device-tree"}, nil, ""},
		{"late reads by preemption alone tell nothing of the kernel", func(_ *machine.Snapshot, l *doctor.Live) {
			l.Latency.Disturbed, l.Delays.Preempted, l.Delays.Interrupted = 2, 7, 1
			l.Kinds = map[string]uint64{"initialised": 3, "agreed": 6, "condemned-delay": 2}
		}, doctor.StatusOK, doctor.None, doctor.Info, ids{"live-watch"}, ids{"slow-read-backs", "reference-read-delay"}, ids{"nothing"}, nil,
			"8 late read-backs, while the program lost its turn or was interrupted, which tells nothing of the kernel's reads"},
		{"late reads whose interrupts could not be counted", func(_ *machine.Snapshot, l *doctor.Live) {
			l.Latency.Disturbed, l.Delays.Unexplained, l.Delays.InterruptsCounted = 1, 4, false
		}, doctor.StatusOK, doctor.None, doctor.Info, ids{"live-watch"}, ids{"slow-read-backs"}, nil, nil, "perhaps through interrupts"},
		{"reads that are slow by themselves, where latency can cost the TSC", func(_ *machine.Snapshot, l *doctor.Live) { slow(l) }, doctor.StatusWarning, doctor.None, doctor.Warning,
			ids{"slow-read-backs", "latency-can-condemn"}, nil, ids{"upgrade-kernel", "raise-read-retries"}, ids{"tsc-reliable"}, "8 late read-backs"},
		{"the same where the TSC is not watched", func(s *machine.Snapshot, l *doctor.Live) { slow(l); s.CommandLine += " tsc=nowatchdog" }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"slow-read-backs"}, nil, ids{"nothing"}, nil, ""},
		{"the same by the rules of another kernel", func(_ *machine.Snapshot, l *doctor.Live) { slow(l); l.Era, l.Kernel = "E9", "6.6.1" }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"slow-read-backs"}, nil, nil, ids{"raise-read-retries"}, "this machine runs 6.6.1, and the other evidence is of 5.15.0"},
		{"a skip is information", func(_ *machine.Snapshot, l *doctor.Live) { l.Latency.Skipped, l.Delays.Unexplained = 1, 1 }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"slow-read-backs"}, nil, nil, nil, "1 late read-back"},
		{"a watch that a signal ended", func(_ *machine.Snapshot, l *doctor.Live) { l.Ended, l.Ticks = "signal", 2 }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"live-watch"}, nil, nil, nil, "stopped before its end"},
		{"one CPU has none to agree with", func(_ *machine.Snapshot, l *doctor.Live) { l.Exchanges = doctor.LiveExchanges{} }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"live-watch"}, nil, nil, nil, "no two CPUs were compared"},
		{"CPUs that never met", func(_ *machine.Snapshot, l *doctor.Live) { l.Exchanges = doctor.LiveExchanges{Made: 4} }, doctor.StatusOK, doctor.None, doctor.Info,
			ids{"live-watch"}, nil, nil, nil, "no comparison of CPUs came to its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := watchedTSC(), liveRun()
			c.change(s, l)
			d := doctor.Examine(doctor.Evidence{Snapshot: s, Live: l, Inputs: doctor.Inputs{Live: true, LiveSeconds: 5}})
			got, advice := findingIDs(d), adviceIDs(d)
			if d.Status != c.status || d.TSCVerdict != c.verdict || d.Live != l {
				t.Errorf("status %s, verdict %s; want %s, %s", d.Status, d.TSCVerdict, c.status, c.verdict)
			}
			for _, id := range c.findings {
				if !slices.Contains(got, id) {
					t.Errorf("finding %s is missing", id)
				}
			}
			for _, f := range d.Findings {
				if f.ID == c.findings[0] && f.Severity != c.severity {
					t.Errorf("%s is %s, want %s", f.ID, f.Severity, c.severity)
				}
				if f.ID == "live-watch" && !strings.Contains(f.Summary, c.says) {
					t.Errorf("it says %q, want %q", f.Summary, c.says)
				}
			}
			for _, id := range c.advice {
				if !slices.Contains(advice, id) {
					t.Errorf("advice %s is missing", id)
				}
			}
			if bad := append(overlap(got, c.not), overlap(advice, c.notAdvise)...); len(bad) > 0 {
				t.Errorf("contradicted %q", bad)
			}
			if t.Failed() {
				t.Logf("%s; findings %q, advice %q", d.Summary, got, advice)
			}
		})
	}
}

func TestALiveWatchTakesNothingBackThatALogProves(t *testing.T) {
	const warp = "[    0.148008] Measured 4547752365 cycles TSC warp between CPUs, turning off TSC clock.\n"
	const slowRead = "[   13.669682] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n"
	for _, c := range []struct {
		name, log string
		change    func(*doctor.Live)
		verdict   doctor.Verdict
		summary   string
	}{
		{"convicted by the log, healthy now", warp, func(*doctor.Live) {}, doctor.Bad, "the kernel was right"},
		{"convicted by both", warp, apart, doctor.Bad, "the kernel was right"},
		{"convicted by the log, and a skew now that leaves open what is wrong", warp, func(l *doctor.Live) { skewed(l, 1000); l.Independent = machine.Unknown },
			doctor.Bad, "the kernel was right"},
		{"cleared by the log, healthy now", slowRead, func(*doctor.Live) {}, doctor.Good, "the evidence clears"},
		{"cleared by the log, and the CPUs disagree now", slowRead, apart, doctor.Bad, "not to be trusted, as measured now (tsc-offset-between-cpus)"},
		{"undecided in the log, healthy now", "Clocksource tsc unstable\n", func(*doctor.Live) {}, doctor.Undecided, "does not decide"},
	} {
		ev := evidenceOf(t, c.log)
		ev.Live = liveRun()
		c.change(ev.Live)
		d := doctor.Examine(ev)
		if d.TSCVerdict != c.verdict || !strings.Contains(d.Summary, c.summary) {
			t.Errorf("%s: verdict %s, %q; want %s, %q", c.name, d.TSCVerdict, d.Summary, c.verdict, c.summary)
		}
		if bad := overlap(adviceIDs(d), []string{"tsc-nowatchdog", "set-clocksource-tsc"}); d.TSCVerdict == doctor.Bad && len(bad) > 0 {
			t.Errorf("%s: harmful advice %q", c.name, bad)
		}
	}
}

func TestALiveWatchOfAnotherKernelThanTheLogsSaysSo(t *testing.T) {
	for log, want := range map[string]bool{
		"[    0.000000] Linux version 5.15.0-rc1+ (build@example) (gcc 11.2.0) #1 SMP\n": true,
		"[    0.000000] Linux version 5.15.0 (build@example) (gcc 11.2.0) #1 SMP\n":      false,
		"[    1.640000] clocksource: Switched to clocksource tsc\n":                      false,
	} {
		ev := evidenceOf(t, log)
		ev.Live = liveRun()
		for _, f := range doctor.Examine(ev).Findings {
			if got := strings.Contains(f.Summary, "this machine runs 5.15.0, and the other evidence is of 5.15.0-rc1+"); f.ID == "live-watch" && got != want {
				t.Errorf("%s: it says %q", log, f.Summary)
			}
		}
	}
}

func TestLiveCountersThatCannotBeReadAreMissingEvidence(t *testing.T) {
	d := doctor.Examine(doctor.Evidence{Snapshot: watchedTSC(), NoLive: &machine.Unreadable{What: "live counters", Reason: "permission denied", HowTo: "run as root"}})
	if d.Status != doctor.StatusOK || !slices.Contains(findingIDs(d), "evidence-unreadable") || !slices.Contains(missingIDs(d), "live-counters") {
		t.Errorf("status %s, findings %q, missing %q", d.Status, findingIDs(d), missingIDs(d))
	}
	if len(d.Unreadable) != 1 || d.Unreadable[0].What != "live counters" || d.Live != nil {
		t.Errorf("unreadable %v, live %v", d.Unreadable, d.Live)
	}
}

func TestOnlyAnIndependentWitnessSpeaksForAClockOfWhichNothingElseTells(t *testing.T) {
	for answer, want := range map[machine.Answer]doctor.Status{machine.Yes: doctor.StatusOK, machine.No: doctor.StatusUnknown, machine.Unknown: doctor.StatusUnknown} {
		l := liveRun()
		l.Independent = answer
		if d := doctor.Examine(doctor.Evidence{Live: l}); d.Status != want {
			t.Errorf("independent %s: status %s, want %s", answer, d.Status, want)
		}
	}
}
