package klog

import (
	"bytes"
	"io"
)

// Bounds on the records that are kept back while a large field is read.
const (
	maxBack  = 4096
	backText = 1 << 20
)

// fieldReader reads the data of a binary field from a source, up to its length.
// If the field does not close there, its length was wrong: then it reads on to
// the end of the entry that it divides, or of a line if there are no entries.
type fieldReader struct {
	src   *lineSource
	left  int64
	wrong bool
	done  bool
	more  int // read beyond the length
}

func (f *fieldReader) Read(p []byte) (int, error) {
	if f.left <= 0 && !f.done && !f.wrong {
		if f.wrong = !closesField(f.src.peek(headSize)); !f.wrong {
			f.src.skip(1)
			f.done = true
		}
	}
	if len(f.src.peek(1)) == 0 && !f.done {
		f.wrong, f.done = f.wrong || f.left > 0, true // the input ends first
	}
	if f.done {
		return 0, io.EOF
	}
	b := f.src.buf[f.src.start:min(f.src.end, f.src.start+len(p))]
	if !f.wrong {
		b = b[:min(int64(len(b)), f.left)]
	} else if n := bytes.IndexByte(b, '\n') + 1; n > 0 {
		b = b[:n]
		f.done = n == 1 || f.more > maxField
	}
	n := copy(p, b)
	f.src.skip(int64(n))
	f.left -= int64(n)
	if f.wrong {
		f.more += n
	}
	return n, nil
}

// largeField reads a field that is too large to be examined before it is
// consumed. Records within it are kept back: they are given back if the field
// turns out to have had a wrong length, and forgotten if it is one.
func (r *RecordReader) largeField(name string, size int64) bool {
	if r.nested {
		return false
	}
	e := &r.entry
	r.src.skip(8)
	first := r.src.line
	data := r.src.peek(int(min(size, maxField)))
	e.note(name, string(data))
	e.d.cut = true
	field := &fieldReader{src: r.src, left: size}
	sub := NewRecordReader(field)
	sub.filter, sub.follow, sub.nested = r.filter, r.follow, true
	sub.bootID, sub.seen = r.bootID, true
	var back []Record
	text := 0
	for sub.Next() {
		if rec := sub.Record(); len(back) < maxBack && text < backText {
			text += len(rec.Text)
			back = append(back, *rec)
		}
	}
	if !field.wrong {
		return true
	}
	r.finishEntry()
	r.stats.Cut++
	for _, rec := range back {
		rec.Line += first
		r.stats.Records++
		r.stats.Formats[rec.Format]++
		if rec.Origin == OriginForeign {
			r.stats.Foreign++
		}
		r.queue = append(r.queue, rec)
	}
	r.bootID = sub.bootID
	return true
}
