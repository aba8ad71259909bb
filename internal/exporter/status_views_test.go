package exporter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// theTime is when the pages and documents of the tests are made, in a zone with a name of its own.
var theTime = time.Date(2026, 3, 5, 18, 30, 40, 0, time.FixedZone("CET", 3600))

// booted and started are those of the machine of the tests, and of its monitor.
var (
	booted  = theTime.Add(-51 * time.Hour)
	started = theTime.Add(-7 * time.Hour)
)

func aboutTest() About {
	return About{
		Version: "v1.2.0", Host: "web-7", Kernel: "5.15.0-25-generic", Started: started, Booted: booted,
		Flags: Flags{
			Listen: []string{"127.0.0.1:9953"}, TelemetryPath: "/metrics", Reference: "auto", Retries: event.Some(3),
			WatchEvery: 15 * time.Second, CostEvery: time.Minute, DoctorEvery: 10 * time.Minute, State: "/run/cswatch/monitor.json", Hooks: []string{"command"},
		},
	}
}

// diagnosisOfFile is one that cswatch doctor once wrote.
func diagnosisOfFile(t testing.TB, name string) *doctor.Diagnosis {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var d doctor.Diagnosis
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &d
}

// atBoot is what a kernel logs of its clocks while it boots.
var atBoot = []string{
	"0.720000 clocksource: Switched to clocksource tsc-early",
	"1.930100 clocksource: Switched to clocksource tsc",
}

// logTo feeds lines "seconds text" to a tally as the kernel's log.
func logTo(y *tally.Tally, lookback bool, lines ...string) {
	at := func(t event.Time) tally.Moment {
		m := tally.Stamps{Now: theTime, Monotonic: theTime.Sub(booted)}.At(t)
		m.Lookback = lookback
		return m
	}
	var b strings.Builder
	for i, l := range lines {
		stamp, said, _ := strings.Cut(l, " ")
		var seconds float64
		fmt.Sscan(stamp, &seconds)
		fmt.Fprintf(&b, "4,%d,%d,-;%s\n", i, int64(seconds*1e6), said)
	}
	r := klog.NewReader(strings.NewReader(b.String()), "/dev/kmsg")
	for r.Next() {
		e := r.Event()
		y.Add(e, at(e.Time))
	}
	y.Settle(at)
	y.Read(uint64(900+len(lines)), uint64(900+len(lines)), 0, 0, 0, tally.Moment{At: theTime})
}

// minutes lets a tally live through minutes until theTime: read-backs of about delay and a clock that costs
// a price, which tell for each minute, counted from 0, what is to come.
func minutes(y *tally.Tally, n int, delay, price func(minute int) float64) {
	luck := rand.New(rand.NewPCG(7, 9))
	for i := range n {
		at := theTime.Add(time.Duration(i-n+1)*time.Minute - 20*time.Second)
		if d := delay(i); d > 0 {
			for range 4 {
				c := tally.Check{Exchange: tally.Completed}
				for range 3 {
					ns := d * (0.9 + 0.2*luck.Float64())
					if luck.IntN(40) == 0 {
						ns *= 1 + 9*luck.Float64()
					}
					c.Delays = append(c.Delays, clocksource.Nanos(ns))
				}
				v := watchdog.Verdict{Era: watchdog.E9, Kind: watchdog.Agreed, Attempts: 1, Compared: true, Skew: clocksource.Nanos(60 * luck.NormFloat64())}
				v.Reference.NS = clocksource.NanosPerSecond / 2
				c.Verdicts = []watchdog.Verdict{v}
				if luck.IntN(200) == 0 {
					c.Late = []trace.Cause{trace.Interrupted}
				}
				y.Check(&c, tally.Moment{At: at})
			}
		}
		if p := price(i); p > 0 {
			y.Price(machine.Cost{ReadNS: p * (0.98 + 0.04*luck.Float64()), ReadP99NS: p * 1.2, SyscallNS: p + 110, Path: "vdso", Reads: 20_000, Clocksource: "tsc", Seconds: 0.004})
		}
		y.Tick(at)
	}
}

func working(y *tally.Tally, at time.Time) {
	for _, c := range tally.CollectorNames() {
		y.Report(c, nil, 3*time.Millisecond, at)
	}
}

// newTally has seen a boot, and watches the TSC.
func newTally() *tally.Tally {
	y := tally.New("7c5f")
	y.Tick(theTime.Add(-6 * time.Hour)) // the minutes begin
	logTo(y, true, atBoot...)
	y.Observe("tsc", []string{"tsc", "hpet", "acpi_pm"}, tally.Moment{At: started})
	y.Watching(watchdog.E9, 3, "tsc", "hpet", machine.Yes, "it counts by a crystal of its own")
	return y
}

// healthy is a machine that is well.
func healthy(t testing.TB) tally.View {
	y := newTally()
	minutes(y, 358, func(int) float64 { return 3300 }, func(int) float64 { return 21.4 })
	working(y, theTime.Add(-12*time.Second))
	y.Diagnose(diagnosisOfFile(t, "diagnosis-healthy.json"), tally.Moment{At: theTime.Add(-12 * time.Second)})
	return y.View()
}

// condemned is a machine whose kernel gave the TSC up forty minutes ago, because reading took too long.
func condemned(t testing.TB) tally.View {
	y := newTally()
	const fall = 318 // the minute
	storm := func(i int) float64 {
		switch {
		case i > 200 && i < 230:
			return 0 // nothing was measured
		case i >= fall-6 && i <= fall:
			return 58_000
		}
		return 3300
	}
	minutes(y, 358, storm, func(i int) float64 {
		if i > fall {
			return 1493
		}
		return 21.4
	})
	y.Price(machine.Cost{ReadNS: 1493, ReadP99NS: 2210, SyscallNS: 1621, Path: "syscall", Reads: 1400, Clocksource: "hpet", Seconds: 0.0038})
	seconds := theTime.Sub(booted).Seconds() - 40*60
	line := func(after float64, said string) string { return fmt.Sprintf("%.6f %s", seconds+after, said) }
	logTo(y, false,
		line(-300, "clocksource: timekeeping watchdog on CPU3: hpet retried 2 times before success"),
		line(-240, "clocksource: timekeeping watchdog on CPU1: hpet retried 2 times before success"),
		line(-180, "clocksource: timekeeping watchdog on CPU7: hpet retried 3 times before success"),
		line(-60, "clocksource: timekeeping watchdog on CPU2: hpet retried 3 times before success"),
		line(0, "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable"),
		line(0.000008, "tsc: Marking TSC unstable due to clocksource watchdog"),
		line(0.000018, "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'."),
		line(0.007, "clocksource: Switched to clocksource hpet"))
	y.Observe("hpet", []string{"hpet", "acpi_pm"}, tally.Moment{At: theTime.Add(-39 * time.Minute)})
	working(y, theTime.Add(-95*time.Second))
	y.Diagnose(diagnosisOfFile(t, "diagnosis-condemned.json"), tally.Moment{At: theTime.Add(-40*time.Minute + time.Second)})
	return y.View()
}

// blindView is a monitor that cannot see much, on a machine that is well as far as it can tell.
func blindView(t testing.TB) tally.View {
	y := newTally()
	minutes(y, 30, func(int) float64 { return 0 }, func(int) float64 { return 21.4 })
	working(y, theTime.Add(-12*time.Second))
	y.Report(tally.Kmsg, errors.New("open /dev/kmsg: permission denied: the kernel restricts its log (kernel.dmesg_restrict=1)"), 0, theTime)
	y.Report(tally.Live, errors.New("watch live counters: HPET: open /dev/hpet: permission denied"), 0, theTime)
	d := diagnosisOfFile(t, "diagnosis-healthy.json")
	d.Status, d.Summary = doctor.StatusUnknown, "tsc is in use and nothing here speaks against it; the kernel's log was not to be had"
	d.Advice = nil
	d.Missing = []doctor.Missing{{ID: "kernel-log", HowToGet: "sudo dmesg > dmesg.txt; cswatch doctor --log dmesg.txt    # or once: sysctl kernel.dmesg_restrict=0"}}
	y.Diagnose(d, tally.Moment{At: theTime})
	return y.View()
}

// freshView has a line of the kernel that the doctor does not know yet.
func freshView(t testing.TB) tally.View {
	y := newTally()
	minutes(y, 358, func(int) float64 { return 3300 }, func(int) float64 { return 21.4 })
	working(y, theTime.Add(-3*time.Minute))
	y.Diagnose(diagnosisOfFile(t, "diagnosis-healthy.json"), tally.Moment{At: theTime.Add(-3 * time.Minute)})
	at := theTime.Sub(booted).Seconds() - 2
	logTo(y, false, fmt.Sprintf("%.6f clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable", at), fmt.Sprintf("%.6f tsc: Marking TSC unstable due to clocksource watchdog", at))
	return y.View()
}

// empty is a monitor that was started a moment ago.
func emptyView() tally.View { return tally.New("7c5f").View() }

// evil is what a line of a log may say to get out of its place.
const evil = `</title></style></pre><script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)><a href="javascript:alert(1)">x</a>'"><iframe src=//evil.example>` + "\u202e\x00\u2028]]>-->{{.}}"

// hostileView says what nobody may say, wherever somebody else says something.
func hostileView(t testing.TB) tally.View {
	v := condemned(t)
	long := evil + strings.Repeat("0123456789", 1000)
	for i := range v.Timeline {
		e := &v.Timeline[i]
		e.Line, e.Summary, e.Doubt, e.To = long, long, evil, evil
	}
	v.Timeline[0].Kind = tally.EntryKind(evil)
	v.Timeline[1].Kind, v.Timeline[1].Before, v.Timeline[1].After = tally.StatusChanged, evil, evil
	v.Clocks.Current, v.Clocks.Available, v.Clocks.Seen, v.Best = long, []string{long, evil}, []string{evil}, evil
	v.Watch.Clock, v.Watch.Reference, v.Watch.Why = evil, evil, long
	d := *v.Diagnosis
	d.Summary, d.Host = evil, evil
	d.Findings = []doctor.Finding{{ID: evil, Severity: evil, Summary: long, Evidence: []doctor.Proof{{Source: evil, Text: long}}}}
	d.Advice = []doctor.Advice{{ID: evil, Summary: evil, Command: long + "\n" + strings.Repeat(evil+"\n", 100), Risk: evil}, {ID: evil, Summary: long}}
	d.Missing = []doctor.Missing{{ID: evil, HowToGet: long}}
	v.Diagnosis = &d
	v.Collectors[tally.Cost] = tally.Health{Known: true, Error: long}
	return v
}

// largeView is as much as a view can hold.
func largeView(t testing.TB) tally.View {
	v := condemned(t)
	v.Timeline, v.Entries = nil, 0
	for i := range 512 {
		kinds := tally.EntryKinds()
		v.Entries++
		v.Timeline = append(v.Timeline, tally.Entry{
			Number: v.Entries, Kind: kinds[i%len(kinds)], Moment: tally.Moment{At: theTime.Add(time.Duration(i-512) * time.Minute), Doubt: strings.Repeat("doubt ", 80)},
			Summary: strings.Repeat("summary ", 70), Line: strings.Repeat("line ", 110), From: "tsc", To: "hpet",
		})
	}
	for i := range 40 {
		v.Clocks.Seen = append(v.Clocks.Seen, fmt.Sprint("clock", i))
	}
	d := *v.Diagnosis
	for range 200 {
		d.Findings = append(d.Findings, d.Findings[0])
		d.Advice = append(d.Advice, d.Advice[0])
		d.Missing = append(d.Missing, doctor.Missing{ID: "kernel-log", HowToGet: "dmesg"})
	}
	v.Diagnosis = &d
	return v
}
