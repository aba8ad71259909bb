package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// wholeLog is how many records on one line make it a log whose line breaks were
// lost, in which a program's record does not make the rest of the line its own.
const wholeLog = 8

// split separates records that share a line: text, then "[   12.345678] text".
// What a program writes stays the program's to the end of the line, whatever
// stamps it holds.
func (r *RecordReader) split(text string, d draft) {
	if d.origin == OriginForeign || d.layers > maxLayers || !d.many && ownWords(text) {
		r.emit(text, d)
		return
	}
	at := nextStamp(text, 1)
	if at == len(text) {
		r.emit(text, d)
		return
	}
	d.many = d.many || severalStamps(text, at)
	before := text[:at]
	r.before(before, d)
	d.level, d.printk = event.Opt[int64]{}, event.Opt[int64]{}
	d.layers++
	cut := d.cut
	for at < len(text) {
		from := at + 1
		if i := strings.IndexByte(text[at:], ']'); text[at] == '<' && i > 0 {
			from = at + i
		}
		next := nextStamp(text, from)
		one := text[at:next]
		if !d.many && ownWords(behindStamp(one)) {
			next = len(text)
			one = text[at:]
		}
		foreign := r.foreign
		r.foreign = false
		d.cut = cut && next == len(text)
		r.headers(trimLiteralEnd(before, one), d)
		if r.foreign && !d.many {
			d.foreign("")
			r.emit(text[next:], d)
			return
		}
		r.foreign = r.foreign || foreign
		before, at = text[:next], next
	}
}

// behindStamp returns what follows the stamp that text begins with.
func behindStamp(text string) string {
	_, t, _ := strings.Cut(text, "]")
	t = strings.TrimLeft(t, " ")
	return t[callerField(t):]
}

// nextStamp returns the next place, not before from, at which an unmistakable
// stamp begins, with its level; len(text) if there is none.
func nextStamp(text string, from int) int {
	for from < len(text) {
		i := strings.IndexByte(text[from:], '[')
		if i < 0 {
			break
		}
		i += from
		from = i + 1
		b := bracketStamp(text[i:])
		if b.n == 0 || !b.strict || i+b.n < len(text) && text[i+b.n] != ' ' && callerField(text[i+b.n:]) == 0 {
			continue
		}
		if i >= 3 && text[i-1] == '>' && text[i-3] == '<' && isDigit(text[i-2]) {
			i -= 3
		}
		return i
	}
	return len(text)
}

// severalStamps reports that so many stamps stand in the text that it must be a
// whole log.
func severalStamps(text string, at int) bool {
	for range wholeLog {
		if at = nextStamp(text, at+4); at == len(text) {
			return false
		}
	}
	return true
}

// ownWords reports that a text names the program that wrote it.
func ownWords(text string) bool {
	t := strings.TrimLeft(text, " ")
	_, n := processPrefix(t)
	return n > 0 || strings.HasPrefix(t, "cswatch(")
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

// maxFieldName is the length of a name that the journal takes at most.
const maxFieldName = 64

// fieldName reports that s is a name of a journal field.
func fieldName(s string) bool {
	if s == "" || len(s) > maxFieldName {
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
	w, rest, ok := strings.Cut(t[:min(len(t), 40)], "#")
	if !ok {
		return false
	}
	switch w {
	case "Panic", "Oops", "Emergency", "Halt", "Restart", "Poweroff", "Shutdown", "Unknown":
		n := digits(rest, 1, 6)
		return n > 0 && strings.HasPrefix(rest[n:], " Part") && len(rest) < 30
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
