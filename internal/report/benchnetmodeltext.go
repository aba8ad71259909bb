package report

import (
	"cmp"
	"fmt"
)

// netProfiles shows what the CPUs did during each test.
func (p *page) netProfiles(d *NetBench) {
	profiled := false
	for _, n := range d.Profiles {
		p.heading(fmt.Sprintf("What the CPUs did: %s under %s, %s %s meanwhile", n.Test, p.safe(cmp.Or(n.Clocksource, "an unknown clocksource"), maxName), netValue(n.Test, n.Value), netUnit(n.Test)))
		p.profile(n.Profile, "")
		profiled = profiled || n.Profile.Why == ""
	}
	if profiled {
		p.line("")
		p.say("", profileIntervals)
	}
}

// netModel shows the prices, the reads and what follows from them.
func (p *page) netModel(d *NetBench) {
	m := d.Model
	if m == nil {
		return
	}
	p.heading(fmt.Sprintf("What reading the clock should cost the stream: T' = T + k (c' - c) for %s bytes", figure(m.SegmentBytes)))
	for _, r := range m.Prices {
		name := "  c, " + p.safe(cmp.Or(r.Clocksource, "not known"), maxName) + "  "
		if r.Read == nil {
			p.say(name, "not known: "+r.From)
		} else {
			p.say(name, interval(r.Read, timeText)+": "+r.From)
		}
	}
	for _, r := range m.Reads {
		name := fmt.Sprintf("  k, %s, by %s under %s  ", cmp.Or(r.Side, "both sides"), r.By, p.safe(cmp.Or(r.Clocksource, "an unknown clocksource"), maxName))
		if r.Reads == nil {
			p.say(name, "not known: "+r.Why)
		} else {
			p.say(name, interval(r.Reads, figure)+": "+r.Why)
		}
	}
	for _, q := range m.Predictions {
		p.say("  - ", p.safe(q.Clocksource, maxName)+": "+q.words())
	}
	for _, q := range m.WhatIf {
		price := "a dearer read"
		if q.Model != nil {
			price = "if a read took " + timeText(q.Model.Inputs.SlowRead.Value)
		}
		p.say("  - ", price+": "+q.words())
	}
}

// words say what the model predicts, and what was measured.
func (q *NetPrediction) words() string {
	if q.Model == nil || q.Model.Predicted == nil {
		return "no prediction: " + q.Why
	}
	r := q.Model.Predicted
	text := fmt.Sprintf("predicted %s, a loss of %s, limited by the %s", interval(&r.OtherThroughput, rateText), interval(&r.Loss, percentText), q.Side)
	slow := q.Model.Inputs.Slow
	if slow == nil {
		return text
	}
	text += "; measured " + interval(slow, rateText)
	switch {
	case q.Model.AsMeasured == nil:
	case *q.Model.AsMeasured:
		text += ", which can be the same"
	case slow.Value < r.OtherThroughput.Value:
		text += ", which is less: something else is slower, too, or reads are dearer than measured"
	default:
		text += ", which is more: something else limits the stream under the faster clocksource"
	}
	return text
}
