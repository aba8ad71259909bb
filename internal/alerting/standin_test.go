package alerting

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// boot is the log of a machine that comes up on its TSC.
const boot = "5,0,0,-;Linux version 5.15.0\n" +
	"5,1,1,-;Kernel command line: quiet\n" +
	"6,2,250000,-;clocksource: Switched to clocksource tsc-early\n" +
	"6,3,1250000,-;clocksource: Switched to clocksource tsc\n"

// fall is what follows on the machine of the request for comments of 2021: the kernel gives up a TSC that it did not measure.
const fall = "4,4,13669682,-;clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n" +
	"6,5,13669690,-;tsc: Marking TSC unstable due to clocksource watchdog\n" +
	"6,6,13672268,-;clocksource: Switched to clocksource hpet\n"

// tallyOf is what a monitor knows of a machine with that log an hour after its boot.
func tallyOf(log string, current string, available []string, cost machine.Cost) *tally.Tally {
	now := time.Now()
	moment := tally.Moment{At: now}
	t := tally.New("a boot")
	stamps := tally.Stamps{Now: now, Monotonic: time.Hour}
	r := klog.NewReader(strings.NewReader(log), "/dev/kmsg")
	lines := uint64(strings.Count(log, "\n"))
	for r.Next() {
		e := r.Event()
		t.Add(e, stamps.At(e.Time))
	}
	t.Settle(stamps.At)
	t.Read(lines, lines, 0, 0, 0, moment)
	t.Observe(current, available, moment)
	t.Watching(watchdog.E5, 3, "tsc", "hpet", machine.Yes, "")
	v := watchdog.Verdict{Kind: watchdog.Agreed, Attempts: 1, Compared: true, Skew: 25}
	v.Reference.NS = 500 * clocksource.Millisecond
	t.Check(&tally.Check{Verdicts: []watchdog.Verdict{v}, Delays: []clocksource.Nanos{800, 2100}, Exchange: tally.Completed}, moment)
	t.Check(&tally.Check{Verdicts: []watchdog.Verdict{{Kind: watchdog.Skipped, Attempts: 2}}, Late: []trace.Cause{trace.Unexplained}, Exchange: tally.Late}, moment)
	cost.Clocksource = current
	t.Price(cost)
	arch := "x86_64"
	if current == "arch_sys_counter" {
		arch = "aarch64"
	}
	events, left := t.Events()
	d := doctor.Examine(doctor.Evidence{Events: events, LeftOut: left, LogLines: int64(lines), Cost: &cost, Snapshot: &machine.Snapshot{
		Schema: machine.Schema, Live: true, Arch: arch, CommandLine: "quiet", Clocksource: machine.Clocksource{Current: current, Available: available},
	}})
	t.Diagnose(&d, moment)
	for _, c := range tally.CollectorNames() {
		t.Report(c, nil, time.Millisecond, now)
	}
	return t
}

func healthy() *tally.Tally {
	return tallyOf(boot, "tsc", []string{"tsc", "hpet", "acpi_pm"}, machine.Cost{ReadNS: 24, ReadP99NS: 31, SyscallNS: 140, Path: "vdso"})
}

func fallen() *tally.Tally {
	return tallyOf(boot+fall, "hpet", []string{"hpet", "acpi_pm"}, machine.Cost{ReadNS: 1200, ReadP99NS: 6000, SyscallNS: 1250, Path: "syscall"})
}

// wells are machines on which nothing is wrong, though their logs speak of TSCs that were given up or timed out.
func wells() map[string]*tally.Tally {
	fast := machine.Cost{ReadNS: 45, ReadP99NS: 60, SyscallNS: 200, Path: "vdso"}
	return map[string]*tally.Tally{
		"a healthy machine": healthy(),
		"a guest on kvm-clock whose TSC was condemned": tallyOf("5,0,0,-;Linux version 6.1.0\n"+
			"6,1,10,-;Hypervisor detected: KVM\n"+
			"6,2,250000,-;clocksource: Switched to clocksource kvm-clock\n"+
			"4,3,900000000,-;clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n"+
			"4,4,900000001,-;clocksource:                       'kvm-clock' wd_nsec: 503967155 wd_now: 1e0a1ba2c3 wd_last: 1dec1a2d70 mask: ffffffffffffffff\n"+
			"4,5,900000002,-;clocksource:                       'tsc' cs_nsec: 512967155 cs_now: 9e0a1ba2c3 cs_last: 9dec1a2d70 mask: ffffffffffffffff\n"+
			"4,6,900000003,-;clocksource:                       'kvm-clock' (not 'tsc') is current clocksource.\n"+
			"6,7,900000004,-;tsc: Marking TSC unstable due to clocksource watchdog\n",
			"kvm-clock", []string{"kvm-clock", "acpi_pm"}, fast),
		"Hyper-V": tallyOf("5,0,0,-;Linux version 5.15.0\n"+
			"6,1,1,-;tsc: Marking TSC unstable due to running on Hyper-V\n"+
			"6,2,250000,-;clocksource: Switched to clocksource hyperv_clocksource_tsc_page\n",
			"hyperv_clocksource_tsc_page", []string{"hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "acpi_pm"}, fast),
		"7.3 with its time-outs": tallyOf("5,0,0,-;Linux version 7.3.4\n"+
			"6,1,250000,-;clocksource: Switched to clocksource tsc-early\n"+
			"6,2,1250000,-;clocksource: Switched to clocksource tsc\n"+
			timeOuts(50)+
			"6,99,99000000,-;clocksource: Watchdog remote CPU 3 read timed out\n",
			"tsc", []string{"tsc", "hpet", "acpi_pm"}, fast),
		"arm64": tallyOf("5,0,0,-;Linux version 6.6.31\n6,1,250000,-;clocksource: Switched to clocksource arch_sys_counter\n",
			"arch_sys_counter", []string{"arch_sys_counter"}, fast),
	}
}

// timeOuts are lines of 7.1 and later that tell of no fault.
func timeOuts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "6,%d,%d,-;clocksource: Watchdog hpet read timed out. Readout sequence took: 61000ns\n", 10+i, 2_250_000+i*500_000)
	}
	return b.String()
}

// standIn is a machine that answers scrapes as the monitor does: by the monitor's own collector.
type standIn struct {
	*httptest.Server
	tally atomic.Pointer[tally.Tally]
}

func newStandIn(t *testing.T, y *tally.Tally) *standIn {
	t.Helper()
	s := &standIn{}
	s.tally.Store(y)
	booted := time.Now().Add(-time.Hour)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), exporter.NewCollector(exporter.Subject{
		View: func() tally.View { return s.tally.Load().View() }, Booted: func() time.Time { return booted }, Build: exporter.Build{Version: "v0.0.0", Revision: "0"},
		Hooks: func() []exporter.HookCounts {
			return []exporter.HookCounts{{Hook: "command", Outcomes: map[string]uint64{"ok": 3, "failed": 1}, Queue: 1}}
		},
	}))
	s.Server = httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(s.Close)
	return s
}

// page is what a scrape gets.
func page(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("scrape %s: %s, %v", url, answer.Status, err)
	}
	return string(text)
}

func TestTheStandInShowsEveryMetricOfTheList(t *testing.T) {
	for name, y := range map[string]*tally.Tally{"healthy": healthy(), "fallen": fallen()} {
		text := page(t, newStandIn(t, y).URL)
		for _, m := range Metrics() {
			never := m.Name == "cswatch_clocksource_unstable_total" && name == "healthy"
			if strings.Contains(text, "\n# TYPE "+m.Name+" "+m.Type+"\n") == never {
				t.Errorf("%s: is %s shown? %v", name, m.Name, never)
			}
		}
	}
}
