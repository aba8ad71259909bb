package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/plot"
)

// Page gathers documents. The zero value is not ready: make it with [New].
type Page struct {
	title   string
	kinds   []kind
	sources []string
	streams map[string]bool // files whose lines were counted as one document
	n       int
}

// New returns a page without documents. Without a title it says what it is by itself.
func New(title string) *Page {
	return &Page{title: title, kinds: kinds(), streams: map[string]bool{}}
}

// Documents is how many documents the page has. The lines of a stream are one.
func (p *Page) Documents() int { return p.n }

// Add reads the documents of a file. The source names it on the page. An error says
// why not all of it was taken; what was taken before stays.
func (p *Page) Add(source string, r io.Reader) error {
	var doubts []error
	taken := 0
	_, err := decodeAll(source, r, func(d *document) error {
		if p.n >= mostDocuments {
			return fmt.Errorf("a page takes %d documents, and has them", mostDocuments)
		}
		doubt := p.take(d)
		taken++
		if doubt != nil && len(doubts) < 3 {
			doubts = append(doubts, doubt)
		}
		return nil
	})
	if taken > 0 {
		p.sources = append(p.sources, source)
	}
	return errors.Join(append(doubts, err)...)
}

// take gives a document to the kind that it is of.
func (p *Page) take(d *document) error {
	var doubt error
	for _, k := range p.kinds {
		took, err := k.take(d)
		if err != nil {
			doubt = err // the last kind takes it
			continue
		}
		if !took {
			continue
		}
		if d.Schema == tickSchema {
			if p.streams[d.Source] {
				return nil // another line of the same stream
			}
			p.streams[d.Source] = true
		}
		p.n++
		return doubt
	}
	return doubt
}

// heading is the title, and what is in the page.
func (p *Page) heading() (title, what string) {
	var parts []string
	for _, k := range p.kinds {
		if n, one, many := k.amount(); n > 0 {
			parts = append(parts, several(n, one, many))
		}
	}
	title = p.title
	if title == "" {
		title = "Clocks and their watchdogs"
	}
	return text(title), strings.Join(parts, ", ")
}

// view is what the template shows.
type view struct {
	Title, What string
	Policy      string
	Style       template.CSS
	Script      template.JS
	Verdicts    []Verdict
	Sections    []*Section
	Sources     []string
	Left        int // sources that are not listed
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	v := view{}
	v.Title, v.What = p.heading()
	for _, k := range p.kinds {
		v.Verdicts = append(v.Verdicts, k.verdicts()...)
		if s := k.section(); s != nil {
			v.Sections = append(v.Sections, s)
		}
	}
	slices.SortStableFunc(v.Verdicts, func(a, b Verdict) int { return a.Status.rank() - b.Status.rank() })
	if shown, left := bounded(v.Verdicts, 2*mostItems); left > 0 {
		v.Verdicts = append(slices.Clone(shown), Verdict{Status: Info, Text: fmt.Sprintf("%d more, none of them worse", left)})
	}
	sources, left := bounded(p.sources, 4*mostItems)
	for _, s := range sources {
		v.Sources = append(v.Sources, shown(s, 300))
	}
	v.Left = left
	for _, s := range v.Sections {
		if err := Ready(s.ID, s.Blocks); err != nil {
			return err
		}
	}
	style, script := styles(), script()
	v.Style, v.Script = template.CSS(style), template.JS(script)
	v.Policy = "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
	var b bytes.Buffer
	t, err := Template("page", templateText)
	if err != nil {
		return err
	}
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// hash allows one style or script by what it is.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// narrowWidth is that of the drawing for telephones, whose text is as large as that of the page.
const narrowWidth = 340

// draw draws a figure for wide and for narrow screens. A chart that cannot be drawn,
// because there are no points or hostile numbers, leaves the table alone.
func (f *Figure) draw() error {
	if f.Chart == nil || f.Chart.Validate() != nil {
		f.Chart = nil
		return nil
	}
	var wide, narrow bytes.Buffer
	if err := f.Chart.Inline(&wide, f.ID+"-wide", "wide"); err != nil {
		return err
	}
	small := narrower(f.Chart)
	if err := small.Inline(&narrow, f.ID+"-narrow", "narrow"); err != nil {
		return err
	}
	f.Wide, f.Narrow = template.HTML(wide.String()), template.HTML(narrow.String()) // of package plot, which escapes
	return nil
}

func narrower(c *plot.Chart) *plot.Chart {
	small := *c
	small.Width = narrowWidth
	small.Height = 320
	if c.Height > 460 {
		small.Height = c.Height - 80
	}
	small.Series = slices.Clone(c.Series)
	for i := range small.Series {
		small.Series[i].Labels = nil // there is no room
	}
	return &small
}
