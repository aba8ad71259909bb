package exporter

import (
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// Subject is what a collector asks for whenever it is scraped.
type Subject struct {
	View   func() tally.View
	Booted func() time.Time
	Hooks  func() []HookCounts
	Build  Build
}

// Build tells the program.
type Build struct{ Version, Revision string }

// HookCounts is how a hook fares.
type HookCounts struct {
	Hook     string
	Outcomes map[string]uint64
	Queue    int
}

// Collector gives Prometheus the metrics of [Metrics].
type Collector struct {
	subject  Subject
	descs    map[string]*prometheus.Desc
	findings []string
}

// NewCollector returns a collector of a subject.
func NewCollector(s Subject) *Collector {
	c := &Collector{subject: s, descs: map[string]*prometheus.Desc{}, findings: FindingNames()}
	for _, m := range Metrics() {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, l.Name)
		}
		c.descs[m.Name] = prometheus.NewDesc(m.Name, m.Help, labels, nil)
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{c, ch}
	v := c.subject.View()
	s.gauge("cswatch_build_info", 1, c.subject.Build.Version, c.subject.Build.Revision, runtime.Version())
	s.gauge("cswatch_boot_timestamp_seconds", seconds(c.subject.Booted()))
	s.clocks(&v)
	s.log(&v)
	s.watch(&v)
	s.cost(v.Cost)
	s.doctor(v.Diagnosis, v.Collectors[tally.Doctor])
	s.collectors(v.Collectors)
	for _, h := range c.subject.Hooks() {
		for _, outcome := range HookOutcomes() {
			s.counter("cswatch_hook_runs_total", h.Outcomes[outcome], h.Hook, outcome)
		}
		s.gauge("cswatch_hook_queue_length", float64(h.Queue), h.Hook)
	}
}

// scrape is one collection.
type scrape struct {
	*Collector
	to chan<- prometheus.Metric
}

func (s scrape) gauge(name string, value float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(s.descs[name], prometheus.GaugeValue, value, labels...)
}

func (s scrape) counter(name string, value uint64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(s.descs[name], prometheus.CounterValue, float64(value), labels...)
}

func (s scrape) histogram(name string, h *tally.Histogram) {
	s.to <- prometheus.MustNewConstHistogram(s.descs[name], h.Count, h.Sum, h.Cumulative())
}

// states writes a state set: 1 for what holds, 0 for the others.
func (s scrape) states(name string, all []string, holds string, before ...string) {
	for _, v := range all {
		s.gauge(name, truth(v == holds), append(slices.Clone(before), v)...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds is a time in seconds since 1970, 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

func (s scrape) clocks(v *tally.View) {
	c := &v.Clocks
	available := map[string]bool{}
	for _, a := range c.Available {
		available[tally.Name(a)] = true
	}
	seen := c.Seen
	if i, found := slices.BinarySearch(seen, v.Best); !found && v.Best != "" { // such as a TSC of which only the doctor knows
		seen = slices.Insert(slices.Clone(seen), i, v.Best)
	}
	for _, name := range seen {
		s.gauge("cswatch_clocksource_current", truth(name == tally.Name(c.Current)), device0, name)
		s.gauge("cswatch_clocksource_available", truth(available[name]), device0, name)
		s.gauge("cswatch_clocksource_best", truth(name == v.Best), device0, name)
		condemned := slices.ContainsFunc(c.Condemned, func(g tally.Condemning) bool { return g.Clock == name })
		s.gauge("cswatch_clocksource_condemned", truth(condemned), name)
	}
	for _, w := range c.Switches {
		s.counter("cswatch_clocksource_switches_total", w.Count, w.From, w.To)
	}
	s.gauge("cswatch_clocksource_last_switch_timestamp_seconds", seconds(c.LastSwitch.At))
	for _, g := range c.Condemned {
		s.counter("cswatch_clocksource_unstable_total", g.Count, g.Clock, g.Reference, string(g.Cause))
	}
	watched := machine.Unknown
	if v.Diagnosis != nil {
		watched = v.Diagnosis.Kernel.TSCWatched
	}
	s.states("cswatch_clocksource_watched", answerNames(), string(watched))
}

func (s scrape) log(v *tally.View) {
	l := &v.Log
	for _, k := range event.Kinds() {
		s.counter("cswatch_kmsg_events_total", l.Kinds[k], string(k))
	}
	s.counter("cswatch_kmsg_records_total", l.Records)
	s.counter("cswatch_kmsg_foreign_records_total", l.Foreign)
	s.counter("cswatch_kmsg_overruns_total", l.Overruns)
	s.counter("cswatch_kmsg_lost_records_total", l.Lost)
}

func (s scrape) watch(v *tally.View) {
	w := &v.Watch
	if w.Era != "" {
		s.gauge("cswatch_watchdog_info", 1, string(w.Era), referenceName(w.Reference), string(w.Independent))
		for _, k := range watchdog.Kinds() {
			s.counter("cswatch_watchdog_verdicts_total", w.Verdicts[k], string(w.Era), k.String())
		}
	}
	s.counter("cswatch_watchdog_ticks_total", w.Ticks)
	s.counter("cswatch_watchdog_suspends_total", w.Suspends)
	s.histogram("cswatch_watchdog_readback_seconds", &w.Delays)
	s.histogram("cswatch_watchdog_attempts", &w.Attempts)
	for _, c := range []trace.Cause{trace.Preempted, trace.Interrupted, trace.Unexplained} {
		s.counter("cswatch_watchdog_late_reads_total", w.Late[c], c.String())
	}
	s.gauge("cswatch_watchdog_skew_ratio", w.Skew)
	for _, o := range tally.Outcomes() {
		s.counter("cswatch_watchdog_exchanges_total", w.Exchanges[o], string(o))
	}
	s.counter("cswatch_watchdog_backwards_total", w.Backwards)
	s.gauge("cswatch_watchdog_backwards_cycles", float64(w.Most))
}

func (s scrape) cost(c *machine.Cost) {
	if c == nil {
		return
	}
	clock := tally.Name(c.Clocksource)
	if clock == "" {
		clock = tally.Other
	}
	s.gauge("cswatch_clock_read_seconds", c.ReadNS/1e9, clock, "program")
	if c.Path == "vdso" {
		s.gauge("cswatch_clock_read_seconds", c.ReadNS/1e9, clock, "vdso")
	}
	s.gauge("cswatch_clock_read_seconds", c.SyscallNS/1e9, clock, "syscall")
	s.gauge("cswatch_clock_read_p99_seconds", c.ReadP99NS/1e9, clock)
}

func (s scrape) doctor(d *doctor.Diagnosis, h tally.Health) {
	status, trust, verdict := doctor.StatusUnknown, doctor.TrustUnknown, doctor.None
	found := map[string]bool{}
	if d != nil {
		status, trust, verdict = d.Status, d.KernelTrustsTSC, d.TSCVerdict
		for _, f := range d.Findings {
			found[f.ID] = found[f.ID] || !f.Suppressed
		}
	}
	s.states("cswatch_doctor_status", statusNames(), string(status))
	s.states("cswatch_doctor_kernel_trusts_tsc", trustNames(), string(trust))
	s.states("cswatch_doctor_tsc_verdict", tscVerdictNames(), string(verdict))
	for _, id := range s.findings {
		s.gauge("cswatch_doctor_finding", truth(found[id]), id)
	}
	s.gauge("cswatch_doctor_examined_timestamp_seconds", seconds(h.LastSuccess))
}

func (s scrape) collectors(all map[tally.Collector]tally.Health) {
	for _, c := range tally.CollectorNames() {
		h := all[c]
		if !h.Known { // such as a state that is not kept
			continue
		}
		s.gauge("cswatch_collector_success", truth(h.OK), string(c))
		s.counter("cswatch_collector_failures_total", h.Failures, string(c))
		s.gauge("cswatch_collector_duration_seconds", h.Took.Seconds(), string(c))
		s.gauge("cswatch_collector_last_success_timestamp_seconds", seconds(h.LastSuccess), string(c))
	}
}
