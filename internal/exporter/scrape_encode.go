package exporter

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// offered are the formats of an exposition; a client that names none of them
// gets the text. The two debugging forms of the protocol buffers are left out.
func offered() []expfmt.Format {
	return []expfmt.Format{expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtProtoDelim, expfmt.FmtText}
}

// encodings are the distinct bytes behind these formats: both versions of
// OpenMetrics have the same. Each is a form, and gzipped another one.
//
// A client may also ask for one of four ways to escape names. Ours need none,
// so these only echo in the content type.
func encodings() []expfmt.Format {
	return []expfmt.Format{expfmt.FmtText, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtProtoDelim}
}

// negotiate returns what a client wants of an exposition: the content type and its form.
func negotiate(h http.Header) (expfmt.Format, form) {
	format := expfmt.NegotiateAccept(h, offered()...)
	encoding := 0
	for i, e := range encodings() {
		if e.FormatType() == format.FormatType() {
			encoding = i
		}
	}
	if acceptsGzip(h) {
		return format, packed(encoding)
	}
	return format, plain(encoding)
}

// acceptsGzip tells whether a client takes gzip, by name or by the wildcard.
func acceptsGzip(h http.Header) bool {
	others := false
	for _, line := range h.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(item, ";")
			name, wanted := strings.TrimSpace(name), quality(parameters) > 0
			switch {
			case strings.EqualFold(name, "gzip"):
				return wanted
			case name == "*":
				others = wanted
			}
		}
	}
	return others
}

// quality reads the weight among the parameters of an item: 1 without one, 0 for one that is no number.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		if name, value, ok := strings.Cut(p, "="); ok && strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}

// An exposition makes the answer to a scrape. Its method is called by one goroutine at a time.
type exposition struct {
	gatherer prometheus.Gatherer
	failures *atomic.Uint64 // scrapes that were incomplete
	log      *slog.Logger

	text bytes.Buffer
	pack packer
}

// gather collects the metrics once and encodes them in each form that is wanted.
// What one collector fails to deliver does not hide what the others have: an
// alert must not depend on all of them. It is counted and logged.
func (e *exposition) gather(wanted forms) (bodies, error) {
	families, err := e.gatherer.Gather()
	if err != nil && len(families) == 0 {
		e.failures.Add(1)
		return bodies{}, fmt.Errorf("gather the metrics: %w", err)
	}
	var made bodies
	for i, encoding := range encodings() {
		if !wanted.has(plain(i)) && !wanted.has(packed(i)) {
			continue
		}
		failed := e.encode(families, encoding)
		if err == nil {
			err = failed
		}
		if wanted.has(plain(i)) {
			made[plain(i)] = bytes.Clone(e.text.Bytes())
		}
		if wanted.has(packed(i)) {
			packedText, err := e.pack.gzip(e.text.Bytes())
			if err != nil {
				return bodies{}, fmt.Errorf("compress the metrics: %w", err)
			}
			made[packed(i)] = packedText
		}
	}
	if err != nil {
		e.failures.Add(1)
		e.log.Error("a scrape is incomplete", "err", err)
	}
	return made, nil
}

// encode writes the families that can be written; the error is the first that could not.
func (e *exposition) encode(families []*dto.MetricFamily, format expfmt.Format) error {
	e.text.Reset()
	var first error
	encoder := expfmt.NewEncoder(&e.text, format)
	for _, f := range families {
		whole := e.text.Len()
		if err := encoder.Encode(f); err != nil {
			e.text.Truncate(whole) // half a family would spoil the rest
			if first == nil {
				first = fmt.Errorf("encode %s: %w", f.GetName(), err)
			}
		}
	}
	if end, ok := encoder.(expfmt.Closer); ok {
		if err := end.Close(); err != nil && first == nil {
			first = fmt.Errorf("end the exposition: %w", err)
		}
	}
	return first
}

// A statusDocument makes the status document. Its method is called by one goroutine at a time.
type statusDocument struct {
	status func() ([]byte, error)
	pack   packer
}

func (d *statusDocument) gather(wanted forms) (bodies, error) {
	text, err := d.status()
	if err != nil {
		return bodies{}, err
	}
	var made bodies
	made[plain(0)] = text
	if wanted.has(packed(0)) {
		if made[packed(0)], err = d.pack.gzip(text); err != nil {
			return bodies{}, fmt.Errorf("compress the status document: %w", err)
		}
	}
	return made, nil
}
