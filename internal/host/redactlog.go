package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// The kernel prints what its command line had for init in blocks of lines:
//
//	Run /init as init process
//	  with arguments:
//	    /init
//	  with environment:
//	    HOME=/
//
// A line is known to be part of one only by those before it.
type initBlock int

const (
	noBlock initBlock = iota
	argumentsBlock
	environmentBlock
)

// blockTracker tells which block each line of a log is part of. It must see
// every line, in order, and is fast.
type blockTracker struct {
	block  initBlock
	indent int // of the line that began it
	left   int // lines of others that may still come between
}

// maxBetween is how many lines of other CPUs are taken to come within a block.
const maxBetween = 200

func (t *blockTracker) see(line string) initBlock {
	text := messageOf(line)
	begins := noBlock
	switch {
	case strings.Contains(text, "with arguments:"):
		begins = argumentsBlock
	case strings.Contains(text, "with environment:"):
		begins = environmentBlock
	}
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	if begins != noBlock {
		*t = blockTracker{begins, indent, maxBetween}
		return noBlock
	}
	if t.block == noBlock {
		return noBlock
	}
	word := strings.TrimSpace(text)
	if indent > t.indent || t.indent == 0 && !strings.Contains(word, " ") || assignment.MatchString(word) {
		return t.block
	}
	if t.left--; t.left == 0 {
		t.block = noBlock
	}
	return noBlock
}

var (
	assignment  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*=\S`)
	printkStamp = regexp.MustCompile(`^(?:<[0-9]+>)?(?:\[ *[0-9]+\.[0-9]+\](?:\[ *[TC][0-9]+\])? ?)?`)
	kmsgHead    = regexp.MustCompile(`^[0-9]+,[0-9]+,[0-9]+,[^;]*;`)
)

// messageOf returns what the kernel said in a line of a log.
func messageOf(line string) string {
	if strings.HasPrefix(line, "{") {
		_, text, _ := strings.Cut(line, `"MESSAGE"`)
		text = strings.TrimLeft(text, " :")
		if numbers, ok := strings.CutPrefix(text, "["); ok {
			return fromNumbers(numbers)
		}
		return strings.TrimPrefix(text, `"`)
	}
	if n := len(kmsgHead.FindString(line)); n > 0 {
		return line[n:]
	}
	return line[len(printkStamp.FindString(line)):]
}

// fromNumbers reads a message that the journal writes as a row of numbers.
func fromNumbers(s string) string {
	numbers, _, _ := strings.Cut(s, "]")
	text := make([]byte, 0, len(numbers)/3)
	for n := range strings.SplitSeq(numbers, ",") {
		b, err := strconv.ParseUint(strings.TrimSpace(n), 10, 8)
		if err != nil {
			break
		}
		text = append(text, byte(b))
	}
	return string(text)
}

// logLine redacts a line of a kernel log: a record of the kernel's device, of
// the journal in JSON, or plain text.
func (r *redactor) logLine(line string, block initBlock) string {
	if strings.HasPrefix(line, "{") {
		return r.journalRecord(line, block)
	}
	if block != noBlock {
		text := messageOf(line)
		return line[:len(line)-len(text)] + r.forInit(text, block)
	}
	return r.line(line)
}

// forInit redacts what was for init: an argument as a whole, of a variable the value.
func (r *redactor) forInit(text string, block initBlock) string {
	word := strings.TrimSpace(text)
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	name, value, has := strings.Cut(word, "=")
	if word == redactedMark || word == "" {
		return text
	}
	if block == argumentsBlock || !has {
		return indent + r.mark(redactedMark)
	}
	switch {
	case name == "HOME" && value == "/", name == "TERM" && value == "linux": // what the kernel itself sets
		return text
	case name == "BOOT_IMAGE":
		return indent + name + "=" + r.mark("/"+path.Base(value))
	}
	return indent + name + "=" + r.mark(redactedMark)
}

// journalFields are what is kept of a journal record, in this order. The others
// name the host, the machine, devices and processes.
var journalFields = [...]string{
	"MESSAGE", "PRIORITY", "_TRANSPORT", "SYSLOG_IDENTIFIER", "SYSLOG_FACILITY",
	"_SOURCE_MONOTONIC_TIMESTAMP", "_SOURCE_BOOTTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "__REALTIME_TIMESTAMP", "_BOOT_ID",
}

// journalRecord redacts a record as journalctl -o json prints it. A record that
// is not understood is left out: its message may be a row of numbers, in which
// no rule would find anything.
func (r *redactor) journalRecord(line string, block initBlock) string {
	var record map[string]any
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		r.count++
		return "cswatch(collect): a record of the journal that is no JSON was left out"
	}
	var out strings.Builder
	for _, name := range journalFields {
		text, ok := fieldText(record[name])
		if !ok {
			continue
		}
		switch {
		case name == "_BOOT_ID":
			text = r.bootName(text)
		case name != "MESSAGE":
			text = r.line(text)
		case block != noBlock:
			text = r.forInit(text, block)
		default:
			lines := strings.Split(text, "\n")
			for i, l := range lines {
				lines[i] = r.line(l)
			}
			text = strings.Join(lines, "\n")
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%q:%s", name, jsonText(text))
	}
	return "{" + out.String() + "}"
}

// fieldText returns the text of a field: a string, or the numbers of its bytes
// where it is no UTF-8 or holds control characters.
func fieldText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		text := make([]byte, 0, len(v))
		for _, b := range v {
			n, ok := b.(float64)
			if !ok || n < 0 || n > 255 {
				return "", false
			}
			text = append(text, byte(n))
		}
		return strings.ToValidUTF8(string(text), "?"), true
	}
	return "", false
}

// jsonText writes a string as JSON, without the escapes that only web pages need.
func jsonText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // of a string there is none
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// bootName gives boots numbers instead of their ids.
func (r *redactor) bootName(id string) string {
	n, ok := r.boots[id]
	if !ok {
		if r.boots == nil {
			r.boots = make(map[string]int)
		}
		n = len(r.boots) + 1
		r.boots[id] = n
	}
	return r.mark(fmt.Sprintf("boot-%d", n))
}
