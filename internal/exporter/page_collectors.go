package exporter

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/tally"
)

// sourceWords says what a collector reads, what is not known without it, and what helps.
type sourceWords struct{ name, reads, without, remedy string }

func collectorWords(c tally.Collector) sourceWords {
	switch c {
	case tally.Kmsg:
		return sourceWords{"kernel log", "what the kernel says of its clocks",
			"what the kernel says of its clocks is not seen: it may have given one up",
			"Give the program the capability CAP_SYSLOG, as its systemd unit does. In a container, /dev/kmsg has to be there, too."}
	case tally.Sysfs:
		return sourceWords{"clocksources", "which clock the kernel uses and offers",
			"which clock the kernel uses is not seen",
			"The folder /sys/devices/system/clocksource has to be readable. In a container, mount /sys."}
	case tally.Live:
		return sourceWords{"live watch", "the counters, read against one another and CPU against CPU",
			"the counters themselves are not compared",
			"Run cswatch watch on this machine: it says more. With --reference none only the CPUs are compared."}
	case tally.Cost:
		return sourceWords{"price of a read", "what reading the clock costs",
			"what reading the clock costs is not measured",
			"Run cswatch bench clock on this machine: it says more."}
	case tally.Doctor:
		return sourceWords{"doctor", "the verdict",
			"the verdict is not kept up to date",
			"Run cswatch doctor on this machine: it says more."}
	case tally.Keeper:
		return sourceWords{"state file", "what outlives the program",
			"after a restart, what the kernel has overwritten in its log is forgotten, and events may be told again",
			"Name a file in a folder that the program may write with --state, or none with --state none."}
	}
	return sourceWords{name: report.Safe(string(c))}
}

// collectorBlocks tell how the collectors fare.
func collectorBlocks(v tally.View, c calendar) []page.Block {
	t := &page.Table{Caption: "What the monitor reads", Columns: []page.Column{
		{Name: "Collector"}, {Name: "State"}, {Name: "Reads"}, {Name: "Worked last"}, {Name: "Took", Number: true}, {Name: "Failures", Number: true},
	}}
	var failing []page.Item
	for _, collector := range tally.CollectorNames() {
		h, words := v.Collectors[collector], collectorWords(collector)
		state, last, took := page.Cell{Text: "not used, or not yet"}, page.Cell{Text: "–"}, page.Cell{Text: "–"}
		switch {
		case h.OK:
			state = page.Cell{Status: page.OK}
		case h.Known:
			state = page.Cell{Status: page.Warning}
			failing = append(failing, page.Item{
				Status: page.Warning, Lead: words.name, Text: words.without + ". " + words.remedy, Lines: []string{text(h.Error)},
			})
		}
		if !h.LastSuccess.IsZero() {
			at := c.moment(h.LastSuccess)
			last = page.Cell{Text: fmt.Sprintf("%s, %s", at.Text, at.Ago)}
			took = page.Cell{Text: report.Lasting(float64(h.Took))}
		}
		t.Rows = append(t.Rows, []page.Cell{{Text: words.name}, state, {Text: words.reads}, last, took, {Text: page.Grouped(h.Failures)}})
	}
	blocks := []page.Block{{Table: t}}
	if len(failing) > 0 {
		blocks = []page.Block{{List: failing}, {Table: t}}
	}
	l := &v.Log
	facts := []page.Fact{{Name: "lines read", Value: page.Grouped(l.Records) + " of the kernel's log in this boot"}}
	if l.Lost > 0 || l.Overruns > 0 {
		facts = append(facts, page.Fact{Name: "lines lost", Value: fmt.Sprintf("%s, overwritten before they were read; a greater log_buf_len helps", page.Grouped(l.Lost))})
	}
	if l.Foreign > 0 {
		facts = append(facts, page.Fact{Name: "not the kernel's", Value: page.Grouped(l.Foreign) + " lines that speak of clocks: no evidence"})
	}
	return append(blocks, page.Block{Facts: facts})
}
