package klog

import "strings"

// opensObject reports that t may begin a JSON object.
func opensObject(t string) bool {
	if !strings.HasPrefix(t, "{") {
		return false
	}
	t = trimBlanks(t[1:])
	return t == "" || t[0] == '"' || t[0] == '}'
}

// object reads the JSON objects at the beginning of t, one after the other.
func (r *RecordReader) object(t string, d *draft) headerResult {
	if !opensObject(t) {
		return headerNone
	}
	for first := true; ; first = false {
		var o jsonObject
		n, whole := o.parse(t, 0)
		if !whole {
			return r.halfObject(&o, t, *d, first)
		}
		origin, ok := r.objectRecord(&o, *d)
		if !ok {
			if first {
				return headerNone
			}
			r.emit(t[:n], *d)
		}
		rest := strings.Trim(t[n:], " \t,]\x1e")
		if rest == "" {
			return headerDone
		}
		if !opensObject(rest) {
			// What stands behind an object is whose the object is.
			behind := *d
			if origin == OriginForeign {
				behind.foreign("")
			}
			r.bare(rest, behind)
			return headerDone
		}
		t = rest
	}
}

// halfObject reads an object without an end.
func (r *RecordReader) halfObject(o *jsonObject, t string, d draft, first bool) headerResult {
	if o.message() != "" && (o.others() || d.origin == OriginForeign || !hasStampWithin(t)) {
		r.objectRecord(o, d)
		return headerDone
	}
	if first {
		return headerNone // a console may have written into it: split at the stamp
	}
	r.split(t, d)
	return headerDone
}

// hasStampWithin reports that an unmistakable stamp stands outside the JSON
// strings of s, or in one that has no end.
func hasStampWithin(s string) bool {
	inString, open := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && inString:
			i++
		case c == '"':
			inString, open = !inString, i
		case c == '[' && !inString:
			if b := bracketStamp(s[i:]); b.strict {
				return true
			}
		}
	}
	if inString {
		for i := open; i < len(s); i++ {
			if s[i] == '[' && bracketStamp(s[i:]).strict {
				return true
			}
		}
	}
	return false
}

// objectRecord peels the message of an object. It returns who wrote it, and
// false if there is none.
func (r *RecordReader) objectRecord(o *jsonObject, d draft) (Origin, bool) {
	rank := o.rank
	if o.message() == "" && len(o.texts) == 0 {
		return d.origin, o.hollow()
	}
	d.literal = true
	switch {
	case rank == 0 && o.journal():
		d.in(FormatJournalJSON)
		r.journalDraft(o.get, &d)
		if len(o.message()) > maxKernelText && o.get("_TRANSPORT") != "kernel" {
			d.foreign("") // whoever wrote it
		}
	case o.dmesg || o.key == "msg" && o.get("pri") != "" && o.get("level") == "":
		d.in(FormatDmesgJSON)
		o.dmesgDraft(&d)
	case o.key == "log" && (o.get("stream") != "" || o.get("time") != ""):
		d.in(FormatDockerJSON)
		if w := o.get("time"); w != "" {
			d.wall = w
		}
		d.literal = false
		r.docker(o, d)
		return d.origin, true
	default:
		d.in(FormatJSON)
		o.genericDraft(&d)
		d.literal = false
	}
	for _, t := range o.texts {
		r.peel(t, d)
	}
	return d.origin, true
}

// docker delivers a log field. Docker ends each line by a line break and splits
// what is longer than its buffer; shippers that drop the line break must not
// make one line of many.
func (r *RecordReader) docker(o *jsonObject, d draft) {
	key := "docker " + o.get("stream")
	for _, t := range o.texts {
		whole := strings.HasSuffix(t, "\n")
		r.collect(key, strings.TrimRight(t, "\r\n"), whole, d)
	}
}
