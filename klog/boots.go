package klog

import "github.com/cswatch/cswatch/event"

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
	pairs map[string]map[string]int // text -> container -> how often
	exact map[exactKey]bool
	texts []string // recent texts, for copies that were cut
	boot  int      // that pairs and texts are of: every boot says the same things
}

type exactKey struct {
	boot   int
	format string
	printk int64
	text   string
}

const maxCopies = 4096

func newCopies() copies {
	return copies{pairs: map[string]map[string]int{}, exact: map[exactKey]bool{}}
}

// seen reports whether the event's line was read before, and remembers it.
func (c *copies) seen(e *event.Event) bool {
	if len(c.pairs) >= maxCopies || len(c.exact) >= maxCopies {
		c.texts = c.texts[:0]
		clear(c.pairs)
		clear(c.exact)
	}
	if e.Source.Boot != c.boot {
		c.boot = e.Source.Boot
		clear(c.pairs)
		c.texts = c.texts[:0]
	}
	text, format := e.Text, e.Source.Format
	if t, ok := e.Time.PrintkNS.Get(); ok && e.Kind != event.Version {
		key := exactKey{e.Source.Boot, format, t, text}
		if c.exact[key] {
			return true
		}
		c.exact[key] = true
	}
	if e.Cut {
		for _, t := range c.texts {
			if len(t) > len(text) && len(text) >= 20 && t[:len(text)] == text && c.pairs[t][format] == 0 {
				return true
			}
		}
	}
	counts := c.pairs[text]
	if counts == nil {
		counts = map[string]int{}
		c.pairs[text] = counts
		if len(c.texts) == 64 {
			c.texts = append(c.texts[:0], c.texts[1:]...)
		}
		c.texts = append(c.texts, text)
	}
	counts[format]++
	for other, n := range counts {
		if other != format && n >= counts[format] {
			return true
		}
	}
	return false
}
