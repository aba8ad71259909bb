package monitor

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/klog"
)

// The lines of a verdict come within a millisecond, but not always in one read. So long after the first of them it
// is put together: the wait is for the rest.
const settleAfter = 200 * time.Millisecond

// aliveEvery is how often a log in which nothing happens is said to be readable.
const aliveEvery = time.Minute

// followKernel follows the kernel's log, and opens it anew where that ends.
func (m *Monitor) followKernel(ctx context.Context) {
	var wait retry
	for {
		began := time.Now()
		tail, err := m.config.Sources.Tail(m.next())
		if err == nil {
			err = m.follow(ctx, tail, began, &wait)
			err = errors.Join(err, tail.Close())
		}
		if ctx.Err() != nil {
			return
		}
		m.report(tally.Kmsg, err, began)
		m.nowReady() // without the log: what it holds cannot be waited for
		if !wait.pause(ctx) {
			return
		}
	}
}

// next is the number of the first record that was not read yet.
func (m *Monitor) next() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tally.Next()
}

func (m *Monitor) nowReady() {
	m.mu.Lock()
	before := m.ready
	m.ready = true
	m.mu.Unlock()
	if !before {
		m.config.Log.Info("ready")
		say(m.judge)
		say(m.look)
	}
}

// follow reads an open log until it fails or the context ends.
func (m *Monitor) follow(ctx context.Context, tail Tail, began time.Time, wait *retry) error {
	reader := &logReader{}
	var unsettled time.Time // when the first line of a verdict was read that is not put together yet
	looked := false         // back to the beginning of the boot
	for {
		limit := time.Now().Add(aliveEvery)
		if !unsettled.IsZero() {
			limit = unsettled.Add(settleAfter)
		}
		b, err := nextBatch(ctx, tail, limit)
		if err != nil {
			return err
		}
		now := time.Now()
		if b != nil {
			wait.worked()
			m.take(reader, b)
			looked = looked || b.UpToNow
		}
		switch {
		case looked && m.Ready() != nil:
			m.report(tally.Kmsg, nil, began)
			m.settle(true)
			m.nowReady()
		case looked:
			m.report(tally.Kmsg, nil, now)
		}
		if m.settle(!unsettled.IsZero() && now.Sub(unsettled) >= settleAfter) {
			unsettled = time.Time{}
		} else if unsettled.IsZero() {
			unsettled = now
		}
	}
}

// nextBatch waits for records, but not longer than until the limit: then there is neither a batch nor an error.
func nextBatch(ctx context.Context, tail Tail, limit time.Time) (*kmsg.Batch, error) {
	short, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	b, err := tail.Next(short)
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		return nil, nil
	}
	return b, err
}

// settle puts verdicts together, if it is due, and reports whether none is waiting for it.
func (m *Monitor) settle(due bool) bool {
	stamps := m.config.Sources.Stamps()
	m.mu.Lock()
	waits := m.tally.Unsettled()
	lookback := !m.ready
	m.mu.Unlock()
	if !waits {
		return true
	}
	if !due {
		return false
	}
	m.change(func(t *tally.Tally) {
		t.Settle(func(at event.Time) tally.Moment {
			moment := stamps.At(at)
			moment.Lookback = lookback
			return moment
		})
	})
	say(m.judge)
	return true
}

// logReader reads batches of the kernel's log as one log.
type logReader struct {
	reader  *klog.Reader
	foreign int
}

const device = "/dev/kmsg"

// events hands out the events of a batch, whose lines are the kernel's numbers, and returns how many foreign lines there were.
func (r *logReader) events(b *kmsg.Batch, each func(event.Event)) (foreign int) {
	if r.reader == nil {
		r.reader = klog.NewReader(bytes.NewReader(b.Text), device)
	} else {
		r.reader.Continue(bytes.NewReader(b.Text), device)
	}
	for r.reader.Next() {
		e := r.reader.Event()
		if i := e.Source.Line - 1; i >= 0 && i < len(b.Numbers) {
			e.Source.Line = int(b.Numbers[i])
		}
		each(e)
	}
	total := r.reader.Stats().Foreign
	foreign, r.foreign = total-r.foreign, total
	return foreign
}

// take counts a batch.
func (m *Monitor) take(reader *logReader, b *kmsg.Batch) {
	if len(b.Numbers) == 0 {
		return
	}
	stamps := m.config.Sources.Stamps()
	switched, judge := false, false
	m.change(func(t *tally.Tally) {
		foreign := reader.events(b, func(e event.Event) {
			moment := stamps.At(e.Time)
			moment.Lookback = !m.ready
			t.Add(e, moment)
			switched = switched || e.Kind == event.Switched
			judge = true
		})
		now := tally.Moment{At: stamps.Now, Lookback: !m.ready}
		t.Read(b.Numbers[len(b.Numbers)-1]+1, uint64(len(b.Numbers)), uint64(foreign), b.Lost, b.Overruns, now)
	})
	if switched {
		say(m.look)
	}
	if judge {
		say(m.judge)
	}
}
