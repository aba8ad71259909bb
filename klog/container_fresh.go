package klog

import "strings"

// looksFresh reports that s begins with a stamp or a prefix of kernel messages.
func looksFresh(s string) bool {
	t := strings.TrimLeft(s, " \t>")
	if t == "" {
		return false
	}
	if stamped(t) {
		return true
	}
	word, _, ok := strings.Cut(t, ":")
	return ok && (messagePrefix(word) || word == "kernel")
}

// stamped reports that s begins as records do in the containers of one line: with
// a stamp, a priority or a whole object. Such a line goes on from nothing: it
// ends whatever the lines before it have opened.
func stamped(s string) bool {
	t := strings.TrimLeft(s, " \t>")
	if t == "" {
		return false
	}
	switch c := t[0]; {
	case c == '[':
		return bracketStamp(t).n > 0 || len(t) > 2 && t[1] == ' ' && isDigit(t[2]) && shape(t[2:], "M_H") > 0
	case c == '<':
		n := digits(t[1:], 1, 3)
		return n > 0 && n+1 < len(t) && t[n+1] == '>'
	case c == '{':
		return wholeObject(t)
	case c == 0x1e:
		return wholeObject(t[1:])
	case c == '_':
		i := strings.IndexByte(t, '=')
		return i > 2 && t[1] == '_' && fieldName(t[:i])
	case isDigit(c):
		if n, _ := wallStamp(t); n > 0 {
			return true
		}
		if _, ok := parseKmsg(t); ok {
			return true
		}
		if shape(t, "M_H") > 0 {
			return true
		}
		n := digits(t, 1, 6) // a frame with its length, or RFC 5424 without priority
		return n > 0 && strings.HasPrefix(t[n:], " <") && digits(t[n+2:], 1, 3) > 0 || n == 1 && shape(t, "1_DTHz") > 0
	case isLetter(c):
		if n, _ := wallStamp(t); n > 0 {
			return true
		}
		var d draft
		if _, ok := klogHeader(t, &d); ok {
			return true
		}
		if _, ok := columnsHeader(t, &d); ok {
			return true
		}
		if _, ok := logcatBrief(t, &d); ok {
			return true
		}
		return strings.HasPrefix(t, "kernel: [") || strings.HasPrefix(t, "kernel:[") || strings.HasPrefix(t, `data: {"`)
	}
	return false
}

// wholeObject reports that t looks like an object that begins and ends on one line.
func wholeObject(t string) bool {
	if len(t) < 2 || t[0] != '{' {
		return false
	}
	in := trimBlanks(t[1:])
	end := strings.TrimRight(t, " \t\r,")
	return in != "" && in[0] == '"' && end[len(end)-1] == '}' && strings.IndexByte(in, ':') > 0
}

// objectFirst reports that a line begins with an object.
func objectFirst(s string) bool {
	t := strings.TrimLeft(s, " \t\x1e")
	t = strings.TrimPrefix(t, "data: ")
	return strings.HasPrefix(t, `{"`) || strings.HasPrefix(t, `[{"`)
}
