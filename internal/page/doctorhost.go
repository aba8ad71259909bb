package page

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
)

// blocks are the details of a host.
func (h *host) blocks() []Block {
	blocks := []Block{{Facts: h.facts()}}
	if items := Findings(h.Findings); len(items) > 0 {
		blocks = append(blocks, Block{Heading: "Findings", List: items})
	}
	if items := Advice(h.Advice); len(items) > 0 {
		blocks = append(blocks, Block{Heading: "What to do", List: items})
	}
	if len(h.Missing) > 0 {
		blocks = append(blocks, Block{Heading: "What would decide", List: Missing(h.Missing)})
	}
	if h.Live != nil {
		blocks = append(blocks, Block{Heading: "Live counters", Facts: liveFacts(h.Live)})
	}
	if t := decisions(h.Decisions, h.DecisionsLeftOut); t != nil {
		blocks = append(blocks, Block{Heading: "Accusations and what became of them", Table: t})
	}
	if len(h.Unreadable) > 0 {
		b := Block{Heading: "Could not be read"}
		list, left := bounded(h.Unreadable, mostItems)
		for _, u := range list {
			b.List = append(b.List, Item{Lead: name(u.What), Text: joined("; ", text(u.Reason), text(u.HowTo))})
		}
		b.List = more(b.List, left)
		blocks = append(blocks, b)
	}
	return blocks
}

// more says that a list goes on.
func more(list []Item, left int) []Item {
	if left > 0 {
		list = append(list, Item{Text: fmt.Sprintf("%d more", left)})
	}
	return list
}

func (h *host) facts() []Fact {
	var facts []Fact
	put := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, text(value)})
		}
	}
	examined := strings.Join(h.Inputs.Logs, ", ")
	if h.Inputs.Live {
		examined = joined(", ", "the running machine", examined)
	}
	put("examined", joined(", ", examined, h.Inputs.Root))
	kernel := h.Kernel.Release
	if len(h.Kernel.EraCandidates) > 0 {
		eras, _ := bounded(h.Kernel.EraCandidates, 14)
		kernel = joined(", ", kernel, "era "+report.Either(eras))
	}
	put("kernel", kernel)
	clock := h.clock()
	if clock != "" && len(h.Available) > 0 {
		available, _ := bounded(h.Available, 14)
		clock += "; available: " + strings.Join(available, ", ")
	}
	put("clock", clock)
	switch h.KernelTrustsTSC {
	case doctor.TrustYes:
		put("TSC", "trusted by the kernel; "+report.VerdictWord(h.TSCVerdict))
	case doctor.TrustNo:
		put("TSC", "given up by the kernel; "+report.VerdictWord(h.TSCVerdict))
	case doctor.TrustNotApplicable:
		put("TSC", "this architecture has none")
	default:
		put("TSC", "whether the kernel trusts it cannot be told; "+report.VerdictWord(h.TSCVerdict))
	}
	put("since", h.Since)
	put("watchdog", answered(h.Kernel.TSCWatched, "watches the TSC", "does not watch the TSC", "whether it watches the TSC cannot be told", h.Kernel.TSCWatchedWhy))
	put("slow reads", answered(h.Kernel.LatencyCanCondemn, "can cost the TSC until the next boot", "cannot cost the TSC", "whether they can cost the TSC cannot be told", h.Kernel.LatencyWhy))
	if c := h.Cost; c != nil {
		put("a read", fmt.Sprintf("%s ns (99th percentile %s) by %s; by system call %s ns; %s reads", report.Digits(c.ReadNS), report.Digits(c.ReadP99NS), c.Path, report.Digits(c.SyscallNS), grouped(fmt.Sprint(c.Reads))))
	}
	return facts
}

func answered(a machine.Answer, yes, no, unknown, why string) string {
	s := unknown
	switch a {
	case machine.Yes:
		s = yes
	case machine.No:
		s = no
	}
	return joined(": ", s, why)
}

// Findings are those of a doctor, each with the lines that prove it.
func Findings(all []doctor.Finding) []Item {
	var items []Item
	list, left := bounded(all, mostItems)
	for _, f := range list {
		item := Item{Status: statusOf(string(f.Severity)), Lead: name(f.ID), Text: text(f.Summary)}
		if f.Suppressed {
			item.Status, item.Text = Info, item.Text+" (suppressed)"
		}
		proofs, rest := bounded(f.Evidence, mostProofs)
		for _, p := range proofs {
			source := name(p.Source)
			if p.Line > 0 {
				source += fmt.Sprintf(":%d", p.Line)
			}
			item.Lines = append(item.Lines, fmt.Sprintf("cswatch(%s): %s", source, text(p.Text)))
		}
		if rest > 0 {
			item.Lines = append(item.Lines, fmt.Sprintf("… and %d more", rest))
		}
		items = append(items, item)
	}
	return more(items, left)
}

// Advice is that of a doctor, each with its command.
func Advice(all []doctor.Advice) []Item {
	var items []Item
	list, left := bounded(all, mostItems)
	for _, a := range list {
		item := Item{Lead: name(a.ID), Text: text(a.Summary) + " (" + report.RiskWords(a.Risk) + ")"}
		if a.Command != "" {
			for line := range strings.SplitSeq(a.Command, "\n") {
				if item.Lines = append(item.Lines, text(line)); len(item.Lines) == 3*mostProofs {
					break
				}
			}
		}
		items = append(items, item)
	}
	return more(items, left)
}

// Missing is what would decide, and how to get it.
func Missing(all []doctor.Missing) []Item {
	var items []Item
	list, left := bounded(all, mostItems)
	for _, m := range list {
		items = append(items, Item{Lead: name(m.ID), Text: text(m.HowToGet)})
	}
	return more(items, left)
}

func liveFacts(l *doctor.Live) []Fact {
	return []Fact{
		{"rules", text(joined(", ", "era "+string(l.Era), l.EraWhy))},
		{"compared", text(fmt.Sprintf("%s with %s, %d checks in %s", l.Counter, l.Reference, l.Checks, report.Lasting(float64(l.Elapsed))))},
	}
}

// decisions is the arithmetic of a log.
func decisions(all []doctor.Decision, left int) *Table {
	if len(all) == 0 {
		return nil
	}
	t := &Table{Caption: "Each accusation of the log", Columns: []Column{
		{Name: "Line"}, {Name: "Kind"}, {Name: "Clock"}, {Name: "Verdict"}, {Name: "Skew, ppm", Number: true}, {Name: "Delay", Number: true}, {Name: "Why"},
	}}
	for _, d := range all {
		skew, delay := Cell{}, Cell{}
		if v, ok := d.SkewPPM.Get(); ok {
			skew = Cell{Text: signed(v), Value: value(v)}
		}
		if v, ok := d.DelayNS.Get(); ok {
			delay = lasting(float64(v))
		}
		t.Rows = append(t.Rows, []Cell{
			plain(fmt.Sprintf("%s:%d", name(d.Source), d.Line)), plain(string(d.Kind)), plain(d.Clock), plain(report.VerdictWord(d.Verdict)), skew, delay, plain(d.Why),
		})
	}
	if left > 0 {
		t.Note = fmt.Sprintf("%d more are not in the document", left)
	}
	return t.compact().trim(mostItems)
}
