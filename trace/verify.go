package trace

import (
	"errors"
	"fmt"
	"io"

	"github.com/cswatch/cswatch/clocksource"
)

// Report is what a recording holds, as far as it can be read.
type Report struct {
	Header    Header            `json:"header"`
	Form      Form              `json:"form"`
	Ticks     uint64            `json:"ticks"`
	Bytes     int64             `json:"bytes"` // of the parts that can be used
	First     clocksource.Nanos `json:"first_ns"`
	Last      clocksource.Nanos `json:"last_ns"`
	ReadBacks uint64            `json:"read_backs"`
	Exchanges uint64            `json:"exchanges"`
	Late      [4]uint64         `json:"late"` // read-backs by Cause; the first is of those that were not late
	Gaps      uint64            `json:"gaps"` // ticks whose number does not follow that of the tick before
	Ended     bool              `json:"ended"`
	Lost      int64             `json:"lost_bytes"` // behind the last good tick
	// Damage is why the recording ends early, "" if it does not.
	Damage string `json:"damage,omitempty"`
}

// Verify reads a whole recording. Its error is that of [Reader.Read], or nil at
// the end; the report holds what was read before.
func Verify(r io.Reader) (Report, error) {
	return each(r, nil)
}

// Convert writes a recording in another form, or the same one anew. Of a damaged
// recording it writes the good ticks and returns the [DamageError] with the
// report; the copy then has no mark of a complete recording either.
func Convert(w io.Writer, f Form, r io.Reader) (Report, error) {
	var out *Writer
	report, err := each(r, func(h *Header, t *Tick) error {
		if t != nil {
			return out.Write(t)
		}
		var err error
		out, err = NewWriter(w, f, *h)
		return err
	})
	if err == nil && report.Ended {
		err = out.Close()
	}
	return report, err
}

// each reads a recording and calls do with the header and a nil tick, then with each tick.
func each(r io.Reader, do func(*Header, *Tick) error) (Report, error) {
	in, err := NewReader(r)
	if err != nil {
		return damage(Report{}, err), err
	}
	report := Report{Header: in.Header(), Form: in.Form()}
	if do != nil {
		if err := do(&report.Header, nil); err != nil {
			return report, fmt.Errorf("copy a recording: %w", err)
		}
	}
	var t Tick
	var before uint64
	for {
		err := in.Read(&t)
		report.Ticks, report.Bytes, report.Ended = in.Ticks(), in.Offset(), in.Ended()
		if err == io.EOF {
			return report, nil
		}
		if err != nil {
			return damage(report, err), err
		}
		report.count(&t, before)
		before = t.Seq
		if do != nil {
			if err := do(&report.Header, &t); err != nil {
				return report, fmt.Errorf("copy a recording: %w", err)
			}
		}
	}
}

func (r *Report) count(t *Tick, before uint64) {
	if r.Ticks == 1 {
		r.First = t.Scheduled
	} else if t.Seq != before+1 {
		r.Gaps++
	}
	r.Last = t.Scheduled
	r.Exchanges += uint64(len(t.Exchanges))
	for _, group := range [...][][]ReadBack{t.Reads, t.Boot} {
		for _, series := range group {
			r.ReadBacks += uint64(len(series))
			for _, rb := range series {
				r.Late[rb.Late]++
			}
		}
	}
}

func damage(r Report, err error) Report {
	var d *DamageError
	if errors.As(err, &d) {
		r.Lost, r.Damage = d.Lost, d.Error()
	}
	return r
}
