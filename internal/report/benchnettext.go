package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/cswatch/cswatch/internal/loopback"
)

// NetBenchText writes the figures for a person: a table of what the tests came to, one of what they took, and what differs.
func NetBenchText(w io.Writer, d *NetBench, opt TextOptions) error {
	p := &page{opt: opt}
	p.say("clocksource  ", netClocks(d))
	p.say("machine      ", cmp.Or(d.CPUModel, "processor not known")+"; "+cmp.Or(d.Kernel, "kernel not known"))
	if pin := d.Plan.Pin; pin != nil {
		p.say("placement    ", fmt.Sprintf("client on CPU %d, server on CPU %d, %s", pin.Client, pin.Server, plural(d.Plan.Flows, "flow", "flows")))
	}
	p.say("rounds       ", fmt.Sprintf("%v each, after %v that do not count, with connections of their own", d.Plan.Round, d.Plan.WarmUp))
	p.switching(d.Switching)
	p.netValues(d)
	p.netUse(d)
	if len(d.Verdicts) > 0 {
		p.heading("Differences")
		for i := range d.Verdicts {
			p.say("  - ", difference(&d.Verdicts[i]))
		}
	}
	p.netModel(d)
	if d.Inputs.Profile {
		p.netProfiles(d)
	}
	if len(d.Warnings) > 0 {
		p.heading("Doubts")
		for _, s := range d.Warnings {
			p.say("  ! ", s.Text)
		}
	}
	p.line("")
	several := ""
	if len(d.Verdicts) > 0 {
		several = " Those of ratios hold for all pairs of clocksources at once."
	}
	p.say("", fmt.Sprintf("Intervals are of 95 %%, for the median over rounds.%s It took %.1f s.", several, d.Seconds))
	return p.writeTo(w, "the loopback benchmark")
}

func netClocks(d *NetBench) string {
	now := d.Clocksource
	if d.Switching != nil {
		now = d.Switching.From
	}
	now = cmp.Or(now, "not known")
	if d.Ended == BenchChanged {
		return now + ", then " + cmp.Or(d.ClocksourceAfter, "not known") + ": what was measured until then"
	}
	return now + d.Switching.words()
}

func (p *page) netValues(d *NetBench) {
	rows := make([]*loopback.Result, len(d.Results))
	for i := range d.Results {
		rows[i] = &d.Results[i]
	}
	cols := p.netNames(d)
	cols = append(cols,
		cellColumn[*loopback.Result]{title: "MEDIAN", left: true, cell: func(r *loopback.Result) string { return netValue(r.Test, r.Value) + " " + netUnit(r.Test) }},
		cellColumn[*loopback.Result]{title: "95 %", left: true, cell: func(r *loopback.Result) string { return netValue(r.Test, r.Low) + " to " + netValue(r.Test, r.High) }})
	if len(d.Verdicts) > 0 {
		cols = append(cols,
			cellColumn[*loopback.Result]{title: "TO BEST", cell: func(r *loopback.Result) string { return netRatio(r.RatioToBest) }},
			cellColumn[*loopback.Result]{title: "95 %", left: true, cell: func(r *loopback.Result) string {
				if r.RatioLow == 0 || r.RatioLow == 1 && r.RatioHigh == 1 {
					return "-"
				}
				return netRatio(r.RatioLow) + " to " + netRatio(r.RatioHigh)
			}})
	}
	cols = append(cols,
		cellColumn[*loopback.Result]{title: "REPEAT", cell: func(r *loopback.Result) string { return netRatio(r.RepeatRatio) }},
		cellColumn[*loopback.Result]{title: "ROUNDS", cell: func(r *loopback.Result) string { return strconv.Itoa(r.Rounds) }})
	benchTable(p, "TCP over loopback", cols, rows)
}

// netUse shows what the tests took of the CPUs, and what they sent.
func (p *page) netUse(d *NetBench) {
	rows := make([]*loopback.Result, len(d.Results))
	for i := range d.Results {
		rows[i] = &d.Results[i]
	}
	share := func(use func(*loopback.Result) float64) func(*loopback.Result) string {
		return func(r *loopback.Result) string { return strconv.FormatFloat(100*use(r), 'f', 0, 64) + " %" }
	}
	number := func(of func(*loopback.Result) float64) func(*loopback.Result) string {
		return func(r *loopback.Result) string {
			if of(r) == 0 {
				return "-"
			}
			return strconv.FormatFloat(of(r), 'f', 0, 64)
		}
	}
	type col = cellColumn[*loopback.Result]
	benchTable(p, "CPUs and segments", append(p.netNames(d),
		col{title: "CLIENT", cell: share(func(r *loopback.Result) float64 { return r.Client.Thread })},
		col{title: "ITS CPU", cell: share(func(r *loopback.Result) float64 { return r.Client.Busy })},
		col{title: "SERVER", cell: share(func(r *loopback.Result) float64 { return r.Server.Thread })},
		col{title: "ITS CPU", cell: share(func(r *loopback.Result) float64 { return r.Server.Busy })},
		col{title: "SEGMENTS/S", cell: number(func(r *loopback.Result) float64 { return r.SegmentsPerSecond })},
		col{title: "WITH DATA", cell: number(func(r *loopback.Result) float64 { return r.DataSegmentsPerSecond })},
		col{title: "BYTES EACH", cell: number(func(r *loopback.Result) float64 { return r.BytesPerSegment })},
		col{title: "AGAIN/S", cell: number(func(r *loopback.Result) float64 { return r.RetransmitsPerSecond })},
	), rows)
}

// netNames are the columns that name a result.
func (p *page) netNames(d *NetBench) []cellColumn[*loopback.Result] {
	cols := []cellColumn[*loopback.Result]{{title: "TEST", left: true, cell: func(r *loopback.Result) string { return string(r.Test) }}}
	if len(d.Plan.Sources) > 1 {
		cols = append(cols, cellColumn[*loopback.Result]{title: "CLOCKSOURCE", left: true, cell: func(r *loopback.Result) string { return p.safe(cmp.Or(r.Clocksource, "not known"), maxName) }})
	}
	return append(cols, cellColumn[*loopback.Result]{title: "SIZE", cell: func(r *loopback.Result) string { return strconv.Itoa(r.Size) }})
}

func netUnit(t loopback.Test) string {
	if t == loopback.Stream {
		return "Gbit/s"
	}
	return "/s"
}

// netValue writes a value without its unit.
func netValue(t loopback.Test, v float64) string {
	if t != loopback.Stream {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if v == 0 {
		return "0"
	}
	v /= 1e9
	return strconv.FormatFloat(v, 'f', max(0, min(4, 2-int(math.Floor(math.Log10(max(v, 1e-2)))))), 64)
}

// netRatio writes a ratio with three digits, and one that does not exist as a dash.
func netRatio(r float64) string {
	switch {
	case r == 0:
		return "-"
	case r < 0.1:
		return strconv.FormatFloat(r, 'g', 3, 64)
	}
	return strconv.FormatFloat(r, 'f', 3, 64)
}

// difference puts a verdict into words.
func difference(v *loopback.Verdict) string {
	of := fmt.Sprintf("%s: %s ", v.Test, cmp.Or(v.Clocksource, "not known"))
	within := fmt.Sprintf("%s (%s to %s)", netRatio(v.Ratio), netRatio(v.Low), netRatio(v.High))
	switch v.Verdict {
	case loopback.Slower:
		return fmt.Sprintf("%scomes to %s of %s: it is slower", of, within, v.Best)
	case loopback.NoDifference:
		text := fmt.Sprintf("no difference found between %s and %s: the ratio is %s", v.Clocksource, v.Best, within)
		if v.High < 1 {
			text += fmt.Sprintf(", but two rounds of one clocksource differ as much: %s", netRatio(v.RepeatRatio))
		}
		return string(v.Test) + ": " + text
	}
	if v.Ratio == 0 {
		return fmt.Sprintf("%scannot be compared with %s: no block of rounds was complete", of, v.Best)
	}
	return fmt.Sprintf("%scomes to %s of %s in the one block that was complete: it takes two for an interval", of, netRatio(v.Ratio), v.Best)
}
