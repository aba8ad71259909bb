package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// Bounds on how far a message may run over lines.
const (
	maxJoins        = 4
	maxJoined       = 4096
	maxCommandLines = 16
)

// parser turns records into events: it looks each up in the message table,
// joins wrapped lines, numbers the boots and marks second copies.
type parser struct {
	table  *table
	name   string
	boots  boots
	copies copies
	held   held
	queue  []event.Event
	stats  Summary
}

// held is a record whose message may go on in the next line.
type held struct {
	record Record
	text   string
	found  found
	joins  int
	used   bool
}

func newParser(name string) parser {
	return parser{
		table: knownMessages, name: name,
		copies: newCopies(),
		stats:  Summary{Kinds: map[event.Kind]int{}},
	}
}

// pop takes the oldest finished event.
func (p *parser) pop() (event.Event, bool) {
	if len(p.queue) == 0 {
		return event.Event{}, false
	}
	e := p.queue[0]
	p.queue = append(p.queue[:0], p.queue[1:]...)
	return e, true
}

// record takes one record.
func (p *parser) record(r *Record) {
	p.boots.record(r)
	if r.Origin == OriginForeign {
		p.foreign(r)
		return
	}
	if p.held.used {
		if r.Bare && p.join(r.Text) {
			return
		}
		p.release()
	}
	f := p.table.find(r.Text)
	if f.row == nil && !f.begins {
		return
	}
	p.held = held{record: *r, text: strings.TrimLeft(r.Text, " \t"), found: f, used: true}
	if f.m.outcome == full && !p.held.mayGoOn() {
		p.release()
	}
}

// join tries to add a bare line to the held message. It reports whether the line was used up.
func (p *parser) join(more string) bool {
	more = strings.Trim(more, " \t")
	h := &p.held
	if more == "" {
		return true // an empty line within a wrapped message
	}
	if h.found.m.outcome == full {
		return p.appendFree(more)
	}
	if h.joins >= maxJoins || len(h.text)+len(more) > maxJoined {
		return false
	}
	for _, sep := range [...]string{" ", ""} {
		text := h.text + sep + more
		f := p.table.find(text)
		goesOn := f.begins && f.m.outcome != full && f.m.outcome >= h.found.m.outcome && longer(f, h.found)
		brokeOff := f.m.outcome == cut && h.found.m.outcome < cut && f.m.end > len(h.text)
		if f.m.outcome == full || goesOn || brokeOff {
			h.text, h.found = text, f
			h.joins++
			if f.m.outcome == full && !h.mayGoOn() {
				p.release()
			}
			return true
		}
	}
	return false
}

// longer reports that a match got further than an earlier one, or that both only began.
func longer(a, b found) bool { return a.row == nil && b.row == nil || a.m.end > b.m.end }

// mayGoOn reports that a full match ends in free text that the next line may
// continue: a command line, a version banner, a reason that is only half there.
func (h *held) mayGoOn() bool {
	switch h.found.row.kind {
	case event.CommandLine, event.Version:
		return !h.record.Bare
	case event.TSCUnstable:
		return len(begun(strings.Trim(h.found.reason(), ". "))) > 0
	}
	return false
}

// reason is the last captured text.
func (f *found) reason() string {
	if f.m.count == 0 {
		return ""
	}
	c := f.m.captures[f.m.count-1]
	return f.text[c.start:c.end]
}

// reasons that the kernel gives for calling the TSC unstable, 2.6.2x to 7.3.
var reasons = [...]string{
	"clocksource watchdog", "check_tsc_sync_source failed", "boot parameter", "boot parameter notsc", "TSC halts in idle",
	"TSC halts in idle states deeper than C2", "TSC halt in AMD C1E", "could not calculate TSC khz", "TSCs unsynchronized",
	"cpufreq changes", "cpufreq changes on SMP", "KVM discovered backwards TSC", "UV BIOS", "running on Hyper-V", "cyrix 5510/5520 detected",
}

// begun returns the known reasons that s is the beginning of, none if s is a whole one.
func begun(s string) (all []string) {
	for _, r := range reasons {
		if s == r {
			return nil
		}
		if strings.HasPrefix(r, s) {
			all = append(all, r)
		}
	}
	return all
}

// completed returns the one known reason that s is the beginning of, "" if s is
// whole, too short to tell, or the beginning of several.
func completed(s string) string {
	all := begun(s)
	if len(s) < 5 || len(all) == 0 {
		return ""
	}
	for _, r := range all[1:] {
		if !strings.HasPrefix(r, all[0]) {
			return ""
		}
	}
	return all[0]
}

// appendFree adds a bare line to a message that ends in free text.
func (p *parser) appendFree(more string) bool {
	h := &p.held
	limit := maxJoins
	if h.found.row.kind == event.CommandLine {
		limit = maxCommandLines
	}
	if h.joins >= limit || len(h.text)+len(more) > maxJoined {
		return false
	}
	if f := p.table.find(more); f.m.outcome >= cut {
		return false // a message of its own
	}
	h.text += " " + more
	h.joins++
	if f := p.table.find(h.text); f.m.outcome == full {
		h.found = f
	}
	if h.found.row.kind == event.TSCUnstable && !h.mayGoOn() {
		p.release()
	}
	return true
}

// release turns the held record into an event, if it is one.
func (p *parser) release() {
	h := p.held
	p.held = held{}
	if h.found.m.outcome < cut {
		return
	}
	p.emit(&h.record, h.text, &h.found)
}

// finish ends the input.
func (p *parser) finish() {
	if p.held.used {
		p.release()
	}
}

// foreign handles a record that is not the kernel's. Time daemons are heard as
// witnesses of drift; everything else that looks like the kernel is counted.
func (p *parser) foreign(r *Record) {
	switch strings.ToLower(r.Ident) {
	case "chronyd", "ntpd", "ntpdate", "phc2sys", "ptp4l", "systemd-timesyncd", "systemd-journald", "systemd-journal", "systemd":
		if f := p.table.findDaemon(r.Text); f.row != nil {
			p.emit(r, r.Text, &f)
			return
		}
	}
	text := r.Text
	if _, ours, ok := strings.Cut(text, "): "); ok && strings.HasPrefix(text, "cswatch(") {
		text = ours
	}
	if f := p.table.find(text); f.row != nil {
		p.stats.Foreign++
	}
}

// emit makes the event of a record.
func (p *parser) emit(r *Record, text string, f *found) {
	e := event.Event{
		Text:  clip(text, event.MaxText),
		Level: r.Level,
		Time:  event.Time{PrintkNS: r.Printk, Wall: clip(r.Wall, 64), Doubt: r.Doubt},
	}
	f.fill(&e)
	e.Cut = e.Cut || r.Cut
	e.Source = event.Source{File: p.name, Line: r.Line, Format: r.Format}
	if e.Kind == event.Version {
		p.boots.version(r, text)
	}
	if doubt := p.boots.doubt(r); doubt != "" {
		if e.Time.Doubt != "" {
			doubt = e.Time.Doubt + "; " + doubt
		}
		e.Time.Doubt = doubt
	}
	e.Source.Boot = p.boots.current()
	e.Source.Duplicate = p.copies.seen(&e)
	p.stats.Events++
	if e.Source.Duplicate {
		p.stats.Duplicates++
	} else {
		p.stats.Kinds[e.Kind]++
		p.boots.event(e.Kind)
	}
	p.queue = append(p.queue, e)
}
