package report

import (
	"cmp"
	"fmt"
	"slices"

	clockcost "github.com/cswatch/cswatch/internal/cost"
	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/internal/perf"
)

// ModelSegment is the bytes for which the reads of the clock are counted: the most that TCP over loopback puts into a segment.
const ModelSegment = 65536

// NetProfile is what the CPUs did during one window of a test under a clocksource.
type NetProfile struct {
	Clocksource string        `json:"clocksource"`
	Test        loopback.Test `json:"test"`
	Value       float64       `json:"value"` // that the test came to meanwhile
	Unit        string        `json:"unit"`
	Profile     *ProfileBench `json:"profile"`
}

// NetModel is what a stream should lose by reading the clock, by prices and numbers of reads that were measured here.
type NetModel struct {
	SegmentBytes float64   `json:"segment_bytes"`
	CPUs         int       `json:"clock_cpus"` // that read at once when the prices were measured
	Prices       []NetRead `json:"prices"`     // of a read inside the kernel, for each clocksource
	Reads        []NetRate `json:"reads"`      // how often the clock is read, for each side that could be told
	// Predictions are from the clocksource with the cheapest read to each other one.
	Predictions []NetPrediction `json:"predictions"`
	// WhatIf is what dearer reads would make of the stream, where no clocksource is slow.
	WhatIf []NetPrediction `json:"what_if"`
}

// NetRead is what a read inside the kernel takes under a clocksource.
type NetRead struct {
	Clocksource string           `json:"clocksource"`
	Read        *clockcost.Value `json:"read_ns"` // nil: not known
	From        string           `json:"from"`    // how it is known, or why it is not
}

// How the number of reads was found.
const (
	ByCount   = "count"
	ByProfile = "profile"
)

// NetRate is how often one side reads the clock.
type NetRate struct {
	Clocksource string           `json:"clocksource"` // during the counting
	Side        string           `json:"side"`        // "client" or "server"
	CPU         int              `json:"cpu"`
	By          string           `json:"by"` // ByCount or ByProfile
	Reads       *clockcost.Value `json:"reads_per_segment"`
	Why         string           `json:"why"` // what it comes from, or why it is not known
	// share of the CPU's samples in the counter, for the model.
	share *clockcost.Value
}

// NetPrediction is the model for one clocksource, or for one price of a read.
type NetPrediction struct {
	Clocksource string      `json:"clocksource"` // "" for a price alone
	Side        string      `json:"side"`        // that limits the stream by this model
	Model       *ModelBench `json:"model"`       // nil: see Why
	Why         string      `json:"why"`
}

// fewCounterSamples: with fewer samples in the counter no number of reads follows from a profile.
const fewCounterSamples = 20

// stream returns the result of the stream under a clocksource.
func (d *NetBench) stream(source string) *loopback.Result {
	i := slices.IndexFunc(d.Results, func(r loopback.Result) bool {
		return r.Test == loopback.Stream && r.Clocksource == source && r.Value > 0 && r.Low > 0
	})
	if i < 0 {
		return nil
	}
	return &d.Results[i]
}

// Priced fills in what a read inside the kernel takes under each clocksource that the document of clock reads has, while so many CPUs read.
func (m *NetModel) Priced(clock *ClockBench, cpus int) {
	m.SegmentBytes, m.CPUs = ModelSegment, cpus
	// The way to the price of a slow read leads over a fast one, whichever was measured first.
	reference := *clock
	fast, err := FastPrice(&reference, cpus)
	for _, run := range clock.Runs {
		if err == nil {
			break
		}
		reference.Clocksource = run.Clocksource
		fast, err = FastPrice(&reference, cpus)
	}
	for _, run := range clock.Runs {
		read := NetRead{Clocksource: run.Clocksource}
		price, failed := fast, err
		if err == nil && run.Clocksource != reference.Clocksource {
			price, failed = SlowPrice(clock, run.Clocksource, &reference, fast, cpus)
		}
		if failed != nil {
			read.From = failed.Error()
		} else {
			read.Read, read.From = &price.NS, price.From
		}
		m.Prices = append(m.Prices, read)
	}
}

// Counted adds the reads that were counted on the CPU of a side while so many bytes were transferred.
func (m *NetModel) Counted(source, side string, cpu int, reads, bytes uint64, functions string) {
	rate := NetRate{Clocksource: source, Side: side, CPU: cpu, By: ByCount}
	k, err := clockcost.ReadsByCount(reads, bytes, m.SegmentBytes)
	if err != nil {
		rate.Why = err.Error()
	} else {
		rate.Reads, rate.Why = &k, fmt.Sprintf("%d calls of %s while %d bytes arrived", reads, functions, bytes)
	}
	m.Reads = append(m.Reads, rate)
}

// Uncounted adds why the reads could not be counted.
func (m *NetModel) Uncounted(source string, why error) {
	m.Reads = append(m.Reads, NetRate{Clocksource: source, By: ByCount, CPU: -1, Why: why.Error()})
}

// profiled adds the reads that follow from the profiles of the stream.
func (m *NetModel) profiled(d *NetBench) {
	for _, p := range d.Profiles {
		r := d.stream(p.Clocksource)
		if p.Test != loopback.Stream || r == nil || p.Profile == nil {
			continue
		}
		for _, side := range []struct {
			name string
			use  loopback.Use
		}{{"client", r.Client}, {"server", r.Server}} {
			m.Reads = append(m.Reads, m.byShare(p, r, side.name, side.use))
		}
	}
}

// byShare finds the reads of a side: its share of samples in the counter, of the time that its CPU is busy with a segment, at the price of a read.
func (m *NetModel) byShare(p NetProfile, r *loopback.Result, side string, use loopback.Use) NetRate {
	rate := NetRate{Clocksource: p.Clocksource, Side: side, CPU: use.CPU, By: ByProfile}
	price := m.price(p.Clocksource)
	on := slices.IndexFunc(p.Profile.Reading.OnCPUs, func(c perf.ClockOnCPU) bool { return int(c.CPU) == use.CPU })
	switch {
	case p.Profile.Why != "":
		rate.Why = "there is no profile: " + p.Profile.Why
		return rate
	case price == nil:
		rate.Why = "the price of a read is not known"
		return rate
	case on < 0 || p.Profile.Reading.OnCPUs[on].Counter.Samples < fewCounterSamples:
		rate.Why = fmt.Sprintf("fewer than %d samples of CPU %d are in the counter's own function: read too fast to tell, or inlined", fewCounterSamples, use.CPU)
		return rate
	}
	c := p.Profile.Reading.OnCPUs[on]
	share := clockcost.Value{Value: c.Counter.Ratio, Low: min(c.Counter.Within.Low, c.Counter.Ratio), High: max(c.Counter.Within.High, c.Counter.Ratio)}
	busy := cmp.Or(use.Busy, 1)
	bits := 8 * m.SegmentBytes * 1e9 * busy
	segment := clockcost.Value{Value: bits / r.Value, Low: bits / r.High, High: bits / r.Low}
	k, err := clockcost.ReadsByShare(share, segment, *price)
	if err != nil {
		rate.Why = err.Error()
		return rate
	}
	rate.Reads, rate.share = &k, &share
	rate.Why = fmt.Sprintf("%s of the samples of CPU %d in the counter x %s that it is busy with a segment / %s", percentText(share.Value), use.CPU, timeText(segment.Value), timeText(price.Value))
	return rate
}

func (m *NetModel) price(source string) *clockcost.Value {
	for _, p := range m.Prices {
		if p.Clocksource == source {
			return p.Read
		}
	}
	return nil
}

// Predict predicts the stream under each clocksource from that with the cheapest read, as far as prices and reads are known.
func (d *NetBench) Predict() {
	m := d.Model
	m.profiled(d)
	base := -1
	for i, p := range m.Prices {
		if p.Read != nil && d.stream(p.Clocksource) != nil && (base < 0 || p.Read.Value < m.Prices[base].Read.Value) {
			base = i
		}
	}
	if base < 0 {
		return
	}
	from := m.Prices[base]
	for _, p := range m.Prices {
		if p.Clocksource != from.Clocksource {
			m.Predictions = append(m.Predictions, d.predicted(from, p))
		}
	}
	const slow = 100 // ns; with a clocksource that takes as much there is a prediction for a slow one
	if slices.ContainsFunc(m.Prices, func(p NetRead) bool { return p.Read != nil && p.Read.Value >= slow }) {
		return
	}
	if k := m.most(from.Clocksource, from.Clocksource); k != nil {
		for _, ns := range []float64{slow, 300, 1000, 3000} {
			v := clockcost.Exact(ns)
			if v.Value > from.Read.Value {
				m.WhatIf = append(m.WhatIf, d.modelled(from, NetRead{Read: &v, From: "assumed"}, k))
			}
		}
	}
}

// most returns the greatest number of reads that is known, of counts under the fast clocksource before profiles under the slow one: a
// side that reads more often is the one that a slow clock limits.
func (m *NetModel) most(fast, slow string) *NetRate {
	for _, way := range [][2]string{{ByCount, fast}, {ByCount, slow}, {ByProfile, slow}, {ByProfile, fast}} {
		var best *NetRate
		for i := range m.Reads {
			if r := &m.Reads[i]; r.By == way[0] && r.Clocksource == way[1] && r.Reads != nil && (best == nil || r.Reads.Value > best.Reads.Value) {
				best = r
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

func (d *NetBench) predicted(from, to NetRead) NetPrediction {
	k := d.Model.most(from.Clocksource, to.Clocksource)
	switch {
	case to.Read == nil:
		return NetPrediction{Clocksource: to.Clocksource, Why: "the price of a read is not known: " + to.From}
	case k == nil:
		return NetPrediction{Clocksource: to.Clocksource, Why: "how often the clock is read is not known"}
	}
	return d.modelled(from, to, k)
}

func (d *NetBench) modelled(from, to NetRead, k *NetRate) NetPrediction {
	fast := d.stream(from.Clocksource)
	in := ModelInputs{
		Fast: clockcost.Value{Value: fast.Value, Low: fast.Low, High: fast.High}, SegmentBytes: d.Model.SegmentBytes,
		Reads: k.Reads, Read: from.Read, SlowRead: to.Read, ReadFrom: from.From, SlowReadFrom: to.From,
		SlowClocksource: to.Clocksource, ClockCPUs: d.Model.CPUs, ClockFiles: []string{},
	}
	if slow := d.stream(to.Clocksource); slow != nil {
		in.Slow = &clockcost.Value{Value: slow.Value, Low: slow.Low, High: slow.High}
		if k.Clocksource == to.Clocksource {
			in.Share = k.share
		}
	}
	model, err := NewModelBench(in)
	if err != nil && in.Slow != nil {
		// Without a loss there is nothing that two throughputs imply, and a prediction all the same.
		slow := in.Slow
		in.Slow, in.Share = nil, nil
		if model, err = NewModelBench(in); err == nil {
			model.Inputs.Slow = slow
			model.compare()
		}
	}
	if err != nil {
		return NetPrediction{Clocksource: to.Clocksource, Side: k.Side, Why: err.Error()}
	}
	model.Schema = ModelBenchSchema
	return NetPrediction{Clocksource: to.Clocksource, Side: k.Side, Model: model}
}
