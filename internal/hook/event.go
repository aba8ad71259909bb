package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cswatch/cswatch/event"
)

// Schema is the schema id of the document of an event.
const Schema = "cswatch.event/v1"

// Kind says what an event tells of. The set is closed.
type Kind string

// The kinds of events.
const (
	Switched      Kind = "switched"       // the kernel took another clocksource
	Condemned     Kind = "condemned"      // the kernel gave up a clock
	Backwards     Kind = "backwards"      // time ran backwards from one CPU to another
	LiveCondemned Kind = "live-condemned" // the watchdog of this program would have given up a clock
	StatusChanged Kind = "status"         // the doctor's status is another
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Switched, Condemned, Backwards, LiveCondemned, StatusChanged} }

// Event is what somebody is told. The zero value of a field other than BootID, Number, Kind, Host, At and Summary
// stands for what is not known or does not apply. Texts may come from a kernel log and are not trusted.
type Event struct {
	// BootID is the kernel's random id of the boot, Number counts events in it from 1. Numbers ascend, not all of
	// them are told.
	BootID string    `json:"boot_id"`
	Number uint64    `json:"number"`
	Kind   Kind      `json:"kind"`
	Host   string    `json:"host"`
	At     time.Time `json:"at"` // by the wall clock
	// Doubt says why At may be wrong, "" where there is no reason.
	Doubt string `json:"doubt,omitempty"`
	// Lookback says that it was before the program looked, as of lines that the boot had logged already.
	Lookback     bool             `json:"lookback"`
	PrintkNS     event.Opt[int64] `json:"printk_ns,omitzero"` // the kernel's own stamp
	Clocksource  string           `json:"clocksource,omitempty"`
	From         string           `json:"from,omitempty"`
	To           string           `json:"to,omitempty"`
	Reference    string           `json:"reference,omitempty"`
	Cause        string           `json:"cause,omitempty"` // an event.IncidentKind
	StatusBefore string           `json:"status_before,omitempty"`
	StatusAfter  string           `json:"status_after,omitempty"`
	Summary      string           `json:"summary"`        // one line
	Line         string           `json:"line,omitempty"` // of the kernel
}

// Bounds of texts, in bytes. Whatever is longer is cut.
const (
	maxText = event.MaxText
	maxName = 64
	maxHost = 253 // a full DNS name
)

// ID names the event: its boot and its number. The same event has the same id whenever it is told.
func (e Event) ID() string {
	return printable(cut(e.BootID, maxName)) + ":" + strconv.FormatUint(e.Number, 10)
}

// Text is the event in one line for people, with the host. It holds nothing that chat servers take for a mention or a link.
func (e Event) Text() string {
	line := printable(cut(e.Host, maxHost) + ": " + cut(e.Summary, maxText))
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>@", r) {
			return '?'
		}
		return r
	}, line)
}

// Document returns the event as one line of JSON with the schema [Schema], its id and its text.
func (e Event) Document() ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(struct {
		Schema string `json:"schema"`
		ID     string `json:"id"`
		Text   string `json:"text"`
		Event
	}{Schema, e.ID(), e.Text(), e.bounded()})
	if err != nil {
		return nil, fmt.Errorf("write the document of event %s: %w", e.ID(), err)
	}
	return b.Bytes(), nil
}

// Environment returns the event as variables, each key of the document as CSWATCH_EVENT_KEY=value. All are
// always there: a key that the document lacks is empty. Values are one line of printable characters; others become "?".
func (e Event) Environment() []string {
	b := e.bounded()
	stamp := ""
	if ns, ok := b.PrintkNS.Get(); ok {
		stamp = strconv.FormatInt(ns, 10)
	}
	values := [...]struct{ key, value string }{
		{"SCHEMA", Schema},
		{"ID", e.ID()},
		{"TEXT", e.Text()},
		{"BOOT_ID", b.BootID},
		{"NUMBER", strconv.FormatUint(b.Number, 10)},
		{"KIND", string(b.Kind)},
		{"HOST", b.Host},
		{"AT", b.At.Format(time.RFC3339Nano)},
		{"DOUBT", b.Doubt},
		{"LOOKBACK", strconv.FormatBool(b.Lookback)},
		{"PRINTK_NS", stamp},
		{"CLOCKSOURCE", b.Clocksource},
		{"FROM", b.From},
		{"TO", b.To},
		{"REFERENCE", b.Reference},
		{"CAUSE", b.Cause},
		{"STATUS_BEFORE", b.StatusBefore},
		{"STATUS_AFTER", b.StatusAfter},
		{"SUMMARY", b.Summary},
		{"LINE", b.Line},
	}
	list := make([]string, 0, len(values))
	for _, v := range values {
		list = append(list, "CSWATCH_EVENT_"+v.key+"="+printable(v.value))
	}
	return list
}

// bounded returns the event with texts of valid UTF-8 and bounded length, and with a time in UTC that RFC 3339 can write.
func (e Event) bounded() Event {
	e.Kind = Kind(cut(string(e.Kind), maxName))
	for _, name := range []*string{&e.BootID, &e.Clocksource, &e.From, &e.To, &e.Reference, &e.Cause, &e.StatusBefore, &e.StatusAfter} {
		*name = cut(*name, maxName)
	}
	for _, text := range []*string{&e.Doubt, &e.Summary, &e.Line} {
		*text = cut(*text, maxText)
	}
	e.Host = cut(e.Host, maxHost)
	e.At = e.At.UTC().Truncate(time.Millisecond)
	if y := e.At.Year(); y < 0 || y > 9999 {
		e.At, e.Doubt = time.Time{}, "the clock of the machine shows a time that cannot be written"
	}
	return e
}

// cut returns valid UTF-8 of at most n bytes that does not hold a longer text in memory.
func cut(s string, n int) string {
	long := len(s) > n
	if long {
		s = s[:n]
		for i := 1; i < utf8.UTFMax && i <= len(s); i++ { // a character that the cut went through is left out
			if r := s[len(s)-i:]; utf8.RuneStart(r[0]) {
				if !utf8.FullRuneInString(r) {
					s = s[:len(s)-i]
				}
				break
			}
		}
		s = strings.Clone(s)
	}
	return strings.ToValidUTF8(s, "?")
}

// printable puts "?" in the place of each character that is not printed, such as a line's end, a
// terminal's control sequence, or what turns the direction of writing.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
