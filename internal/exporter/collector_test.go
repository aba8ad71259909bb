package exporter

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

var updateDocs = flag.Bool("update", false, "write docs/metrics.md anew")

var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// fallen is the tally of a machine whose kernel gave up a TSC because reading the HPET was slow.
func fallen() *tally.Tally {
	log := "5,0,0,-;Linux version 5.15.0\n" +
		"6,1,250000,-;clocksource: Switched to clocksource tsc-early\n" +
		"6,2,1250000,-;clocksource: Switched to clocksource tsc\n" +
		"4,3,13669682,-;clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n" +
		"6,4,13669690,-;tsc: Marking TSC unstable due to clocksource watchdog\n" +
		"6,5,13669700,-;clocksource: Switched to clocksource hpet\n"
	t := tally.New("boot")
	stamps := tally.Stamps{Now: noon, Monotonic: time.Hour}
	r := klog.NewReader(strings.NewReader(log), "/dev/kmsg")
	for r.Next() {
		e := r.Event()
		t.Add(e, stamps.At(e.Time))
	}
	t.Settle(stamps.At)
	t.Read(6, 6, 0, 0, 0, tally.Moment{At: noon})
	t.Observe("hpet", []string{"hpet", "acpi_pm"}, tally.Moment{At: noon})
	t.Watching(watchdog.E5, 3, "tsc", "monotonic_raw", machine.No, "")
	v := watchdog.Verdict{Kind: watchdog.Agreed, Attempts: 1, Compared: true, Skew: 25}
	v.Reference.NS = 500_000_000
	t.Check(&tally.Check{Verdicts: []watchdog.Verdict{v}, Delays: []clocksource.Nanos{800, 60_000}, Late: []trace.Cause{trace.Unexplained}, Exchange: tally.Completed}, tally.Moment{At: noon})
	t.Price(machine.Cost{ReadNS: 1400, ReadP99NS: 2000, SyscallNS: 1380, Path: "syscall", Clocksource: "hpet"})
	events, left := t.Events()
	d := doctor.Examine(doctor.Evidence{Events: events, LeftOut: left, LogLines: 6, Snapshot: &machine.Snapshot{
		Schema: machine.Schema, Live: true, Host: "db7", Arch: "x86_64", Clocksource: machine.Clocksource{Current: "hpet", Available: []string{"hpet", "acpi_pm"}},
	}})
	t.Diagnose(&d, tally.Moment{At: noon})
	for _, c := range tally.CollectorNames() {
		t.Report(c, nil, time.Millisecond, noon)
	}
	t.Report(tally.Keeper, fmt.Errorf("no space left on device"), time.Millisecond, noon)
	return t
}

func registry(t testing.TB, y *tally.Tally) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(NewCollector(Subject{
		View: y.View, Booted: func() time.Time { return noon.Add(-time.Hour) }, Build: Build{"v1.2.3", "abc"},
		Hooks: func() []HookCounts { return []HookCounts{{"command", map[string]uint64{"ok": 3}, 1}} },
	}))
	return r
}

func TestTheMetricsOfAMachineThatFellToTheHPET(t *testing.T) {
	const want = `
# HELP cswatch_clocksource_best 1 for the best clocksource that this machine has, or had before the kernel gave it up.
# TYPE cswatch_clocksource_best gauge
cswatch_clocksource_best{clocksource="acpi_pm",device="clocksource0"} 0
cswatch_clocksource_best{clocksource="hpet",device="clocksource0"} 0
cswatch_clocksource_best{clocksource="tsc",device="clocksource0"} 1
cswatch_clocksource_best{clocksource="tsc-early",device="clocksource0"} 0
# HELP cswatch_clocksource_condemned 1 for a clocksource that the kernel gave up in this boot, 0 for the others.
# TYPE cswatch_clocksource_condemned gauge
cswatch_clocksource_condemned{clocksource="acpi_pm"} 0
cswatch_clocksource_condemned{clocksource="hpet"} 0
cswatch_clocksource_condemned{clocksource="tsc"} 1
cswatch_clocksource_condemned{clocksource="tsc-early"} 0
# HELP cswatch_clocksource_current 1 for the clocksource that the kernel uses, 0 for the others of this boot.
# TYPE cswatch_clocksource_current gauge
cswatch_clocksource_current{clocksource="acpi_pm",device="clocksource0"} 0
cswatch_clocksource_current{clocksource="hpet",device="clocksource0"} 1
cswatch_clocksource_current{clocksource="tsc",device="clocksource0"} 0
cswatch_clocksource_current{clocksource="tsc-early",device="clocksource0"} 0
# HELP cswatch_clocksource_switches_total How often the kernel went from one clocksource to another in this boot.
# TYPE cswatch_clocksource_switches_total counter
cswatch_clocksource_switches_total{from="none",to="tsc-early"} 1
cswatch_clocksource_switches_total{from="tsc",to="hpet"} 1
cswatch_clocksource_switches_total{from="tsc-early",to="tsc"} 1
# HELP cswatch_clocksource_unstable_total How often the kernel gave up a clocksource in this boot, by the cause that its log tells.
# TYPE cswatch_clocksource_unstable_total counter
cswatch_clocksource_unstable_total{cause="read-delay",clocksource="tsc",reference="hpet"} 1
# HELP cswatch_clock_read_seconds What a read of the clock costs, the median of many.
# TYPE cswatch_clock_read_seconds gauge
cswatch_clock_read_seconds{clocksource="hpet",path="program"} 1.4e-06
cswatch_clock_read_seconds{clocksource="hpet",path="syscall"} 1.38e-06
# HELP cswatch_collector_success 1 for a source of this program that could be read, 0 for one that could not.
# TYPE cswatch_collector_success gauge
cswatch_collector_success{collector="cost"} 1
cswatch_collector_success{collector="doctor"} 1
cswatch_collector_success{collector="kmsg"} 1
cswatch_collector_success{collector="state"} 0
cswatch_collector_success{collector="sysfs"} 1
cswatch_collector_success{collector="watch"} 1
# HELP cswatch_doctor_tsc_verdict 1 for what the evidence says of the TSC: whether the kernel was right.
# TYPE cswatch_doctor_tsc_verdict gauge
cswatch_doctor_tsc_verdict{verdict="bad"} 0
cswatch_doctor_tsc_verdict{verdict="good"} 1
cswatch_doctor_tsc_verdict{verdict="none"} 0
cswatch_doctor_tsc_verdict{verdict="undecided"} 0
`
	err := testutil.GatherAndCompare(registry(t, fallen()), strings.NewReader(want),
		"cswatch_clocksource_best", "cswatch_clocksource_condemned", "cswatch_clocksource_current", "cswatch_clocksource_switches_total",
		"cswatch_clocksource_unstable_total", "cswatch_clock_read_seconds", "cswatch_collector_success", "cswatch_doctor_tsc_verdict")
	if err != nil {
		t.Error(err)
	}
}

func TestWhatIsExposedIsWhatIsDocumented(t *testing.T) {
	known := map[string]Metric{}
	for _, m := range Metrics() {
		known[m.Name] = m
	}
	for name, y := range map[string]*tally.Tally{"a fallen machine": fallen(), "a monitor that just began": tally.New("boot")} {
		families, err := registry(t, y).Gather()
		if err != nil {
			t.Fatal(err)
		}
		exposed := map[string]bool{}
		for _, f := range families {
			m, ok := known[f.GetName()]
			exposed[f.GetName()] = true
			if !ok {
				t.Errorf("%s: %s is not documented", name, f.GetName())
				continue
			}
			if got := strings.ToLower(f.GetType().String()); got != string(m.Type) || f.GetHelp() != m.Help {
				t.Errorf("%s: %s is a %s (%q)", name, f.GetName(), got, f.GetHelp())
			}
			for _, one := range f.GetMetric() {
				labels := map[string]string{}
				for _, l := range one.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if len(labels) != len(m.Labels) {
					t.Errorf("%s: %s has labels %v", name, f.GetName(), labels)
				}
				for _, l := range m.Labels {
					if v, ok := labels[l.Name]; !ok || l.Values != nil && !slices.Contains(l.Values, v) {
						t.Errorf("%s: %s: label %s is %q, want one of %q", name, f.GetName(), l.Name, v, l.Values)
					}
				}
			}
		}
		if name == "a fallen machine" {
			for n := range known {
				if !exposed[n] {
					t.Errorf("%s is documented and not exposed", n)
				}
			}
		}
	}
}

func TestTheMetricsKeepToTheConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(registry(t, fallen()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, m := range Metrics() {
		if !strings.HasPrefix(m.Name, "cswatch_") || m.Help == "" {
			t.Errorf("%s: want the prefix cswatch_ and a help text", m.Name)
		}
		if m.Unit != "" && !strings.Contains(m.Name, "_"+m.Unit) {
			t.Errorf("%s: its unit %s is not in its name", m.Name, m.Unit)
		}
	}
}

func TestAFirstReadingHasNoSkewAndNoPrice(t *testing.T) {
	families, err := registry(t, tally.New("boot")).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch f.GetName() {
		case "cswatch_watchdog_skew_ratio":
			if v := f.GetMetric()[0].GetGauge().GetValue(); !math.IsNaN(v) {
				t.Errorf("skew %v, want NaN", v)
			}
		case "cswatch_clock_read_seconds", "cswatch_watchdog_info":
			t.Errorf("%s is there", f.GetName())
		}
	}
}

func TestNamesThatNobodyKnowsMakeNoSeries(t *testing.T) {
	y := tally.New("boot")
	for i := range 1000 {
		y.Add(event.Event{Kind: event.Switched, Clocksource: fmt.Sprint("clock", i)}, tally.Moment{At: noon})
	}
	y.Observe("zork", []string{"zork", "blorb"}, tally.Moment{At: noon})
	n, err := testutil.GatherAndCount(registry(t, y), "cswatch_clocksource_switches_total", "cswatch_clocksource_current")
	if err != nil || n != 3 {
		t.Errorf("%d series, error %v, want 3", n, err)
	}
}

const metricsHead = `# Metrics

What ` + "`cswatch monitor`" + ` exposes at ` + "`/metrics`" + `, beside the metrics of the Go runtime and of the process (` + "`go_*`, `process_*`" + `).
Written by ` + "`go test ./internal/exporter -run Documented -update`" + ` from the table that the program itself uses.

The values of labels are closed sets: whatever a log or a driver says, it makes no new series. A counter *of this boot* counts from the
beginning of the kernel's log: a monitor that is started late, or again, shows what was logged before it, and a reboot sets it back. So
an alert about something that happened once should look at a gauge (` + "`cswatch_clocksource_condemned`" + `) or at the counter itself, not at its increase.

## The metrics
`

func TestEveryMetricIsDocumented(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(metricsHead)
	if err := WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/metrics.md"
	if *updateDocs {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(have)); diff != "" {
		t.Errorf("docs/metrics.md is not up to date; run go test ./internal/exporter -run Documented -update (-want +got):\n%s", diff)
	}
}

func BenchmarkCollect(b *testing.B) {
	r := registry(b, fallen())
	for b.Loop() {
		if _, err := r.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
