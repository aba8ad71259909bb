package klog

import "io"

// Bounds on the records that are kept back while a large field is read.
const (
	maxBack  = 4096
	backText = 1 << 20
)

// fieldReader reads the data of a binary field from a source, up to its length.
// If the field does not close there, its length was wrong: then it reads on to
// the end of the line, so that no line is divided.
type fieldReader struct {
	src   *lineSource
	left  int64
	wrong bool
	done  bool
}

func (f *fieldReader) Read(p []byte) (int, error) {
	if f.left <= 0 && !f.done && !f.wrong {
		next := f.src.peek(headSize)
		if f.wrong = !closesField(next); !f.wrong {
			f.src.skip(1)
			f.done = true
		}
	}
	b := f.src.peek(1)
	if len(b) == 0 && !f.done {
		f.wrong, f.done = f.wrong || f.left > 0, true // the input ends first
	}
	if f.done {
		return 0, io.EOF
	}
	b = f.src.buf[f.src.start:f.src.end]
	n := min(len(b), len(p))
	if !f.wrong {
		n = int(min(int64(n), f.left))
	} else {
		for i, c := range b[:n] {
			if c == '\n' {
				n, f.done = i+1, true
				break
			}
		}
	}
	copy(p, b[:n])
	f.src.skip(int64(n))
	f.left -= int64(n)
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
