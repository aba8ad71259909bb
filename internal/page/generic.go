package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/cswatch/cswatch/internal/report"
)

// others are documents of kinds that have no file of their own: tables of their keys.
type others struct {
	all []other
}

type other struct {
	id string
	document
}

// Bounds of a document that is shown by its keys.
const (
	mostOthers = 200
	mostKeys   = 400
	mostDepth  = 8
)

func (k *others) amount() (n int, one, many string) {
	return len(k.all), "other document", "other documents"
}

func (k *others) take(d *document) (bool, error) {
	if len(k.all) < mostOthers {
		k.all = append(k.all, other{fmt.Sprintf("other-%d", len(k.all)+1), *d})
	}
	return true, nil
}

func (o *other) name() string { return name(path.Base(o.Source)) + ", " + name(o.short()) }

func (k *others) verdicts() []Verdict {
	var all []Verdict
	for i := range k.all {
		o := &k.all[i]
		v := Verdict{Status: Info, What: o.name(), Link: o.id, Text: "shown by its keys"}
		var said struct {
			Summary string `json:"summary"`
			Status  string `json:"status"`
		}
		if json.Unmarshal(o.Raw, &said) == nil {
			if said.Summary != "" {
				v.Text = text(said.Summary)
			}
			if said.Status != "" {
				v.Status = statusOf(said.Status)
			}
		}
		all = append(all, v)
	}
	return all
}

func (k *others) section() *Section {
	if len(k.all) == 0 {
		return nil
	}
	s := &Section{ID: "others", Title: "Other documents"}
	for i := range k.all {
		o := &k.all[i]
		t := &Table{Caption: "Keys of " + o.Schema, Columns: []Column{{Name: "Key"}, {Name: "Value"}}}
		w := keys{dec: json.NewDecoder(bytes.NewReader(o.Raw)), table: t}
		w.dec.UseNumber()
		if err := w.value("", 0); err != nil && err != io.EOF {
			t.Note = joined("; ", t.Note, "not read to its end")
		}
		if w.left > 0 {
			t.Note = joined("; ", t.Note, fmt.Sprintf("%d more values are left out", w.left))
		}
		s.Blocks = append(s.Blocks, Block{Heading: o.name(), ID: o.id, Table: t})
	}
	return s
}

// keys walks through a document in its own order and makes a row of each value.
type keys struct {
	dec   *json.Decoder
	table *Table
	left  int
}

// value reads one value; where is its path.
func (w *keys) value(where string, depth int) error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		w.row(where, token)
		return nil
	}
	if depth == mostDepth {
		w.left++
		return w.skip()
	}
	n := 0
	var words []string // of a list of plain values, which is one row
	for w.dec.More() {
		inner := where
		if delim == '{' {
			key, err := w.dec.Token()
			if err != nil {
				return err
			}
			inner = joined(".", where, name(fmt.Sprint(key)))
		} else {
			n++
			inner = fmt.Sprintf("%s[%d]", where, n-1)
		}
		if delim == '[' && len(w.table.Rows) >= mostKeys {
			w.left++
			var passed json.RawMessage
			if err := w.dec.Decode(&passed); err != nil {
				return err
			}
			continue
		}
		before := len(w.table.Rows)
		if err := w.value(inner, depth+1); err != nil {
			return err
		}
		// The first values of a list of plain ones are joined: a row each would say less.
		if rows := w.table.Rows; delim == '[' && len(rows) == before+1 && rows[before][0].Text == text(inner) && len(words) == n-1 {
			words = append(words, rows[before][1].Text)
		}
	}
	if delim == '[' && len(words) == n && n > 1 && n <= 64 {
		rows := w.table.Rows
		w.table.Rows = append(rows[:len(rows)-n], []Cell{plain(where), plain(strings.Join(words, ", "))})
	}
	if n == 0 && delim == '[' {
		w.row(where, "none")
	}
	_, err = w.dec.Token()
	return err
}

// skip reads to the end of what was just opened.
func (w *keys) skip() error {
	for depth := 1; depth > 0; {
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		if d, ok := token.(json.Delim); ok {
			if d == '{' || d == '[' {
				depth++
			} else {
				depth--
			}
		}
	}
	return nil
}

func (w *keys) row(where string, token json.Token) {
	if len(w.table.Rows) >= mostKeys {
		w.left++
		return
	}
	cell := Cell{}
	switch v := token.(type) {
	case nil:
	case json.Number:
		cell = Cell{Text: text(v.String()), Value: text(v.String())}
		if f, err := v.Float64(); err == nil && strings.HasSuffix(where, "_ns") {
			cell.Text = fmt.Sprintf("%s (%s)", cell.Text, took(f))
		} else if err == nil && strings.HasSuffix(where, "_ratio") {
			cell.Text = fmt.Sprintf("%s (%s)", cell.Text, report.Percent(f))
		}
	case bool:
		cell = plain(yesNo(v))
	default:
		cell = plain(fmt.Sprint(v))
	}
	w.table.Rows = append(w.table.Rows, []Cell{plain(where), cell})
}
