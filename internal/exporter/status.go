package exporter

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
)

// StatusSchema is the schema id of what [Status] writes.
const StatusSchema = report.MonitorSchema

// About is what a monitor is, and what it was told.
type About struct {
	Version string    `json:"version"` // of the program
	Host    string    `json:"host,omitempty"`
	Kernel  string    `json:"kernel_release,omitempty"` // uname -r
	Flags   Flags     `json:"flags"`
	Started time.Time `json:"-"` // the program
	Booted  time.Time `json:"-"` // the kernel
}

// Flags are those that shape what is monitored and where it is shown. What hooks run or call may hold
// secrets: only which ones there are is said.
type Flags struct {
	Listen        []string       `json:"listen"`
	TelemetryPath string         `json:"telemetry_path"` // of the metrics
	Era           string         `json:"era,omitempty"`  // "" for the one of the kernel
	Retries       event.Opt[int] `json:"retries,omitzero"`
	Reference     string         `json:"reference"`
	WatchEvery    time.Duration  `json:"watch_every_ns"` // 0: without pauses
	CostEvery     time.Duration  `json:"cost_every_ns"`
	DoctorEvery   time.Duration  `json:"doctor_every_ns"`
	State         string         `json:"state,omitempty"` // the file, "" for none
	Hooks         []string       `json:"hooks"`           // "command", "webhook"
}

// StatusDocument is the document: that of the doctor, and what the monitor has besides.
type StatusDocument struct {
	Schema string `json:"schema"`
	doctor.Diagnosis
	Monitor MonitorStatus  `json:"monitor"`
	Events  []tally.Entry  `json:"events"`
	History []MinuteStatus `json:"history"`
}

// MonitorStatus is the state of a monitor.
type MonitorStatus struct {
	At         time.Time         `json:"at"` // when the document was made
	About      About             `json:"about"`
	Started    time.Time         `json:"started,omitzero"`
	Booted     time.Time         `json:"booted,omitzero"`
	Boot       string            `json:"boot_id"`
	Examined   time.Time         `json:"examined,omitzero"` // when the doctor last was
	Collectors []CollectorStatus `json:"collectors"`
	Clocks     ClocksStatus      `json:"clocksources"`
	Cost       *machine.Cost     `json:"cost,omitempty"` // the last price
	Watch      WatchStatus       `json:"watch"`
	Log        LogStatus         `json:"kernel_log"`
}

// CollectorStatus is a collector, and how it fares.
type CollectorStatus struct {
	Name tally.Collector `json:"collector"`
	tally.Health
}

// ClocksStatus are the clocksources of this boot.
type ClocksStatus struct {
	tally.Clocks
	Best string `json:"best,omitempty"`
}

// WatchStatus is the watchdog over the live counters.
type WatchStatus struct {
	tally.Watch
	Delays  DelayStatus        `json:"readback_delays"`
	SkewPPM event.Opt[float64] `json:"skew_ppm,omitzero"`
}

// DelayStatus are a histogram of read-back delays: counts[i] are those of at most edges[i] and more than the edge before, the last
// ones those beyond all edges.
type DelayStatus struct {
	Edges  []float64 `json:"edges_seconds"`
	Counts []uint64  `json:"counts"`
	Sum    float64   `json:"sum_seconds"`
	Count  uint64    `json:"count"`
}

// LogStatus is what was read of the kernel's log in this boot.
type LogStatus struct {
	Next     uint64                `json:"next_record"`
	Records  uint64                `json:"records"`
	Foreign  uint64                `json:"foreign_records"`
	Overruns uint64                `json:"overruns"`
	Lost     uint64                `json:"lost_records"`
	Kinds    map[event.Kind]uint64 `json:"kinds"`
}

// MinuteStatus is a point of the history, without the numbers of what was not measured.
type MinuteStatus struct {
	At        time.Time          `json:"at"`
	ReadBacks int                `json:"read_backs"`
	DelayNS   event.Opt[float64] `json:"readback_delay_median_ns,omitzero"`
	MaxNS     event.Opt[float64] `json:"readback_delay_max_ns,omitzero"`
	Prices    int                `json:"prices"`
	ReadNS    event.Opt[float64] `json:"read_ns,omitzero"`
	Skews     int                `json:"skews"`
	SkewPPM   event.Opt[float64] `json:"skew_ppm,omitzero"`
}

// Status returns the document of a monitor as JSON: [StatusDocument]. A number that is none is left out with what it is part of.
func Status(v tally.View, a About, now time.Time) ([]byte, error) {
	d := statusOf(v, a, now)
	var b bytes.Buffer
	err := report.DocumentJSON(&b, d, "the status of the monitor")
	if none := (*json.UnsupportedValueError)(nil); errors.As(err, &none) {
		d.dropUnwritable()
		b.Reset()
		err = report.DocumentJSON(&b, d, "the status of the monitor")
	}
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// statusOf puts the document together.
func statusOf(v tally.View, a About, now time.Time) *StatusDocument {
	a.Flags.Listen, a.Flags.Hooks = listOf(a.Flags.Listen), listOf(a.Flags.Hooks)
	d := &StatusDocument{
		Schema: StatusSchema, Diagnosis: report.Complete(diagnosisOf(v, a)), Events: listOf(v.Timeline), History: make([]MinuteStatus, 0, len(v.History)),
		Monitor: MonitorStatus{
			At: now, About: a, Started: a.Started, Booted: a.Booted, Boot: v.Boot, Examined: examined(v), Cost: v.Cost,
			Clocks: ClocksStatus{v.Clocks, v.Best},
			Watch:  watchStatusOf(v.Watch),
			Log:    LogStatus{v.Log.Next, v.Log.Records, v.Log.Foreign, v.Log.Overruns, v.Log.Lost, tableOf(v.Log.Kinds)},
		},
	}
	c := &d.Monitor.Clocks
	c.Available, c.Seen, c.Switches, c.Condemned = listOf(c.Available), listOf(c.Seen), listOf(c.Switches), listOf(c.Condemned)
	for _, name := range tally.CollectorNames() {
		d.Monitor.Collectors = append(d.Monitor.Collectors, CollectorStatus{name, v.Collectors[name]})
	}
	for _, p := range v.History {
		d.History = append(d.History, MinuteStatus{
			At: p.At, ReadBacks: p.ReadBacks, DelayNS: measured(p.ReadBacks, p.DelayNS), MaxNS: measured(p.ReadBacks, p.MaxNS),
			Prices: p.Prices, ReadNS: measured(p.Prices, p.ReadNS), Skews: p.Skews, SkewPPM: measured(p.Skews, p.SkewPPM),
		})
	}
	return d
}

// diagnosisOf is the last diagnosis, and before the first one that there is none.
func diagnosisOf(v tally.View, a About) *doctor.Diagnosis {
	if v.Diagnosis != nil {
		return v.Diagnosis
	}
	d := &doctor.Diagnosis{
		Status: doctor.StatusUnknown, Summary: "no verdict yet: the monitor has just been started, and looks through the log of this boot",
		Host: a.Host, KernelTrustsTSC: doctor.TrustUnknown, TSCVerdict: doctor.None,
		CurrentClock: v.Clocks.Current, FinalClock: v.Clocks.Current, Available: v.Clocks.Available, Cost: v.Cost,
		Kernel: doctor.KernelFacts{Release: a.Kernel, TSCWatched: machine.Unknown, LatencyCanCondemn: machine.Unknown},
	}
	if h := v.Collectors[tally.Doctor]; h.Known && !h.OK {
		d.Summary = "no verdict yet: the doctor could not examine this machine: " + h.Error
	}
	return d
}

// examined is when the doctor looked at the machine last.
func examined(v tally.View) time.Time {
	if v.Diagnosis == nil {
		return time.Time{}
	}
	return v.Collectors[tally.Doctor].LastSuccess
}

func watchStatusOf(w tally.Watch) WatchStatus {
	w.Verdicts, w.Late, w.Exchanges = tableOf(w.Verdicts), tableOf(w.Late), tableOf(w.Exchanges)
	w.Attempts = counted(w.Attempts)
	h := counted(w.Delays)
	return WatchStatus{Watch: w, Delays: DelayStatus{h.Edges, h.Counts, h.Sum, h.Count}, SkewPPM: measured(1, w.Skew*1e6)}
}

// counted is a histogram that has a number for each bin, also before the first value.
func counted(h tally.Histogram) tally.Histogram {
	h.Edges = listOf(h.Edges)
	if h.Counts == nil {
		h.Counts = make([]uint64, len(h.Edges)+1)
	}
	return h
}

// measured is a number where there is one.
func measured(n int, v float64) event.Opt[float64] {
	if n == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return event.Opt[float64]{}
	}
	return event.Some(v)
}

// dropUnwritable leaves out what JSON has no way to write, because a number in it is none.
func (d *StatusDocument) dropUnwritable() {
	d.Cost, d.Monitor.Cost, d.Live = writable(d.Cost), writable(d.Monitor.Cost), writable(d.Live)
	for _, h := range [...]*float64{&d.Monitor.Watch.Delays.Sum, &d.Monitor.Watch.Attempts.Sum, &d.Inputs.LiveSeconds} {
		*h = measured(1, *h).Value
	}
	decisions := d.Decisions
	d.Decisions = []doctor.Decision{}
	for i := range decisions {
		c := decisions[i]
		if v, ok := c.SkewPPM.Get(); ok {
			c.SkewPPM = measured(1, v)
		}
		d.Decisions = append(d.Decisions, c)
	}
}

// writable is a value that can be written as JSON, or nil.
func writable[T any](v *T) *T {
	if _, err := json.Marshal(v); err != nil {
		return nil
	}
	return v
}

// listOf is s, but empty instead of nil, and tableOf the same of a map.
func listOf[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func tableOf[K comparable](m map[K]uint64) map[K]uint64 {
	if m == nil {
		return map[K]uint64{}
	}
	return m
}
