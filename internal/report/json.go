package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cswatch/cswatch/internal/doctor"
)

// ListSchema is the schema id of a document with several diagnoses.
const ListSchema = "cswatch.doctor-list/v1"

// MonitorSchema is the schema id of the status of a monitor, which has a diagnosis' keys and its own.
const MonitorSchema = "cswatch.monitor/v1"

// JSON writes a diagnosis as one indented document. Lists are [] where they are
// empty, never null. The same diagnosis gives the same bytes.
func JSON(w io.Writer, d *doctor.Diagnosis) error {
	return writeJSON(w, complete(d), "the diagnosis")
}

// JSONList writes the diagnoses of several machines as one document, in the
// order given.
func JSONList(w io.Writer, all []*doctor.Diagnosis) error {
	list := struct {
		Schema   string             `json:"schema"`
		Machines []doctor.Diagnosis `json:"machines"`
	}{ListSchema, []doctor.Diagnosis{}}
	for _, d := range all {
		list.Machines = append(list.Machines, complete(d))
	}
	return writeJSON(w, list, "the diagnoses")
}

// complete returns a copy in which no list of the contract is null.
func complete(d *doctor.Diagnosis) doctor.Diagnosis {
	c := *d
	if c.Schema == "" {
		c.Schema = doctor.Schema
	}
	c.Findings = make([]doctor.Finding, len(d.Findings))
	for i, f := range d.Findings {
		f.Evidence = list(f.Evidence)
		c.Findings[i] = f
	}
	c.Advice, c.Missing, c.Decisions = list(c.Advice), list(c.Missing), list(c.Decisions)
	c.Kernel.EraCandidates = list(c.Kernel.EraCandidates)
	c.Inputs.Logs, c.Inputs.Ignore = list(c.Inputs.Logs), list(c.Inputs.Ignore)
	return c
}

// list is s, but empty instead of nil.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func writeJSON(w io.Writer, document any, what string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // nothing of ours is pasted into HTML unescaped, and people read this
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("encode %s as JSON: %w", what, err)
	}
	if _, err := w.Write(escapeHidden(b.Bytes())); err != nil {
		return fmt.Errorf("write %s as JSON: %w", what, err)
	}
	return nil
}

// escapeHidden writes what is invisible or turns text around as \uNNNN, so that
// the document is safe to show in a terminal. Such characters stand only inside
// strings, where JSON gives both forms the same meaning.
func escapeHidden(b []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r != '\n' && r != utf8.RuneError && !unicode.IsPrint(r) {
			out = append(out, b[done:i]...)
			if r > 0xffff {
				high, low := utf16.EncodeRune(r)
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return b
	}
	return append(out, b[done:]...)
}
