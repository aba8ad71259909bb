package kmsg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cswatch/cswatch/internal/unpack"
)

// maxBatch bounds what one Next returns: a flood comes in pieces.
const maxBatch = 256 << 10

// Tail follows the kernel's log from a record on, and waits for more. It is for one goroutine.
type Tail struct {
	device *device
	file   *os.File // the same descriptor, by which the runtime waits
	next   uint64   // the number of the record to come
	batch  Batch
	seen   int  // of the device's overruns
	begun  bool // everything that was there at the beginning was delivered
}

// Batch is some records in a row.
type Batch struct {
	// Text are the records as the device delivers them, one a line, without the lines of their dictionaries.
	Text []byte
	// Numbers are the kernel's numbers of the records, which it counts from 0 at boot, one for each line of Text.
	Numbers []uint64
	// Lost is how many records were overwritten before they could be read, and Overruns
	// how often the kernel said so.
	Lost, Overruns uint64
	// UpToNow says that these are all: behind them the kernel has logged nothing yet.
	UpToNow bool
}

// Tail opens the kernel's log to follow it from the record of that number on: 0 is
// the boot's first. What is no longer there is counted as lost, but at the number 0:
// what was overwritten before anybody looked was never to be had. The journal is no
// substitute, since it has no numbers.
func (c Config) Tail(next uint64) (*Tail, error) {
	c = c.withDefaults()
	d, err := openDevice(c.Device, c.system)
	if err != nil {
		return nil, err
	}
	t := &Tail{device: d, next: next}
	if err := d.prime(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if t.file = os.NewFile(uintptr(d.fd), c.Device); t.file == nil {
		return nil, errors.Join(fmt.Errorf("follow kernel log %s: the descriptor is not open", unpack.Shown(c.Device)), d.Close())
	}
	d.fd = -1 // the file closes it
	return t, nil
}

// Next waits for records and returns all that are there, up to some hundred kilobytes. It does not wait
// before it has said once that there are no more, if need be by a batch without records.
// The batch is good until the next call. At the context's end it returns the context's error.
func (t *Tail) Next(ctx context.Context) (*Batch, error) {
	stop := context.AfterFunc(ctx, func() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			_ = t.file.SetReadDeadline(time.Time{})
		}
	}()
	b := &t.batch
	b.Text, b.Numbers, b.Lost, b.Overruns, b.UpToNow = b.Text[:0], b.Numbers[:0], 0, 0, false
	raw, err := t.file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("follow kernel log %s: %w", unpack.Shown(t.device.name), err)
	}
	if len(t.device.rest) > 0 { // the one that Tail has read
		t.take()
	}
	err = raw.Read(func(fd uintptr) bool {
		t.device.fd = int(fd)
		defer func() { t.device.fd = -1 }()
		for len(b.Text) < maxBatch {
			t.device.err = nil
			if t.device.fill(); t.device.err != nil {
				break
			}
			t.take()
		}
		// Where nothing is there, the runtime waits and asks again.
		b.UpToNow = t.device.err == io.EOF && !t.device.ended
		return len(b.Numbers) > 0 || !b.UpToNow || !t.begun
	})
	t.begun = t.begun || b.UpToNow
	b.Overruns = uint64(t.device.overruns - t.seen)
	t.seen = t.device.overruns
	switch {
	case ctx.Err() != nil && len(b.Numbers) == 0:
		return nil, ctx.Err()
	case len(b.Numbers) > 0 || err == nil && b.UpToNow:
		return b, nil // an error comes again
	case err != nil:
		return nil, fmt.Errorf("follow kernel log %s: %w", unpack.Shown(t.device.name), err)
	case t.device.ended:
		return nil, fmt.Errorf("follow kernel log %s: %w", unpack.Shown(t.device.name), io.ErrUnexpectedEOF)
	}
	return nil, t.device.err
}

// take adds the record that was read to the batch, unless it was had before.
func (t *Tail) take() {
	record := t.device.rest
	t.device.rest = nil
	line, _, _ := bytes.Cut(record, []byte{'\n'})
	number, ok := recordNumber(line)
	if !ok || number < t.next {
		return
	}
	if t.next > 0 {
		t.batch.Lost += number - t.next
	}
	t.next = number + 1
	t.batch.Text = append(append(t.batch.Text, line...), '\n')
	t.batch.Numbers = append(t.batch.Numbers, number)
}

// Close gives the device back.
func (t *Tail) Close() error { return t.file.Close() }
