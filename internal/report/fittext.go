package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/cswatch/cswatch/internal/burst"
)

// FitText writes the result for a person.
func FitText(w io.Writer, f *Fit, opt TextOptions) error {
	p := &page{opt: opt}
	boots, unstable := 0, 0
	for _, r := range f.Rows {
		boots, unstable = boots+r.Boots, unstable+r.Unstable
	}
	name := f.Inputs.File
	if name == "-" {
		name = "standard input"
	}
	p.line(fmt.Sprintf("%s: %s with %s, %d unstable", p.safe(name, maxSource),
		plural(boots, "boot", "boots"), plural(len(f.Rows), "number of retries", "different numbers of retries"), unstable))
	p.line("")
	p.fitRows(f)
	if len(f.Models) > 0 {
		p.fitModels(f)
	}
	p.heading("Conclusion")
	p.fitConclusion(f)
	p.heading("Other designs")
	p.say("  ", f.Recommendation.BetterCure)
	p.line("")
	p.fitDesigns(f)
	if more := f.Recommendation.MoreBoots; more != nil {
		p.heading("More boots")
		p.say("  ", moreBoots(more, f.Recommendation.Rate))
	}
	p.heading("What such counts tell")
	for _, s := range f.Tells {
		p.say("  + ", s)
	}
	for _, s := range f.DoesNotTell {
		p.say("  - ", "not "+s)
	}
	return p.writeTo(w, "the fit")
}

// say writes text that is wrapped behind a first sign.
func (p *page) say(first, text string) { p.para(first, p.safe(text, maxText), "", plain) }

// fitRows is the table of what was seen, fitted and predicted.
func (p *page) fitRows(f *Fit) {
	m := f.best()
	head := []string{"retries", "boots", "unstable", "observed rate"}
	left := m != nil && len(m.LeftOut) > 0
	if m != nil {
		head = append(head, "fitted rate")
	}
	if left {
		head = append(head, "predicted by the others", "p", "tail")
	}
	lines := [][]string{head}
	for i, r := range f.Rows {
		cells := []string{fmt.Sprint(r.Retries), fmt.Sprint(r.Boots), fmt.Sprint(r.Unstable), rated(r.Rate, r.RateLow, r.RateHigh)}
		if m != nil {
			cells = append(cells, rated(m.Rows[i].Rate, m.Rows[i].RateLow, m.Rows[i].RateHigh))
		}
		if left {
			prediction := []string{"-", "-", "-"}
			for _, l := range m.LeftOut {
				if l.Retries == r.Retries {
					prediction = []string{fmt.Sprintf("%.1f (%d to %d)", l.Expected, l.CountLow, l.CountHigh), chance(l.PredictionP), chance(l.TailProbability)}
				}
			}
			cells = append(cells, prediction...)
		}
		lines = append(lines, cells)
	}
	p.grid(lines, "rrrllllll")
	note := "Intervals are of 95 %: observed ones by Wilson"
	if m != nil {
		note += fmt.Sprintf("; fitted ones by profile likelihood, for %s lengths", m.Family)
	}
	note += "."
	if left {
		note += " Each row is also predicted by a fit to the others, as a number of unstable boots: p allows for the uncertainty of that prediction, the exact tail takes its rate as known; \"-\" stands where the others alone fix no slope."
	}
	p.say("", note)
}

// fitModels is the table of families.
func (p *page) fitModels(f *Fit) {
	p.heading("Lengths of episodes")
	lines := [][]string{{"", "met per boot", "mean attempts", "deviance", "df", "p", "AIC", "retries for " + wanted(f.Recommendation.Rate)}}
	for _, m := range f.Models {
		good := "-"
		if m.GoodnessP != nil {
			good = chance(*m.GoodnessP)
		}
		name := string(m.Family)
		switch {
		case m.Best:
			name = "* " + name
		case !m.Fits:
			name = "! " + name
		default:
			name = "  " + name
		}
		lines = append(lines, []string{name,
			spanned(&m.EpisodesPerBoot, m.EpisodesPerBootLow, m.EpisodesPerBootHigh),
			spanned(m.MeanLength, m.MeanLengthLow, m.MeanLengthHigh),
			fmt.Sprintf("%.2f", m.Deviance), fmt.Sprint(m.DF), good, fmt.Sprintf("%.1f", m.AIC),
			counted(m.Needed.Retries, m.Needed.Low, m.Needed.High)})
	}
	p.grid(lines, "lllrrllr")
	p.say("", "* is the best of those that fit; ! does not fit. A boot is condemned with probability 1 - exp(-lambda S(R+1)): lambda episodes are met, the share S(R+1) of them covers all R+1 attempts.")
}

func (p *page) fitConclusion(f *Fit) {
	rec := &f.Recommendation
	for _, problem := range rec.Problems {
		p.para("  ", "None can be drawn ("+problem.Code+"): "+p.safe(problem.Text, maxText)+".", "None can be drawn", yellow)
		if len(problem.Further) > 0 {
			p.say("  ", "What would help: "+plans(problem.Further)+".")
		}
	}
	if rec.Concluded {
		p.say("  ", concluded(f))
	}
	for _, w := range f.Warnings {
		p.say("  ! ", w.Text+" ("+w.Code+")")
	}
}

// concluded is the conclusion in a few sentences.
func concluded(f *Fit) string {
	rec := &f.Recommendation
	var b strings.Builder
	if rec.Retries == nil {
		fmt.Fprintf(&b, "No number of retries up to %d, where the search ends, brings the rate down to %s with %s lengths. ", burst.MostNeeded, wanted(rec.Rate), rec.Family)
	} else {
		fmt.Fprintf(&b, "%s (%s) bring the rate down to %s, if lengths are %s", plural(*rec.Retries, "retry", "retries"), between(rec.Low, rec.High), wanted(rec.Rate), rec.Family)
		if rec.FamiliesLow != nil {
			fmt.Fprintf(&b, "; all families that fit span %s", between(rec.FamiliesLow, rec.FamiliesHigh))
		}
		b.WriteString(". ")
		if f.Inputs.Delay > 0 {
			// A read-back delay spans about one read of the reference, of which an
			// attempt makes two (wd,cs,wd) in E5 and three (wd,cs,wd,wd) in E6 to E11.
			read := float64(*rec.Retries+1) * float64(f.Inputs.Delay)
			fmt.Fprintf(&b, "If each slow read takes %s, one check may then read for about %s in 5.14 to 5.16, whose attempts read the reference twice, and %s later, where they read it three times. ",
				lasting(float64(f.Inputs.Delay)), lasting(2*read), lasting(3*read))
		}
	}
	least := f.Rows[0].Retries
	if len(rec.Automatic) == 1 {
		a := rec.Automatic[0]
		fmt.Fprintf(&b, "The automatic rule of 6.9 and later gives %s %s", plural(a.CPUsFrom, "CPU", "CPUs"), plural(a.Retries, "retry", "retries"))
		if a.Retries < least {
			fmt.Fprintf(&b, ", fewer than the %d that were tried at least", least)
		}
		fmt.Fprintf(&b, ": at the same read limit %s of boots would be unstable. ", rated(a.Rate, a.RateLow, a.RateHigh))
	} else if len(rec.Automatic) > 0 {
		fewer := rec.Automatic[0]
		for _, a := range rec.Automatic {
			if a.Retries < least {
				fewer = a
			}
		}
		fmt.Fprintf(&b, "The automatic rule of 6.9 and later gives %d to %d CPUs %s", fewer.CPUsFrom, fewer.CPUsTo, plural(fewer.Retries, "retry", "retries"))
		if fewer.Retries < least {
			fmt.Fprintf(&b, ", fewer than the %d that were tried at least", least)
		}
		fmt.Fprintf(&b, ": at the same read limit %s of boots would be unstable. ", rated(fewer.Rate, fewer.RateLow, fewer.RateHigh))
	}
	return strings.TrimSpace(b.String())
}

// fitDesigns is the table of watchdogs.
func (p *page) fitDesigns(f *Fit) {
	head := []string{"era", "retries", "slow above", "reads of an episode above that"}
	if f.Inputs.Delay > 0 {
		head = append(head, "reads of "+lasting(float64(f.Inputs.Delay)))
	}
	lines := [][]string{append(head, "kernels")}
	for _, d := range f.Recommendation.Designs {
		retries := "by CPUs"
		if d.Retries != nil {
			retries = fmt.Sprint(*d.Retries)
		}
		rate := "condemn; rate not known"
		switch {
		case !d.Condemns:
			rate = "never condemn"
		case d.Rate != nil:
			rate = rated(*d.Rate, *d.RateLow, *d.RateHigh)
		case d.Retries == nil:
			rate = "condemn; name --cpus"
		}
		cells := []string{string(d.Era), retries, lasting(float64(d.ReadLimit)), rate}
		if f.Inputs.Delay > 0 {
			word := map[string]string{"yes": "accepted", "no": "slow"}[d.Accepts]
			cells = append(cells, word)
		}
		lines = append(lines, append(cells, d.Releases))
	}
	sides := "lrrls"
	if f.Inputs.Delay > 0 {
		sides = "lrrlls"
	}
	p.grid(lines, sides)
	note := "Rates are those of the same episodes, if all their reads are above the limit; E6 to E11 skip a check instead where the reference itself was slow. "
	if f.Inputs.Delay == 0 {
		note += "Which limits they are above, the kernel log tells: give its longest read-back delay with --delay."
	} else {
		note += "A design that accepts reads of the length given is cured of them, whatever its retries."
	}
	p.say("", note)
}

func moreBoots(m *burst.MoreBoots, rate float64) string {
	switch {
	case m.Now <= m.Width:
		return fmt.Sprintf("The interval of the retries for %s is %d wide with %s lengths: no more than the %d that were asked for.", wanted(rate), m.Now, m.Family, m.Width)
	case m.Best == nil:
		return fmt.Sprintf("No number of boots with the same retries narrows the interval of the retries for %s from %d to %d with %s lengths: ask for a wider one (--width).", wanted(rate), m.Now, m.Width, m.Family)
	}
	text := fmt.Sprintf("About %s would narrow the interval of the retries for %s from %d to %d, with %s lengths and counts as the fit expects them",
		plan(*m.Best), wanted(rate), m.Now, m.Width, m.Family)
	if len(m.Options) > 1 {
		var others []string
		for _, o := range m.Options[1:min(len(m.Options), 4)] {
			others = append(others, fmt.Sprintf("%d with %d", o.Boots, o.Retries))
		}
		text += "; or " + strings.Join(others, ", or ")
	}
	return text + "."
}

func plan(b burst.Plan) string {
	return fmt.Sprintf("%s with %s", plural(b.Boots, "boot", "boots"), plural(b.Retries, "retry", "retries"))
}

func plans(all []burst.Plan) string {
	var words []string
	for _, b := range all {
		words = append(words, plan(b))
	}
	return strings.Join(words, " and ")
}
