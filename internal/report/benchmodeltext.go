package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	clockcost "github.com/cswatch/cswatch/internal/cost"
)

// ModelBenchText writes the arithmetic line by line, so that a reader can follow it with a pocket calculator.
func ModelBenchText(w io.Writer, d *ModelBench, opt TextOptions) error {
	p := &page{opt: opt}
	in := &d.Inputs
	p.say("", fmt.Sprintf("A segment of %s bytes takes T = T0 + k c on the CPU that limits the transfer: k reads of the clock of c each, and T0 for the rest. "+
		"Another clocksource changes c alone.", figure(in.SegmentBytes)))
	if len(in.ClockFiles) > 0 {
		p.heading("Price of a read inside the kernel")
		p.say("  fast  ", interval(in.Read, timeText)+": "+p.safe(in.ReadFrom, maxText))
		p.say("  slow  ", interval(in.SlowRead, timeText)+": "+p.safe(in.SlowReadFrom, maxText))
	}
	if d.Implied != nil {
		p.modelImplied(in, d.Implied)
	}
	if d.Predicted != nil {
		p.modelPredicted(d)
	}
	p.line("")
	p.modelLimits(d)
	return p.writeTo(w, "the throughput model")
}

// sums are lines of arithmetic: a name, what is computed, the result with its interval, and what it is.
type sum struct{ name, formula, result, is string }

func (p *page) sums(title string, rows []sum) {
	p.heading(title)
	names, formulas := 0, 0
	for _, r := range rows {
		names, formulas = max(names, columns(r.name)), max(formulas, columns(r.formula))
	}
	pad := func(s string, to int) string { return fmt.Sprintf("%s%*s", s, to-columns(s), "") }
	for _, r := range rows {
		text := r.result
		if r.is != "" {
			text += ", " + r.is
		}
		p.say(fmt.Sprintf("  %s  %s = ", pad(r.name, names), pad(r.formula, formulas)), text)
	}
}

func (p *page) modelImplied(in *ModelInputs, i *clockcost.Implication) {
	bits := "8 x " + figure(in.SegmentBytes) + " / "
	p.sums("Time per segment", []sum{
		{"T, fast", bits + rateText(in.Fast.Value), interval(&i.FastSegment, timeText), ""},
		{"T', slow", bits + rateText(in.Slow.Value), interval(&i.SlowSegment, timeText), ""},
		{"loss", "1 - T / T'", interval(&i.Loss, percentText), ""},
	})
	rows := []sum{{"by the times", "T' - T = " + timeText(i.SlowSegment.Value) + " - " + timeText(i.FastSegment.Value),
		interval(&i.ByTimes, timeText), "which is k (c' - c)"}}
	if i.ByShare != nil {
		rows = append(rows,
			sum{"by the share", "share x T' = " + percentText(in.Share.Value) + " x " + timeText(i.SlowSegment.Value), interval(i.ByShare, timeText), "which is k c'"},
			sum{"difference", timeText(i.ByShare.Value) + " - " + timeText(i.ByTimes.Value), interval(i.Difference, timeText), "which is k c"})
	}
	p.sums("What the slow clock cost per segment", rows)
	p.say("  ", fmt.Sprintf("Per byte %s are lost, whatever a segment is.", interval(&i.PerByte, timeText)))
	if i.ByShare != nil {
		p.say("  ", agreement(i))
	}
	p.modelRows(in, i)
	if i.NeededReads != nil {
		price, per := timeText(in.SlowRead.Value), timeText(in.SlowRead.Value)
		if in.Read != nil {
			per = "(" + per + " - " + timeText(in.Read.Value) + ")"
		}
		p.sums("Reads that it takes at "+price, []sum{
			{"k", timeText(i.ByTimes.Value) + " / " + per, interval(i.NeededReads, figure), "per segment"},
			{"bytes", figure(in.SegmentBytes) + " / k", interval(i.BytesPerRead, figure), "from one read to the next"},
		})
	}
}

// agreement says how the two ways go together.
func agreement(i *clockcost.Implication) string {
	apart := percentText(math.Abs(i.DifferenceRatio.Value))
	switch {
	case *i.Consistent:
		return fmt.Sprintf("The two ways agree: they are %s apart, and what is between them can be the reads under the fast clock.", apart)
	case i.Difference.High < 0:
		return fmt.Sprintf("The share explains the loss but for %s of it. As exact numbers the two contradict each other, since k c cannot be less than 0: "+
			"with their intervals (such as 12.5Gbit..13.5Gbit) it shows whether rounding and sampling explain that.", apart)
	}
	return fmt.Sprintf("The two ways contradict each other: the share is more than the loss, by %s of it, which is more than the reads under the fast clock can be. "+
		"The share may be of another CPU, or the clock was not what limited the transfer.", apart)
}

func (p *page) modelRows(in *ModelInputs, i *clockcost.Implication) {
	title := "What one read under the slow clock took, more than under the fast one"
	if in.Read != nil {
		title = "What one read under the slow clock took"
	}
	cols := []cellColumn[clockcost.ImpliedRead]{
		{title: "READS", cell: func(r clockcost.ImpliedRead) string { return interval(&r.Reads, figure) }},
		{title: "BYTES PER READ", cell: func(r clockcost.ImpliedRead) string { return figure(in.SegmentBytes / r.Reads.Value) }},
		{title: "BY THE TIMES", cell: func(r clockcost.ImpliedRead) string { return interval(&r.ByTimes, timeText) }},
	}
	if in.Share != nil {
		cols = append(cols, cellColumn[clockcost.ImpliedRead]{title: "BY THE SHARE", cell: func(r clockcost.ImpliedRead) string { return interval(r.ByShare, timeText) }})
	}
	benchTable(p, title+", at so many reads per segment", cols, i.Rows)
}

func (p *page) modelPredicted(d *ModelBench) {
	in, q := &d.Inputs, d.Predicted
	k, c, other := figure(in.Reads.Value), timeText(in.Read.Value), timeText(in.SlowRead.Value)
	bits := "8 x " + figure(in.SegmentBytes) + " / "
	p.sums("Prediction from the fast clock", []sum{
		{"T", bits + rateText(in.Fast.Value), interval(&q.Segment, timeText), ""},
		{"its reads", "k c = " + k + " x " + c, interval(&q.Reading, timeText), percentText(q.Share.Value) + " of T"},
		{"T'", "T + k (c' - c) = " + timeText(q.Segment.Value) + " + " + k + " x (" + other + " - " + c + ")", interval(&q.OtherSegment, timeText), ""},
		{"its reads", "k c' = " + k + " x " + other, interval(&q.OtherReading, timeText), percentText(q.OtherShare.Value) + " of T'"},
		{"throughput", bits + timeText(q.OtherSegment.Value), interval(&q.OtherThroughput, rateText), ""},
		{"loss", "1 - T / T'", interval(&q.Loss, percentText), ""},
	})
	if d.AsMeasured == nil {
		return
	}
	measured := "Measured were " + interval(in.Slow, rateText)
	switch {
	case *d.AsMeasured:
		measured += ", as predicted."
	case in.Slow.Value < q.OtherThroughput.Value:
		measured += ", less than predicted. A read is dearer than given, as where CPUs that read at once hold each other up, or there are more of them, or something else slowed the transfer down."
	default:
		measured += ", more than predicted. A read is cheaper than given, or there are fewer, or something else limits the transfer under the fast clock."
	}
	p.say("  ", measured)
}

// modelLimits says what the numbers stand on.
func (p *page) modelLimits(d *ModelBench) {
	text := "Nothing was measured. Each interval goes from the least to the greatest that the inputs make within theirs; numbers given without one are taken as exact. "
	if d.Implied != nil && d.Inputs.Reads == nil {
		text += "Of smaller segments each has fewer reads: what a read took goes by BYTES PER READ. "
	}
	text += "Where both ends of a transfer read at once, a read may take longer than on one CPU alone."
	p.say("", text)
}

// interval writes a value with its interval, where it has one.
func interval(v *clockcost.Value, text func(float64) string) string {
	if v.IsExact() {
		return text(v.Value)
	}
	middle, low, high := text(v.Value), text(v.Low), text(v.High)
	if _, unit, has := strings.Cut(middle, " "); has && strings.HasSuffix(low, " "+unit) && strings.HasSuffix(high, " "+unit) {
		low, high = strings.TrimSuffix(low, " "+unit), strings.TrimSuffix(high, " "+unit) // written once
	}
	return middle + " (" + low + " to " + high + ")"
}

// figure writes a number with four digits, whole ones with all of them.
func figure(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return rounded(x, 4)
}

// rounded writes a number with so many significant digits, without an exponent.
func rounded(x float64, significant int) string {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', significant, 64), 64) // what was written can be read
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// scaled writes a number in the greatest unit that leaves 1 or more.
func scaled(x float64, units []string) string {
	step := 0
	for math.Abs(x) >= 999.995 && step < len(units)-1 {
		x /= 1000
		step++
	}
	return rounded(x, 5) + " " + units[step]
}

func timeText(ns float64) string { return scaled(ns, []string{"ns", "µs", "ms", "s"}) }
func rateText(bits float64) string {
	return scaled(bits, []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"})
}
func percentText(ratio float64) string { return rounded(100*ratio, 3) + " %" }
