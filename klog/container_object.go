package klog

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxObjectDepth is how deep messages are looked for in nested objects.
	maxObjectDepth = 4
	// maxScalars bounds the fields that are kept of one object.
	maxScalars = 64
)

// jsonObject holds what is of use in a JSON object: the message and the short
// fields beside it. The parser takes what it can of a damaged object.
type jsonObject struct {
	key    string // key of the message
	rank   int    // rank of that key, the lowest wins
	texts  []string
	fields []jsonField
	dmesg  bool
	known  bool // some field was known
}

type jsonField struct{ key, value string }

// messageRank ranks the keys of messages by preference, 0 first; -1 is none of them.
func messageRank(key string) int {
	switch key {
	case "MESSAGE":
		return 0
	case "log":
		return 1
	case "msg":
		return 2
	case "message", "Message":
		return 3
	case "line":
		return 4
	case "textPayload", "@message", "@m", "_raw", "body", "text":
		return 5
	}
	return -1
}

// nestedKey reports that an object under this key can hold the record itself.
func nestedKey(key string) bool {
	switch key {
	case "_source", "result", "fields", "jsonPayload", "data", "attributes", "record", "entry", "event", "syslog", "journald":
		return true
	}
	return false
}

func (o *jsonObject) message() string {
	if len(o.texts) == 0 {
		return ""
	}
	return strings.TrimSpace(o.texts[0])
}

func (o *jsonObject) get(key string) string {
	for _, f := range o.fields {
		if f.key == key {
			return f.value
		}
	}
	return ""
}

func (o *jsonObject) first(keys ...string) string {
	for _, k := range keys {
		if v := o.get(k); v != "" {
			return v
		}
	}
	return ""
}

// journal reports that the object is a journal record.
func (o *jsonObject) journal() bool {
	return o.first("_BOOT_ID", "__REALTIME_TIMESTAMP", "__CURSOR", "_TRANSPORT", "_MACHINE_ID", "SYSLOG_IDENTIFIER",
		"PRIORITY", "_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "SYSLOG_FACILITY") != ""
}

// others reports that the object is the journal's record of another program.
func (o *jsonObject) others() bool {
	t, f, i := o.get("_TRANSPORT"), o.get("SYSLOG_FACILITY"), o.get("SYSLOG_IDENTIFIER")
	return t != "" && t != "kernel" || f != "" && f != "0" || i != "" && i != "kernel"
}

// hollow reports that the object is a record whose message is empty or null.
func (o *jsonObject) hollow() bool {
	return o.key != "" || o.known && o.journal()
}

// parse reads the object at the beginning of s. It returns the length read and
// whether the object is complete.
func (o *jsonObject) parse(s string, depth int) (int, bool) {
	i := blanks(s, 0)
	if i >= len(s) || s[i] != '{' {
		return i, false
	}
	i++
	for {
		i = blanks(s, i)
		if i >= len(s) {
			return i, false
		}
		switch s[i] {
		case '}':
			return i + 1, true
		case ',':
			i++
			continue
		case '"':
		default:
			return i, false
		}
		key, j, ok := jsonString(s, i)
		if !ok {
			return i, false
		}
		i = blanks(s, j)
		if i >= len(s) || s[i] != ':' {
			return i, false
		}
		i = blanks(s, i+1)
		if i >= len(s) {
			return i, false
		}
		i, ok = o.value(s, i, key, depth)
		if !ok {
			return i, false
		}
	}
}

// value reads the value of key at s[i].
func (o *jsonObject) value(s string, i int, key string, depth int) (int, bool) {
	rank := messageRank(key)
	switch s[i] {
	case '"':
		v, j, ok := jsonString(s, i)
		if ok {
			o.note(key, v, rank+depth*10)
		}
		return j, ok
	case '{':
		if nestedKey(key) && depth < maxObjectDepth {
			n, ok := o.parse(s[i:], depth+1)
			return i + n, ok
		}
		return skipJSON(s, i)
	case '[':
		j, ok := skipJSON(s, i)
		if ok && rank >= 0 {
			o.list(s[i:j], key, rank+depth*10)
		}
		return j, ok
	}
	j := i
	for j < len(s) && strings.IndexByte(",}] \t\r\n", s[j]) < 0 {
		j++
	}
	if j == i {
		return j, false
	}
	if rank >= 0 && s[i:j] == "null" && o.key == "" {
		o.key, o.rank = key, rank+depth*10
	}
	if s[i:j] != "null" && rank < 0 {
		o.note(key, s[i:j], -1)
	}
	return j, j < len(s)
}

// note keeps a string: as the message if its key ranks higher than the one so far.
func (o *jsonObject) note(key, v string, rank int) {
	if messageRank(key) >= 0 {
		if o.key == "" || rank < o.rank || o.texts == nil {
			o.key, o.rank, o.texts = key, rank, []string{v}
		}
		return
	}
	o.known = true
	if len(o.fields) < maxScalars && len(v) <= 256 {
		o.fields = append(o.fields, jsonField{key, v})
	}
}

// list reads a message that is an array: of bytes, or of several messages.
func (o *jsonObject) list(s, key string, rank int) {
	if o.texts != nil && rank >= o.rank {
		return
	}
	var texts []string
	if b, ok := jsonBytes(s); ok {
		texts = append(texts, b)
	} else {
		for i := blanks(s, 1); i < len(s); i = blanks(s, i) {
			switch s[i] {
			case '"':
				v, j, ok := jsonString(s, i)
				if !ok {
					return
				}
				texts = append(texts, v)
				i = j
			case '[':
				j, ok := skipJSON(s, i)
				if !ok {
					return
				}
				if b, ok := jsonBytes(s[i:j]); ok {
					texts = append(texts, b)
				}
				i = j
			default:
				i++
			}
		}
	}
	if len(texts) > 0 {
		o.key, o.rank, o.texts = key, rank, texts
	}
}

// jsonBytes reads "[99, 108, 111]" as bytes.
func jsonBytes(s string) (string, bool) {
	out := make([]byte, 0, len(s)/4)
	for i := 1; i < len(s); {
		c := s[i]
		if isDigit(c) {
			n := digits(s[i:], 1, 3)
			if n == 0 || decimal(s[i:i+n]) > 255 {
				return "", false
			}
			out = append(out, byte(decimal(s[i:i+n])))
			i += n
			continue
		}
		if strings.IndexByte(" ,\t\r\n]", c) < 0 {
			return "", false
		}
		i++
	}
	return string(out), true
}

func blanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// jsonString reads the string that opens at s[i] and returns the place after it.
func jsonString(s string, i int) (string, int, bool) {
	i++
	from := i
	for i < len(s) && s[i] != '"' && s[i] != '\\' {
		i++
	}
	if i >= len(s) {
		return s[from:], i, false
	}
	if s[i] == '"' {
		return s[from:i], i + 1, true
	}
	out := []byte(s[from:i])
	for i < len(s) {
		c := s[i]
		if c == '"' {
			return string(out), i + 1, true
		}
		if c != '\\' || i+1 >= len(s) {
			out = append(out, c)
			i++
			continue
		}
		i += 2
		switch c := s[i-1]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b', 'f':
			out = append(out, ' ')
		case 'u':
			v, ok := hex4(s[i:])
			if !ok {
				out = append(out, '\\', 'u')
				continue
			}
			i += 4
			if utf16.IsSurrogate(v) && strings.HasPrefix(s[i:], `\u`) {
				if low, ok := hex4(s[i+2:]); ok {
					if pair := utf16.DecodeRune(v, low); pair != utf8.RuneError {
						v = pair
						i += 6
					}
				}
			}
			out = utf8.AppendRune(out, v)
		default:
			out = append(out, c)
		}
	}
	return string(out), i, false
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	a, ok1 := hexByte(s[0], s[1])
	b, ok2 := hexByte(s[2], s[3])
	return rune(a)<<8 | rune(b), ok1 && ok2
}

// skipJSON returns the place after the object or array that opens at s[i].
func skipJSON(s string, i int) (int, bool) {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return len(s), false
}
