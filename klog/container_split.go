package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// split separates records that share a line: text, then "[   12.345678] text".
func (r *RecordReader) split(text string, d draft) {
	if d.origin == OriginForeign || d.layers > maxLayers {
		r.emit(text, d)
		return
	}
	from := 1
	if name, n := processPrefix(strings.TrimLeft(text, " ")); n > 0 && name != "" {
		r.emit(text, d)
		return
	}
	for {
		i := strings.IndexByte(text[min(from, len(text)):], '[')
		if i < 0 {
			r.emit(text, d)
			return
		}
		i += min(from, len(text))
		from = i + 1
		b := bracketStamp(text[i:])
		if b.n == 0 || !b.strict {
			continue
		}
		if i+b.n < len(text) && text[i+b.n] != ' ' && callerField(text[i+b.n:]) == 0 {
			continue
		}
		if i >= 3 && text[i-1] == '>' && text[i-3] == '<' && isDigit(text[i-2]) {
			i -= 3
		}
		before, after := text[:i], text[i:]
		after = trimLiteralEnd(before, after)
		r.before(before, d)
		d.level, d.printk = event.Opt[int64]{}, event.Opt[int64]{}
		d.layers++
		r.headers(after, d)
		return
	}
}

// before delivers the part of a line in front of a stamp. A prompt cannot be
// the rest of a wrapped line.
func (r *RecordReader) before(text string, d draft) {
	t := strings.TrimSpace(text)
	if t == "" || len(t) == 1 && !isLetter(t[0]) && !isDigit(t[0]) {
		return
	}
	if strings.ContainsRune("#$>%\"'`", rune(t[len(t)-1])) || strings.HasSuffix(t, "login:") {
		d.own = true
	}
	r.emit(text, d)
}

// processPrefix recognises "systemd[1]:" at the beginning of t and returns the
// name and the length.
func processPrefix(t string) (string, int) {
	for i := 0; i < len(t) && i < 80; i++ {
		switch c := t[i]; {
		case c == '[':
			k := digits(t[i+1:], 1, 10)
			if i == 0 || k == 0 || !strings.HasPrefix(t[i+1+k:], "]:") {
				return "", 0
			}
			return t[:i], i + k + 3
		case c <= ' ' || c == '\'' || c == '"' || c == ',' || c == ';' || c == '=':
			return "", 0
		}
	}
	return "", 0
}

// isAssignment recognises the KEY=value lines under a kmsg record.
func isAssignment(s string) bool {
	i := strings.IndexByte(s, '=')
	return i > 0 && fieldName(s[:i])
}

// fieldName reports that s is a name of a journal field.
func fieldName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'A' || c > 'Z') && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return true
}

// pstoreHeader recognises the first line of a record of a persistent store:
// "Panic#1 Part1", or "====1425592921.123456-D" of a ramoops file.
func pstoreHeader(t string) bool {
	if rest, ok := strings.CutPrefix(t, "===="); ok {
		_, n, _, ok := secondsLong(rest)
		return ok && (rest[n:] == "-D" || rest[n:] == "-C" || rest[n:] == "")
	}
	for _, w := range []string{"Panic", "Oops", "Emergency", "Halt", "Restart", "Poweroff", "Shutdown", "Unknown"} {
		if rest, ok := strings.CutPrefix(t, w+"#"); ok {
			n := digits(rest, 1, 6)
			return n > 0 && strings.HasPrefix(rest[n:], " Part") && len(rest) < 30
		}
	}
	return false
}

// secondsLong reads "1425592921.123456", seconds since 1970.
func secondsLong(s string) (ns int64, n, decimals int, ok bool) {
	whole := digits(s, 1, 10)
	if whole == 0 || whole >= len(s) || s[whole] != '.' {
		return 0, 0, 0, false
	}
	decimals = digits(s[whole+1:], 1, 9)
	return 0, whole + 1 + decimals, decimals, decimals > 0
}
