package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
)

// column is one column of the table.
type column struct {
	title string
	cell  func(*page, *doctor.Diagnosis) string
	right bool // numbers stand at the right
	yield int  // those with 1 are shortened first, then 2, 3; 0 is never shortened
	spare bool // left out where no machine has anything in it
}

// columnsOfTable are the columns in order.
func columnsOfTable() []column {
	return []column{
		{title: "HOST", yield: 3, cell: hostCell},
		{title: "KERNEL", yield: 1, cell: func(p *page, d *doctor.Diagnosis) string { return p.safe(d.Kernel.Release, maxName) }},
		{title: "CLOCK", yield: 2, cell: func(p *page, d *doctor.Diagnosis) string { return p.safe(inUse(d), maxName) }},
		{title: "STATUS", cell: func(_ *page, d *doctor.Diagnosis) string {
			word, _ := statusWord(d.Status)
			return word
		}},
		{title: "TSC", cell: tscCell},
		{title: "SINCE", yield: 1, spare: true, cell: sinceCell},
		{title: "READ", right: true, spare: true, cell: func(p *page, d *doctor.Diagnosis) string {
			if d.Cost == nil {
				return ""
			}
			return p.safe(price(d.Cost.ReadNS), maxName)
		}},
		{title: "CURE", yield: 3, spare: true, cell: func(p *page, d *doctor.Diagnosis) string {
			if a := firstAdvice(d); a != nil {
				return p.safe(a.ID, maxName)
			}
			return ""
		}},
	}
}

// hostCell names the machine, or what stands for it.
func hostCell(p *page, d *doctor.Diagnosis) string {
	switch {
	case d.Host != "":
		return p.safe(d.Host, maxName)
	case d.Inputs.Root != "":
		return p.safe(d.Inputs.Root, maxName)
	case len(d.Inputs.Logs) > 0:
		if d.Inputs.Logs[0] == "-" {
			return "standard input"
		}
		return p.safe(d.Inputs.Logs[0], maxName)
	}
	return ""
}

// sinceCell tells when the kernel gave the TSC up, in few columns.
func sinceCell(p *page, d *doctor.Diagnosis) string {
	if d.KernelTrustsTSC != doctor.TrustNo {
		return ""
	}
	if text, ok := strings.CutSuffix(d.Since, " s after boot"); ok {
		if seconds, err := strconv.ParseFloat(text, 64); err == nil {
			return fmt.Sprintf("boot+%.1fs", seconds)
		}
	}
	return p.safe(d.Since, maxName)
}

// tscCell tells what became of an accusation of the TSC.
func tscCell(_ *page, d *doctor.Diagnosis) string {
	switch d.TSCVerdict {
	case doctor.Good, doctor.Bad, doctor.Undecided:
		return verdictWord(d.TSCVerdict)
	}
	return ""
}

// Table writes several machines, one row each, the worst first and otherwise in
// the order given, and a line with the counts. Columns that are empty for all
// machines are left out; cells are shortened only where the width demands it.
func Table(w io.Writer, all []*doctor.Diagnosis, opt TextOptions) error {
	p := &page{opt: opt}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *doctor.Diagnosis) int {
		return cmp.Compare(weight(ExitCode(b, "")), weight(ExitCode(a, "")))
	})
	var cols []column
	var cells [][]string // by column
	for _, c := range columnsOfTable() {
		cell, empty := []string{c.title}, true
		for _, d := range sorted {
			s := c.cell(p, d)
			empty = empty && s == ""
			if s == "" {
				s = "-"
			}
			cell = append(cell, s)
		}
		if c.spare && empty {
			continue
		}
		cols, cells = append(cols, c), append(cells, cell)
	}
	widths := fit(cols, cells, opt.Width)
	for row := range len(sorted) + 1 {
		var parts []string
		for i, c := range cols {
			st := plain
			if row == 0 {
				st = bold
			} else if c.title == "STATUS" {
				_, st = statusWord(sorted[row-1].Status)
			}
			s := shorten(cells[i][row], widths[i], p.ellipsis())
			blank := strings.Repeat(" ", max(0, widths[i]-columns(s)))
			switch {
			case c.right:
				s = blank + p.paint(s, st)
			case i == len(cols)-1:
				s = p.paint(s, st)
			default:
				s = p.paint(s, st) + blank
			}
			parts = append(parts, s)
		}
		p.line(strings.Join(parts, "  "))
	}
	p.line("")
	p.line(counts(sorted))
	return p.writeTo(w, "the table of machines")
}

// fit returns the width of each column: what its cells need, less where that
// is more than the page has. Times and releases give way first, host and cure
// last; of columns of the same rank the widest.
func fit(cols []column, cells [][]string, width int) []int {
	const least = 8
	widths := make([]int, len(cells))
	total := 2 * (len(cells) - 1)
	for i, cell := range cells {
		for _, s := range cell {
			widths[i] = max(widths[i], columns(s))
		}
		total += widths[i]
	}
	for rank := 1; width > 0 && total > width && rank <= 3; {
		widest := -1
		for i := range widths {
			if cols[i].yield == rank && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			rank++ // narrower would tell nothing
			continue
		}
		widths[widest]--
		total--
	}
	return widths
}

// counts is the closing line of the table.
func counts(all []*doctor.Diagnosis) string {
	n := map[doctor.Status]int{}
	for _, d := range all {
		switch d.Status {
		case doctor.StatusOK, doctor.StatusWarning, doctor.StatusCritical:
			n[d.Status]++
		default:
			n[doctor.StatusUnknown]++
		}
	}
	var parts []string
	for _, s := range [...]doctor.Status{doctor.StatusCritical, doctor.StatusWarning, doctor.StatusUnknown, doctor.StatusOK} {
		if n[s] > 0 {
			word, _ := statusWord(s)
			if s != doctor.StatusOK {
				word = strings.ToLower(word)
			}
			parts = append(parts, fmt.Sprintf("%d %s", n[s], word))
		}
	}
	text := plural(len(all), "machine", "machines")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}
