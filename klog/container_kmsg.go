package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// kmsgHead is the part of a /dev/kmsg record before the text.
type kmsgHead struct {
	format, seq, extra, text string
	priority, usec           int64
}

// parseKmsg reads "4,1053,28763164,-;text", or the extended netconsole form with
// a release before it.
func parseKmsg(t string) (kmsgHead, bool) {
	var h kmsgHead
	semi := strings.IndexByte(t[:min(len(t), 400)], ';')
	if semi < 7 {
		return h, false
	}
	h.format, h.text = FormatKmsg, t[semi+1:]
	first, rest, _ := strings.Cut(t[:semi], ",")
	if digits(first, 1, 6) != len(first) {
		if !strings.Contains(first, ".") || strings.ContainsAny(first, " []<>'\"=") {
			return h, false
		}
		h.format = FormatNetconsole
		first, rest, _ = strings.Cut(rest, ",")
	}
	seq, rest, ok1 := strings.Cut(rest, ",")
	usec, rest, ok2 := strings.Cut(rest, ",")
	flags, extra, _ := strings.Cut(rest, ",")
	if !ok1 || !ok2 || digits(first, 1, 6) == 0 || digits(first, 1, 6) != len(first) ||
		digits(seq, 1, 18) != len(seq) || seq == "" || digits(usec, 1, 15) == 0 || digits(usec, 1, 15) != len(usec) ||
		len(flags) != 1 {
		return h, false
	}
	h.priority, h.seq, h.usec, h.extra = decimal(first), seq, decimal(usec), extra
	if strings.Contains(extra, "ncfrag=") {
		h.format = FormatNetconsole
	}
	return h, true
}

// kmsgHeader reads the head of a /dev/kmsg record, and its fragments.
func (r *RecordReader) kmsgHeader(t string, d *draft) (string, headerResult) {
	h, ok := parseKmsg(t)
	if !ok {
		return t, headerNone
	}
	d.in(h.format)
	d.priority(h.priority)
	d.printk = event.Some(h.usec * 1000)
	text := h.text
	r.afterKmsg = !d.inner
	if _, frag, ok := strings.Cut(h.extra, "ncfrag="); ok {
		r.fragment("ncfrag "+t[:strings.IndexByte(t, ';')-len(h.extra)], frag, text, *d)
		return "", headerDone
	}
	if strings.Contains(text, `\x`) {
		text = unescapeKmsg(text)
		if strings.IndexByte(text, '\n') >= 0 {
			d.literal = true
			r.peel(text, *d)
			return "", headerDone
		}
	}
	return text, headerMore
}

// fragment joins the pieces that netconsole makes of a long record: each names
// its offset and the total, "ncfrag=0/33".
func (r *RecordReader) fragment(key, frag, text string, d draft) {
	frag, _, _ = strings.Cut(frag, ",")
	a, b, _ := strings.Cut(frag, "/")
	if digits(a, 1, 7) != len(a) || digits(b, 1, 7) != len(b) || a == "" || b == "" || decimal(b) > maxLine {
		r.peel(unescapeKmsg(text), d)
		return
	}
	offset, size := int(decimal(a)), int(decimal(b))
	p := r.parts[key]
	if p != nil && p.next != offset {
		r.cutPart(key, p) // a piece was lost on the network
		p = nil
	}
	d.literal = true
	if p == nil {
		p = &part{d: d, size: size, next: offset}
		p.d.cut = offset > 0
		r.open(key, p)
	}
	p.text = append(p.text, text...)
	p.next = offset + len(text)
	if p.next >= size {
		delete(r.parts, key)
		r.peel(unescapeKmsg(string(p.text)), p.d)
	}
}

// unescapeKmsg decodes \xNN.
func unescapeKmsg(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if v, ok := hexByte(s[i+2], s[i+3]); ok {
				out = append(out, v)
				i += 3
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func hexByte(a, b byte) (byte, bool) {
	hi, ok1 := hexDigit(a)
	lo, ok2 := hexDigit(b)
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
