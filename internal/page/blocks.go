package page

import (
	"html/template"

	"github.com/cswatch/cswatch/internal/plot"
)

// Status is how bad something is, as it is shown beside it.
type Status string

// From the worst to the least.
const (
	Critical Status = "critical"
	Warning  Status = "warning"
	Unknown  Status = "unknown" // could not tell
	OK       Status = "ok"
	Info     Status = "info" // a figure, no judgement
)

// rank orders them, the worst first.
func (s Status) rank() int {
	switch s {
	case Critical:
		return 0
	case Warning:
		return 1
	case Unknown:
		return 2
	case OK:
		return 3
	}
	return 4
}

// Word is how people read it.
func (s Status) Word() string {
	switch s {
	case Critical:
		return "critical"
	case Warning:
		return "warning"
	case Unknown:
		return "cannot tell"
	case OK:
		return "OK"
	}
	return "figures"
}

// Verdict is a line of the summary: what one document says, in a sentence.
type Verdict struct {
	Status Status
	What   string // of which host, file or machine
	Text   string
	Link   string // the id of the part of the page that says more
}

// Section is the part of the page about one kind of document.
type Section struct {
	ID     string // also the beginning of the ids in it
	Title  string
	Blocks []Block
}

// Block is a piece of a section: what is set of it is shown, in this order.
type Block struct {
	Heading string // with an ID it is in the table of contents
	ID      string
	Text    []string // paragraphs
	Facts   []Fact
	List    []Item
	Lines   []string // quoted as they are: kernel lines, commands
	Figure  *Figure
	Table   *Table
	Details *Details
}

// Fact is a name with a value.
type Fact struct{ Name, Value string }

// Item is a line of a list, with a status or without.
type Item struct {
	Status Status
	Lead   string // a word or two before the text, in bold
	Text   string
	Lines  []string // quoted below it
}

// Details is what a reader opens.
type Details struct {
	ID      string
	Status  Status // "" for none
	Summary string
	Open    bool // at first
	Blocks  []Block
}

// Column is the head of a column.
type Column struct {
	Name   string
	Number bool // numbers stand at the right and are sorted as such
}

// Cell is one value.
type Cell struct {
	Text   string
	Value  string // as CSV has it, and as it is sorted by; "" for the text
	Link   string // the id of a part of the page
	Status Status // shown as a badge
}

// Table has a head, and rows whose first cell names them.
type Table struct {
	ID      string
	Caption string
	Columns []Column
	Rows    [][]Cell
	Sort    bool   // the reader may sort it
	Filter  bool   // the reader may filter it by the status of its rows
	Note    string // below it, and the first line of its CSV: what is left out
}

// StatusOf is the status of a row: that of the first cell that has one.
func (t *Table) StatusOf(row []Cell) Status {
	for _, c := range row {
		if c.Status != "" {
			return c.Status
		}
	}
	return ""
}

// Statuses are those that rows have, the worst first.
func (t *Table) Statuses() []Status {
	var all []Status
	for _, s := range [...]Status{Critical, Warning, Unknown, OK, Info} {
		for _, row := range t.Rows {
			if t.StatusOf(row) == s {
				all = append(all, s)
				break
			}
		}
	}
	return all
}

// Figure is a chart beside its numbers.
type Figure struct {
	ID      string
	Chart   *plot.Chart
	Numbers *Table
	// Of a figure that was drawn.
	Wide, Narrow template.HTML
}

// figures returns all figures of blocks, also those inside of details.
func figures(blocks []Block) []*Figure {
	var all []*Figure
	for i := range blocks {
		if blocks[i].Figure != nil {
			all = append(all, blocks[i].Figure)
		}
		if blocks[i].Details != nil {
			all = append(all, figures(blocks[i].Details.Blocks)...)
		}
	}
	return all
}
