package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// The JSON Lines form: the header, a line for each tick, and a line with the
// number of ticks at the end of a complete recording. A reader of numbers must
// keep all 64 bits of them.

// maxLine bounds a line. The greatest header and the greatest tick are shorter.
const maxLine = 256 << 10

type endLine struct {
	End *endOf `json:"end"`
}

type endOf struct {
	Ticks uint64 `json:"ticks"`
}

// jsonLine is a line behind the first one: one of both.
type jsonLine struct {
	Tick
	endLine
}

var errTrailing = errors.New("text follows the value")

// unmarshal reads one JSON value and tolerates nothing that it does not know:
// what a program drops without a word is missed later.
func unmarshal(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errTrailing
	}
	return nil
}

// tidy returns the tick in the form in which the binary form holds it: series
// without read-backs are empty, other lists without members are absent.
func (t *Tick) tidy() Tick {
	out := *t
	out.Reads, out.Boot = tidyGroup(t.Reads), tidyGroup(t.Boot)
	if len(out.Exchanges) == 0 {
		out.Exchanges = nil
	}
	if len(out.Online) == 0 {
		out.Online = nil
	}
	return out
}

func tidyGroup(group [][]ReadBack) [][]ReadBack {
	if len(group) == 0 {
		return nil
	}
	out := make([][]ReadBack, len(group))
	for i, series := range group {
		if out[i] = series; series == nil {
			out[i] = []ReadBack{}
		}
	}
	return out
}
