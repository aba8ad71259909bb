package alerting

import (
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
	events, left := t.Events()
	d := doctor.Examine(doctor.Evidence{Events: events, LeftOut: left, LogLines: int64(lines), Cost: &cost, Snapshot: &machine.Snapshot{
		Schema: machine.Schema, Live: true, Arch: "x86_64", CommandLine: "quiet", Clocksource: machine.Clocksource{Current: current, Available: available},
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
