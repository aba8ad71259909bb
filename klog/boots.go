package klog

import (
	"slices"

	"github.com/cswatch/cswatch/event"
)

// boots numbers the boots of one input, from 1.
//
// A new boot begins where the container says so (a journal's boot id, a
// "-- Boot" line) and at a "Linux version" line, unless that line is the second
// copy of one boot's. A printk stamp that jumps back is no new boot: after a
// verdict the kernel changes the base of its stamps.
type boots struct {
	number  int
	banner  string // the "Linux version" line of this boot
	format  string // and its container
	events  int    // events of this boot, before which a banner is not late
	last    int64  // latest printk stamp of this boot, ns
	stamped bool
	back    bool // the latest record's stamp jumped back
}

// early is the time within which lines before the banner belong to its boot:
// some architectures print a few lines first.
const early = 1_000_000_000

func (b *boots) current() int { return max(1, b.number) }

// record notes a record's stamp and the container's own marks.
func (b *boots) record(r *Record) {
	if b.number == 0 {
		b.number = 1
	} else if r.NewBoot {
		b.next()
	}
	b.back = false
	t, ok := r.Printk.Get()
	if !ok {
		return
	}
	b.back = b.stamped && t < b.last-early
	if !b.back {
		b.last = max(b.last, t)
	}
	b.stamped = true
}

// event counts an event that does not come before a banner.
func (b *boots) event(k event.Kind) {
	switch k {
	case event.CPUModel, event.Platform, event.Hypervisor, event.Version:
	default:
		b.events++
	}
}

func (b *boots) next() { *b = boots{number: b.number + 1} }

// version notes a banner.
func (b *boots) version(r *Record, text string) {
	switch {
	case b.banner == text && b.format != r.Format:
		return // the other copy of a log that holds the console and the journal
	case b.banner != "", b.events > 0 && (!b.stamped || b.last > early):
		t, ok := r.Printk.Get()
		b.next()
		b.last, b.stamped = t, ok
	}
	b.banner, b.format = text, r.Format
}

// doubt says why the record's printk stamp is not to be relied on.
func (b *boots) doubt(*Record) string {
	if b.back {
		return "the kernel's stamp jumped back: it changes its base when the TSC is condemned, or another boot begins here"
	}
	return ""
}

// copies finds the second copy of a line: logs often hold the console's and the
// journal's. It remembers a bounded number of lines.
type copies struct {
	lines map[string][]sighting // by text
	texts []string              // recent texts, for copies that were cut
	boot  int                   // that all of it is of: every boot says the same things
	count int                   // of sightings
}

// sighting is one line, and in which containers it was seen.
type sighting struct {
	printk  event.Opt[int64]
	formats []string
}

const (
	maxCopies = 4096
	maxSame   = 64 // sightings of one text
	maxCut    = 64 // recent texts that a cut copy is compared with
)

func newCopies() copies { return copies{lines: map[string][]sighting{}} }

// forget makes room, or begins another boot.
func (c *copies) forget() {
	clear(c.lines)
	c.texts, c.count = c.texts[:0], 0
}

// seen reports whether the event's line was read before, and remembers it. The
// copy is in another container, or is the same line with the same stamp in the
// same one. Where both carry the kernel's stamp, the stamps must be equal: the
// same words at another time are another event.
func (c *copies) seen(e *event.Event) bool {
	if e.Source.Boot != c.boot || c.count >= maxCopies {
		c.boot = e.Source.Boot
		c.forget()
	}
	text, format, printk := e.Text, e.Source.Format, e.Time.PrintkNS
	if e.Cut && len(text) >= 20 {
		for _, t := range c.texts {
			if len(t) > len(text) && t[:len(text)] == text && !slices.Contains(c.lines[t][0].formats, format) {
				return true
			}
		}
	}
	for i := range c.lines[text] {
		s := &c.lines[text][i]
		known := s.printk.Known && printk.Known
		switch {
		case known && s.printk != printk:
		case !slices.Contains(s.formats, format):
			s.formats = append(s.formats, format)
			if !s.printk.Known {
				s.printk = printk
			}
			return true
		case known && e.Kind != event.Version:
			return true
		}
	}
	if c.lines[text] == nil {
		if len(c.texts) == maxCut {
			c.texts = append(c.texts[:0], c.texts[1:]...)
		}
		c.texts = append(c.texts, text)
	}
	known := c.lines[text]
	if len(known) == maxSame {
		known = append(known[:0], known[1:]...)
	} else {
		c.count++
	}
	c.lines[text] = append(known, sighting{printk, []string{format}})
	return false
}
