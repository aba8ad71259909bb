package klog

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// table is the compiled message table.
type table struct {
	start    [256][]*message // fromStart and variant rows by the first byte that they can begin with
	anywhere []*message
	daemon   []*message
	rows     []message
}

// knownMessages is the table that every reader uses. Nothing writes to it.
var knownMessages = newTable()

// newTable compiles the message table. A fault in it is a programming error
// that every test of the package would show.
func newTable() *table {
	t := &table{rows: messages()}
	for i := range t.rows {
		m := &t.rows[i]
		var err error
		if m.compiled, err = compile(m.text); err != nil {
			panic(fmt.Sprintf("klog: message %q: %v", m.text, err))
		}
		switch m.reads {
		case anywhere:
			t.anywhere = append(t.anywhere, m)
		case daemon:
			t.daemon = append(t.daemon, m)
		default:
			first := m.compiled.tokens[0]
			if lit := strings.TrimLeft(first.literal, " "); lit != "" {
				t.start[lit[0]] = append(t.start[lit[0]], m)
				break
			}
			for b := range t.start {
				if isNameByte(byte(b)) {
					t.start[b] = append(t.start[b], m)
				}
			}
		}
	}
	return t
}

// prefixes that a message may or may not carry, longest first where one begins another.
var prefixes = [...]string{"clocksource: ", "tsc: ", "sched_clock: ", "[Firmware Bug]: ", "x86/hpet: ", "hpet: ", "Hyper-V: ", "timekeeping: ", "kvm-clock: ", "kernel: ", "time: "}

// stripPrefix removes one known prefix and the blanks around it. It reports
// whether there was one.
func stripPrefix(s string) (string, bool) {
	s = strings.TrimLeft(s, " \t")
	for _, p := range prefixes {
		if len(s) >= len(p)-1 && s[0] == p[0] && strings.HasPrefix(s, p[:len(p)-1]) {
			return strings.TrimLeft(s[len(p)-1:], " \t"), true
		}
	}
	return s, false
}

// found is the best row for a text.
type found struct {
	row  *message
	text string // the text that the captures index into
	m    match
	// begins says that the text broke off inside some message, at least a word of
	// which was there: what follows on the next line may complete it.
	begins bool
}

// find looks the text up, as the kernel's own words.
func (t *table) find(text string) found {
	var best found
	s := strings.TrimLeft(text, " \t")
	if s == "" {
		return best
	}
	t.try(&best, s, minBegun)
	// Prefixes go one by one: in "clocksource: tsc: mask: ..." only the first is one.
	for base, more := stripPrefix(s); more; base, more = stripPrefix(base) {
		if base == "" {
			best.begins = true
			break
		}
		if best.m.outcome != full {
			t.try(&best, base, 1) // the prefix was there
		}
	}
	if best.m.outcome >= cut {
		return best
	}
	if f, ok := findAnywhere(t.anywhere, s); ok || f.begins {
		f.begins = f.begins || best.begins
		return f
	}
	return best
}

// findDaemon looks up the line of a time daemon.
func (t *table) findDaemon(text string) found {
	f, _ := findAnywhere(t.daemon, text)
	return f
}

func findAnywhere(rows []*message, s string) (found, bool) {
	begins := false
	for _, row := range rows {
		first := row.compiled.tokens[0].literal
		i := strings.Index(s, first)
		if first == "" || i < 0 {
			continue
		}
		var m match
		row.compiled.match(s[i:], &m)
		if m.outcome >= cut {
			return found{row: row, text: s[i:], m: m}, true
		}
		begins = begins || m.outcome == ended
	}
	return found{begins: begins}, false
}

// minBegun is how much of a message must be there before the next line is asked for the rest.
const minBegun = 6

func (t *table) try(best *found, s string, begun int) {
	for _, row := range t.start[s[0]] {
		var m match
		row.compiled.match(s, &m)
		if m.outcome == ended && m.end >= begun {
			best.begins = true
		}
		if m.outcome >= cut && m.outcome > best.m.outcome {
			best.row, best.text, best.m = row, s, m
			if m.outcome == full {
				return
			}
		}
	}
	if best.m.outcome == cut && best.m.end == len(s) {
		best.begins = true
	}
}

// endsInNumber reports that the text ends with the last captured field.
func (f *found) endsInNumber() bool {
	return f.m.count > 0 && f.m.captures[f.m.count-1].end == len(f.text)
}

// fill writes what the row says into the event.
func (f *found) fill(e *event.Event) {
	e.Kind = f.row.kind
	numbersFit := f.m.apply(f.text, e)
	e.Cut = f.m.outcome == cut || !numbersFit
	if f.row.detail != "" && e.Detail == "" {
		e.Detail = f.row.detail
	}
	if e.Cut && f.endsInNumber() {
		// "(delta = -8589964" and "skewed 4369": digits may be missing.
		switch e.Kind {
		case event.DeltaVerdict, event.SkewAmount:
			e.SkewNS = event.Opt[int64]{}
		case event.DelayVerdict:
			e.DelayNS = event.Opt[int64]{}
		}
	}
	switch e.Kind {
	case event.CurrentClock:
		switch f.row.detail {
		case "same":
			e.Current, e.Detail = e.Clocksource, ""
		case "none":
			e.Detail = noCurrentClock
		}
	case event.TSCUnstable:
		e.Clocksource = "tsc"
		e.Detail = strings.TrimRight(strings.TrimLeft(e.Detail, ": "), ". ")
		if whole := completed(e.Detail); whole != "" {
			e.Detail, e.Cut = whole, true
		}
	}
}
