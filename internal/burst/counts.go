package burst

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/stats"
)

// Limits of a table of counts. A larger one is the wrong file.
const (
	maxLine    = 4 << 10
	maxRows    = 10_000
	MaxRetries = 1_000_000     // the largest number of retries in a row
	maxBoots   = 1_000_000_000 // in all rows together
	maxCPUs    = 1 << 20
	maxErrors  = 10
)

// Row is what a number of boots with the same parameters ended in.
type Row struct {
	Retries  int `json:"retries"`
	Boots    int `json:"boots"`
	Unstable int `json:"unstable"`
	CPUs     int `json:"cpus,omitzero"` // 0 where it is not known
}

// Count returns the row as events in trials.
func (r Row) Count() stats.Count { return stats.Count{Events: r.Unstable, Trials: r.Boots} }

// Validate says what a row cannot be.
func (r Row) Validate() error {
	switch {
	case r.Retries < 0 || r.Retries > MaxRetries:
		return fmt.Errorf("%d retries: want 0 to %d", r.Retries, MaxRetries)
	case r.Boots < 1 || r.Boots > maxBoots:
		return fmt.Errorf("%d boots: want 1 to %d", r.Boots, maxBoots)
	case r.Unstable < 0 || r.Unstable > r.Boots:
		return fmt.Errorf("%d unstable of %d boots: want 0 to %d", r.Unstable, r.Boots, r.Boots)
	case r.CPUs < 0 || r.CPUs > maxCPUs:
		return fmt.Errorf("%d CPUs: want 1 to %d", r.CPUs, maxCPUs)
	}
	return nil
}

// columnNames are the columns in the order that holds without a header.
func columnNames() []string { return []string{"retries", "boots", "unstable", "cpus"} }

// Parse reads rows "retries,boots,unstable" or "retries,boots,unstable,cpus". A
// header with these names may stand first, and may order them differently and
// name others, which are passed over. Blank lines and what follows a "#" are
// skipped. The name stands in errors; all bad lines are reported, up to ten, each
// as name:line, and then there are no rows.
func Parse(name string, r io.Reader) ([]Row, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	p := parser{}
	var errs []error
	n := 0
	for lines.Scan() && len(errs) < maxErrors {
		n++
		if err := p.line(lines.Text()); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, n, err))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		errs = append(errs, fmt.Errorf("%s:%d: the line is longer than %d bytes: is it a table of counts?", name, n+1, maxLine))
	case err != nil:
		errs = append(errs, fmt.Errorf("read counts from %s: %w", name, err))
	case len(errs) == 0 && len(p.rows) == 0:
		errs = append(errs, fmt.Errorf("%s: no row of counts: want lines such as 3,400,42 (retries, boots, unstable)", name))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p.rows, nil
}

type parser struct {
	columns []string // names by position; nil before the first line that is not blank
	rows    []Row
	boots   int
}

func (p *parser) line(text string) error {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "\ufeff"), "#")
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	cells := strings.Split(text, ",")
	for i, c := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(c), `"`)
	}
	if p.columns == nil {
		p.columns = columnNames()
		if c := cells[0]; c == "" || c[0] < '0' || c[0] > '9' {
			return p.header(cells)
		}
		if len(cells) == 3 {
			p.columns = p.columns[:3]
		}
	}
	return p.row(cells)
}

func (p *parser) header(cells []string) error {
	for i, c := range cells {
		cells[i] = strings.ToLower(c)
		if cells[i] != "" && slices.Contains(cells[:i], cells[i]) {
			return fmt.Errorf("the header names %.60q twice", c)
		}
	}
	for _, want := range columnNames()[:3] {
		if !slices.Contains(cells, want) {
			return fmt.Errorf("neither numbers nor a header with %s: want retries,boots,unstable and perhaps cpus, with a comma between them", want)
		}
	}
	p.columns = cells
	return nil
}

func (p *parser) row(cells []string) error {
	if len(cells) != len(p.columns) {
		return p.miscounted(len(cells))
	}
	var r Row
	for i, name := range p.columns {
		var to *int
		switch name {
		case "retries":
			to = &r.Retries
		case "boots":
			to = &r.Boots
		case "unstable":
			to = &r.Unstable
		case "cpus":
			if cells[i] == "" {
				continue // not known for this row
			}
			to = &r.CPUs
		default:
			continue
		}
		v, err := strconv.Atoi(cells[i])
		if err != nil {
			return fmt.Errorf("%s: %.60q is no whole number", name, cells[i])
		}
		if name == "cpus" && v == 0 {
			return fmt.Errorf("0 CPUs: want 1 to %d, or nothing where it is not known", maxCPUs)
		}
		*to = v
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if p.boots += r.Boots; p.boots > maxBoots {
		return fmt.Errorf("more than %d boots in all rows", maxBoots)
	}
	if len(p.rows) == maxRows {
		return fmt.Errorf("more than %d rows", maxRows)
	}
	p.rows = append(p.rows, r)
	return nil
}

// miscounted says that a row has another number of columns than the first line. A
// table with another separator has one.
func (p *parser) miscounted(n int) error {
	columns := "columns"
	if n == 1 {
		columns = "column"
	}
	if len(p.rows) == 0 && slices.Equal(p.columns, columnNames()) {
		return fmt.Errorf("%d %s: want 3 or 4, retries,boots,unstable and perhaps cpus, with a comma between them", n, columns)
	}
	return fmt.Errorf("%d %s: want %d, %s, with a comma between them", n, columns, len(p.columns), strings.Join(p.columns, ","))
}

// CPUs returns the numbers of CPUs that rows name, in order.
func CPUs(rows []Row) []int {
	var found []int
	for _, r := range rows {
		if r.CPUs > 0 {
			found = append(found, r.CPUs)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Pooled is the sum of all rows with the same number of retries.
type Pooled struct {
	Row
	Rows int `json:"rows"` // how many were added up
	// Agreement is the p value of a test of whether these rows share one rate,
	// and 1 for a single row.
	Agreement float64 `json:"agreement_p"`
}

// Pool adds up the rows of each number of retries, and orders by it.
func Pool(rows []Row) []Pooled {
	by := map[int][]Row{}
	for _, r := range rows {
		by[r.Retries] = append(by[r.Retries], r)
	}
	pooled := make([]Pooled, 0, len(by))
	for retries, same := range by {
		p := Pooled{Row: Row{Retries: retries, CPUs: same[0].CPUs}, Rows: len(same)}
		for _, r := range same {
			p.Boots += r.Boots
			p.Unstable += r.Unstable
			if r.CPUs != p.CPUs {
				p.CPUs = 0
			}
		}
		p.Agreement = agreement(same, p.Count())
		pooled = append(pooled, p)
	}
	slices.SortFunc(pooled, func(a, b Pooled) int { return cmp.Compare(a.Retries, b.Retries) })
	return pooled
}

// agreement tests rows against their common rate: two by Fisher's mid-p, more by their deviance.
func agreement(rows []Row, all stats.Count) float64 {
	if len(rows) == 2 {
		return stats.FisherMidP(rows[0].Count(), rows[1].Count())
	}
	deviance := 0.0
	for _, r := range rows {
		deviance += stats.BinomialDeviance(r.Count(), all.Rate())
	}
	return stats.ChiSquaredTail(deviance, len(rows)-1)
}
