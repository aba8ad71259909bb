package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cswatch/cswatch/klog"
)

// StatsText writes what a reader met in a kernel log: what was read, what was
// no evidence, the containers and the kinds of event, the most frequent first.
func StatsText(w io.Writer, s klog.Summary) error {
	p := &page{opt: TextOptions{ASCII: true}}
	r := s.Records
	events := plural(s.Events, "event", "events") + " in " + plural(s.Boots, "boot", "boots")
	if s.Duplicates > 0 {
		events += "; of these " + plural(s.Duplicates, "second copy", "second copies")
	}
	p.line(events)
	p.line("")
	read := fmt.Sprintf("%s, %s", plural(r.Lines, "line", "lines"), plural(r.Bytes, "byte", "bytes"))
	if r.Cut > 0 {
		read += fmt.Sprintf("; %d longer than the limit and cut", r.Cut)
	}
	p.fact("read", read)
	p.fact("looked at", fmt.Sprintf("%s; %d turned away at first sight", plural(r.Records, "record", "records"), r.Rejected))
	switch {
	case s.Foreign == 1:
		p.fact("foreign", "1 line looks like the kernel's but is not: no evidence")
	case s.Foreign > 1:
		p.fact("foreign", fmt.Sprintf("%d lines look like the kernel's but are not: no evidence", s.Foreign))
	}
	tally(p, "Containers", r.Formats)
	tally(p, "Kinds of event", s.Kinds)
	return p.writeTo(w, "the statistics")
}

// tally writes a list of counts, the highest first and equal ones by name.
func tally[K ~string, N int | int64](p *page, title string, counts map[K]N) {
	if len(counts) == 0 {
		return
	}
	p.heading(title)
	names := slices.Collect(maps.Keys(counts))
	slices.SortFunc(names, func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		p.line(fmt.Sprintf("  %8d  %s", counts[name], p.safe(string(name), maxName)))
	}
}
