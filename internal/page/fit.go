package page

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/burst"
	"github.com/cswatch/cswatch/internal/report"
)

// fits are what counts of boots tell.
type fits struct {
	all []fitted
}

type fitted struct {
	id, source string
	report.Fit
}

func (k *fits) amount() (n int, one, many string) { return len(k.all), "fit", "fits" }

func (k *fits) take(d *document) (bool, error) {
	if d.Schema != report.FitSchema {
		return false, nil
	}
	f := fitted{id: fmt.Sprintf("fit-%d", len(k.all)+1), source: d.Source}
	if err := d.decode(&f.Fit); err != nil {
		return true, err
	}
	if f.Result == nil {
		f.Result = &burst.Result{}
	}
	k.all = append(k.all, f)
	return true, nil
}

// name is the table of counts.
func (f *fitted) name() string {
	if f.Inputs.File == "-" || f.Inputs.File == "" {
		return name(f.source)
	}
	return name(f.Inputs.File)
}

func (k *fits) verdicts() []Verdict {
	return verdictsOf(k.all, func(f *fitted) Verdict {
		status, sentence := f.sentence()
		return Verdict{Status: status, What: f.name(), Text: sentence, Link: f.id}
	})
}

// sentence is the conclusion, or why there is none.
func (f *fitted) sentence() (Status, string) {
	rec := &f.Recommendation
	if !rec.Concluded {
		var why []string
		problems, _ := bounded(rec.Problems, 3)
		for _, p := range problems {
			why = append(why, text(p.Text))
		}
		return Unknown, joined(": ", "the counts carry no conclusion", strings.Join(why, "; "))
	}
	return Info, fmt.Sprintf("%s retries for %s of unstable boots, with %s lengths of episodes", report.Counted(rec.Retries, rec.Low, rec.High), report.Wanted(rec.Rate), name(string(rec.Family)))
}

func (k *fits) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "fit", Title: "How many retries?"}
	for i := range k.all {
		f := &k.all[i]
		status, sentence := f.sentence()
		s.Blocks = append(s.Blocks, Block{Heading: f.name(), ID: f.id, List: []Item{{Status: status, Text: sentence}}})
		chart := report.FitChart(&f.Fit)
		for n := range chart.Series {
			for _, p := range chart.Series[n].Points {
				if n == 0 { // the observed ones; a curve has too many
					chart.Series[n].Hints = append(chart.Series[n].Hints, fmt.Sprintf("%.0f retries: %s observed", p.X, report.Rated(p.Y, p.Low, p.High)))
				}
			}
		}
		s.Blocks = append(s.Blocks, Block{Figure: &Figure{Chart: chart, Numbers: f.numbers()}})
		if rec := &f.Recommendation; rec.BetterCure != "" {
			s.Blocks = append(s.Blocks, Block{Text: []string{text(rec.BetterCure)}})
		}
		s.Blocks = append(s.Blocks, f.lists()...)
		s.Blocks = append(s.Blocks, Block{Table: f.models()})
		if t := f.designs(); len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, Block{Table: t})
		}
	}
	return s
}

// numbers are the observed rates beside those of the best family, and its curve.
func (f *fitted) numbers() *Table {
	t := &Table{Caption: "Observed and fitted rates: " + f.name(), Columns: []Column{
		{Name: "what"}, {Name: "retries", Number: true}, {Name: "boots", Number: true}, {Name: "unstable", Number: true}, {Name: "rate", Number: true}, {Name: "low", Number: true}, {Name: "high", Number: true},
	}}
	for _, r := range f.Rows {
		t.Rows = append(t.Rows, []Cell{plain("observed"), count(r.Retries), count(r.Boots), count(r.Unstable), share(r.Rate), share(r.RateLow), share(r.RateHigh)})
	}
	for i := range f.Models {
		m := &f.Models[i]
		if !m.Best {
			continue
		}
		for _, v := range m.Curve {
			t.Rows = append(t.Rows, []Cell{plain(string(m.Family)), count(v.Retries), {}, {}, share(v.Rate), share(v.RateLow), share(v.RateHigh)})
		}
	}
	return t.trim(mostCurve)
}

// lists are what the counts tell, what they do not, doubts, and what would help.
func (f *fitted) lists() []Block {
	var blocks []Block
	put := func(heading string, lines []string) {
		lines, left := bounded(lines, mostItems)
		b := Block{Text: []string{heading}}
		for _, l := range lines {
			b.List = append(b.List, Item{Text: text(l)})
		}
		if b.List = more(b.List, left); len(b.List) > 0 {
			blocks = append(blocks, b)
		}
	}
	put("What the counts tell:", f.Tells)
	put("What they do not tell:", f.DoesNotTell)
	var doubts []string
	for _, w := range f.Warnings {
		doubts = append(doubts, w.Text)
	}
	put("Doubts:", doubts)
	if m := f.Recommendation.MoreBoots; m != nil && m.Best != nil {
		put("What would tell more:", []string{fmt.Sprintf("%d boots with %s would narrow the interval from %d to %d retries", m.Best.Boots, several(m.Best.Retries, "retry", "retries"), m.Now, m.Width)})
	}
	return blocks
}

func (f *fitted) models() *Table {
	t := &Table{Caption: "Families of lengths of episodes", Sort: true, Columns: []Column{
		{Name: "Family"}, {Name: "Fits"}, {Name: "Best"}, {Name: "Episodes a boot", Number: true}, {Name: "Deviance", Number: true}, {Name: "Degrees of freedom", Number: true}, {Name: "p", Number: true}, {Name: "AIC", Number: true}, {Name: "Retries needed"},
	}}
	for i := range f.Models {
		m := &f.Models[i]
		p := Cell{}
		if m.GoodnessP != nil {
			p = Cell{Text: report.Chance(*m.GoodnessP), Value: value(*m.GoodnessP)}
		}
		t.Rows = append(t.Rows, []Cell{plain(string(m.Family)), plain(yesNo(m.Fits)), plain(yesNo(m.Best)), number(m.EpisodesPerBoot), number(m.Deviance), count(m.DF), p, number(m.AIC), plain(report.Counted(m.Needed.Retries, m.Needed.Low, m.Needed.High))})
	}
	return t.trim(mostRows)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (f *fitted) designs() *Table {
	t := &Table{Caption: "Watchdogs of other kernels", Sort: true, Columns: []Column{
		{Name: "Era"}, {Name: "Releases"}, {Name: "Latency condemns"}, {Name: "Read limit", Number: true}, {Name: "Retries", Number: true}, {Name: "Accepts the delay"}, {Name: "Rate if all reads are late", Number: true},
	}}
	for _, d := range f.Recommendation.Designs {
		retries, rate := plain("by CPUs"), Cell{}
		if d.Retries != nil {
			retries = count(*d.Retries)
		}
		if d.Rate != nil && d.RateLow != nil && d.RateHigh != nil {
			rate = Cell{Text: report.Rated(*d.Rate, *d.RateLow, *d.RateHigh), Value: value(*d.Rate)}
		}
		t.Rows = append(t.Rows, []Cell{plain(string(d.Era)), plain(d.Releases), plain(yesNo(d.Condemns)), lasting(float64(d.ReadLimit)), retries, plain(d.Accepts), rate})
	}
	return t.trim(mostRows)
}
