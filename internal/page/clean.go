package page

import (
	"github.com/cswatch/cswatch/internal/report"
)

// clean makes every text of blocks fit to show, whatever a kind forgot: what is
// invisible or turns text around is spelled out. html/template escapes the rest.
func clean(blocks []Block) {
	for i := range blocks {
		b := &blocks[i]
		safe(&b.Heading)
		safeAll(b.Text)
		for k := range b.Facts {
			safe(&b.Facts[k].Name, &b.Facts[k].Value)
		}
		for k := range b.List {
			safe(&b.List[k].Lead, &b.List[k].Text)
			safeAll(b.List[k].Lines)
		}
		safeAll(b.Lines)
		b.Table.clean()
		if f := b.Figure; f != nil {
			f.Numbers.clean()
			f.clean()
		}
		if d := b.Details; d != nil {
			safe(&d.Summary)
			clean(d.Blocks)
		}
	}
}

func (t *Table) clean() {
	if t == nil {
		return
	}
	safe(&t.Caption, &t.Note)
	for i := range t.Columns {
		safe(&t.Columns[i].Name)
	}
	for _, row := range t.Rows {
		for i := range row {
			safe(&row[i].Text, &row[i].Value)
		}
	}
}

func (f *Figure) clean() {
	c := f.Chart
	if c == nil {
		return
	}
	safe(&c.Title, &c.Subtitle, &c.Description, &c.X.Label, &c.Y.Label)
	safeAll(c.X.Names)
	safeAll(c.Y.Names)
	for i := range c.Marks {
		safe(&c.Marks[i].Text)
	}
	for i := range c.Series {
		safe(&c.Series[i].Name)
		safeAll(c.Series[i].Labels)
		safeAll(c.Series[i].Hints)
	}
}

func safe(texts ...*string) {
	for _, s := range texts {
		*s = report.Safe(*s)
	}
}

func safeAll(texts []string) {
	for i := range texts {
		safe(&texts[i])
	}
}
