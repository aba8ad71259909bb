package page

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/report"
)

// doctors are diagnoses, of one host or of a fleet.
type doctors struct {
	hosts []host
}

// host is a diagnosis with what to call it.
type host struct {
	id, name string
	doctor.Diagnosis
}

// Bounds of a fleet.
const (
	mostHosts   = 5000
	mostDetails = 400 // hosts that are shown in detail, the worst ones
)

func (k *doctors) amount() (n int, one, many string) { return len(k.hosts), "host", "hosts" }

func (k *doctors) take(d *document) (bool, error) {
	switch d.Schema {
	case doctor.Schema, report.MonitorSchema: // a monitor's has the doctor's keys
		var one doctor.Diagnosis
		if err := d.decode(&one); err != nil {
			return true, err
		}
		k.add(one, d.Source)
	case report.ListSchema:
		var list struct {
			Machines []doctor.Diagnosis `json:"machines"`
		}
		if err := d.decode(&list); err != nil {
			return true, err
		}
		for _, one := range list.Machines {
			k.add(one, d.Source)
		}
	default:
		return false, nil
	}
	return true, nil
}

func (k *doctors) add(d doctor.Diagnosis, source string) {
	if len(k.hosts) == mostHosts {
		return
	}
	called := d.Host
	switch {
	case called != "":
	case d.Inputs.Root != "" && d.Inputs.Root != "/":
		called = path.Base(d.Inputs.Root)
	case len(d.Inputs.Logs) > 0:
		called = strings.Join(d.Inputs.Logs, ", ")
	default:
		called = path.Base(source)
	}
	k.hosts = append(k.hosts, host{fmt.Sprintf("host-%d", len(k.hosts)+1), name(called), d})
}

// statusOf is a status of a document as one of ours: what is none cannot be told.
func statusOf(s string) Status {
	switch s {
	case "ok":
		return OK
	case "warning":
		return Warning
	case "critical":
		return Critical
	case "info":
		return Info
	}
	return Unknown
}

func (h *host) status() Status { return statusOf(string(h.Status)) }

// clock is the clock in use.
func (h *host) clock() string { return or(h.CurrentClock, h.FinalClock) }

// worst is the hosts, the worst first, in the order in which they came.
func (k *doctors) worst() []host {
	return slices.SortedStableFunc(slices.Values(k.hosts), func(a, b host) int {
		return cmp.Compare(a.status().rank(), b.status().rank())
	})
}

// verdicts names every host that is not well. Those that are share one line.
func (k *doctors) verdicts() []Verdict {
	var all []Verdict
	var well []string
	for _, h := range k.worst() {
		if h.status() == OK && len(k.hosts) > 3 {
			well = append(well, h.name)
			continue
		}
		v := Verdict{Status: h.status(), What: h.name, Text: text(h.Summary), Link: h.id}
		if len(all) >= mostDetails {
			v.Link = "fleet"
		}
		all = append(all, v)
	}
	if rest := len(all) - mostItems; rest > 0 {
		all = append(all[:mostItems], Verdict{Status: all[mostItems].Status, What: several(rest, "more host", "more hosts"), Text: "in the table", Link: "fleet"})
	}
	if len(well) > 0 {
		named, left := bounded(well, 12)
		list := strings.Join(named, ", ")
		if left > 0 {
			list += fmt.Sprintf(" and %d more", left)
		}
		all = append(all, Verdict{Status: OK, What: several(len(well), "host", "hosts"), Text: list, Link: "fleet"})
	}
	return all
}

func (k *doctors) section() *Section {
	if len(k.hosts) == 0 {
		return nil
	}
	s := &Section{ID: "doctor", Title: "Machines"}
	worst := k.worst()
	s.Blocks = append(s.Blocks, Block{Heading: "Fleet", ID: "fleet", Text: []string{k.tally()}, Table: fleet(worst)})
	s.Blocks = append(s.Blocks, Block{Heading: "Host by host", ID: "hosts"})
	detailed, left := bounded(worst, mostDetails)
	for i := range detailed {
		h := &detailed[i]
		s.Blocks = append(s.Blocks, Block{Details: &Details{
			ID: h.id, Status: h.status(), Summary: joined(": ", h.name, text(h.Summary)), Open: len(worst) == 1, Blocks: h.blocks(),
		}})
	}
	if left > 0 {
		s.Blocks = append(s.Blocks, Block{Text: []string{fmt.Sprintf("The details of %d more hosts, none of them worse, are left out.", left)}})
	}
	return s
}

// tally says how the fleet is in a sentence.
func (k *doctors) tally() string {
	n := map[Status]int{}
	slow := map[string]int{}
	for i := range k.hosts {
		n[k.hosts[i].status()]++
		if k.hosts[i].status() != OK && k.hosts[i].clock() != "" {
			slow[name(k.hosts[i].clock())]++
		}
	}
	var parts []string
	for _, s := range [...]Status{Critical, Warning, Unknown, OK} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s.Word()))
		}
	}
	line := several(len(k.hosts), "host", "hosts") + ": " + strings.Join(parts, ", ") + "."
	var clocks []string
	for c := range slow {
		clocks = append(clocks, c)
	}
	slices.SortFunc(clocks, func(a, b string) int { return cmp.Or(slow[b]-slow[a], strings.Compare(a, b)) })
	clocks, _ = bounded(clocks, 6)
	for i, c := range clocks {
		clocks[i] = fmt.Sprintf("%s (%d)", c, slow[c])
	}
	if len(clocks) > 0 {
		line += " Clocks of those that are not OK: " + strings.Join(clocks, ", ") + "."
	}
	return line
}

// fleet is the table of the hosts.
func fleet(hosts []host) *Table {
	t := &Table{ID: "fleet-table", Caption: "Hosts, the worst first", Sort: true, Filter: len(hosts) > 3, Columns: []Column{
		{Name: "Host"}, {Name: "Status"}, {Name: "Clock"}, {Name: "TSC"}, {Name: "Findings"}, {Name: "Read, ns", Number: true}, {Name: "Since"}, {Name: "Kernel"}, {Name: "Advice"},
	}}
	for i := range hosts {
		h := &hosts[i]
		var found []string
		for _, f := range h.Findings {
			if !f.Suppressed {
				found = append(found, name(f.ID))
			}
		}
		found, left := bounded(found, 4)
		if left > 0 {
			found = append(found, fmt.Sprintf("%d more", left))
		}
		read := Cell{}
		if h.Cost != nil && h.Cost.ReadNS > 0 {
			read = number(h.Cost.ReadNS)
		}
		advice := ""
		if len(h.Advice) > 0 && h.Advice[0].ID != "nothing" {
			advice = h.Advice[0].ID
		}
		tsc := ""
		if h.TSCVerdict == doctor.Good || h.TSCVerdict == doctor.Bad || h.TSCVerdict == doctor.Undecided {
			tsc = report.VerdictWord(h.TSCVerdict)
		}
		link := h.id
		if i >= mostDetails {
			link = ""
		}
		status := h.status()
		t.Rows = append(t.Rows, []Cell{
			{Text: h.name, Link: link}, {Status: status, Text: status.Word(), Value: fmt.Sprint(status.rank())},
			plain(h.clock()), plain(tsc), plain(strings.Join(found, ", ")), read, plain(name(h.Since)), plain(name(h.Kernel.Release)), plain(name(advice)),
		})
	}
	return t.compact().trim(mostRows)
}
