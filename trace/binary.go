package trace

import (
	"encoding/binary"
	"slices"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Flags of a tick's body.
const (
	flagNextSeq    = 1 << iota // the sequence number is one more than that before
	flagResets                 // Resets follows
	flagNewOnline              // Online follows
	flagSameOnline             // Online is that of the tick before, and not empty
	flagBoot                   // there are read-backs of the boot CPU
	flagExchanges              // there are exchanges
	flagsKnown     = 1<<iota - 1
)

// A series' count has this bit if its causes follow.
const countCauses = 0x40

// The first byte of an exchange: the number of stamps in the low four bits, two
// flags, and the index of the clock in the high two.
const (
	exchangeCount    = 0x0f
	exchangeTimedOut = 0x10
	exchangeBusy     = 0x20
	exchangeClock    = 6 // shift
)

// The index has to fit its bits.
const _ = uint(4 - watchdog.MaxWatched)

// trend expects the next value to be as far from the last as that was from the one before.
type trend struct{ value, step uint64 }

func (t *trend) diff(v uint64) int64 {
	step := v - t.value
	d := int64(step - t.step)
	t.value, t.step = v, step
	return d
}

func (t *trend) undo(d int64) uint64 {
	t.step += uint64(d)
	t.value += t.step
	return t.value
}

// codec is what encoder and decoder know of the ticks before.
type codec struct {
	seq       uint64
	scheduled trend
	cpu       int
	online    CPUSet
	reference counter
	clocks    []counter
	limit     clocksource.Nanos // of the last exchange
}

func newCodec(h *Header) codec {
	return codec{clocks: make([]counter, len(h.Watched))}
}

// counter expects the values of one clock: the first one of a tick by its
// trend from tick to tick, the others near the one before.
type counter struct {
	first trend
	last  uint64
	seen  bool // in this tick
}

func (c *counter) diff(v uint64) int64 {
	d := int64(v - c.last)
	if !c.seen {
		c.seen = true
		d = c.first.diff(v)
	}
	c.last = v
	return d
}

func (c *counter) undo(d int64) uint64 {
	v := c.last + uint64(d)
	if !c.seen {
		c.seen = true
		v = c.first.undo(d)
	}
	c.last = v
	return v
}

// begin starts a tick.
func (c *codec) begin() {
	c.reference.seen = false
	for i := range c.clocks {
		c.clocks[i].seen = false
	}
}

// appendTick appends the body of a tick that is valid.
func (c *codec) appendTick(b []byte, t *Tick) []byte {
	c.begin()
	b = append(b, frameTick)
	flags := len(b)
	b = append(b, 0)
	if t.Seq == c.seq+1 {
		b[flags] |= flagNextSeq
	} else {
		b = binary.AppendVarint(b, int64(t.Seq-c.seq))
	}
	c.seq = t.Seq
	b = binary.AppendVarint(b, c.scheduled.diff(uint64(t.Scheduled)))
	b = binary.AppendVarint(b, int64(t.At-t.Scheduled))
	b = binary.AppendVarint(b, int64(t.CPU-c.cpu))
	c.cpu = t.CPU
	if t.Resets != 0 {
		b[flags] |= flagResets
		b = binary.AppendUvarint(b, uint64(t.Resets))
	}
	if len(t.Online) > 0 {
		if slices.Equal(t.Online, c.online) {
			b[flags] |= flagSameOnline
		} else {
			b[flags] |= flagNewOnline
			b = appendSet(b, t.Online)
			c.online = slices.Clone(t.Online)
		}
	}
	b = c.appendGroup(b, t.Reads)
	if len(t.Boot) > 0 {
		b[flags] |= flagBoot
		b = c.appendGroup(b, t.Boot)
	}
	if len(t.Exchanges) > 0 {
		b[flags] |= flagExchanges
		b = append(b, byte(len(t.Exchanges)))
		for i := range t.Exchanges {
			b = c.appendExchange(b, &t.Exchanges[i])
		}
	}
	return b
}

func appendSet(b []byte, s CPUSet) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	at := 0
	for _, r := range s {
		b = binary.AppendUvarint(b, uint64(r.First-at))
		b = binary.AppendUvarint(b, uint64(r.Last-r.First))
		at = r.Last
	}
	return b
}

func (c *codec) appendGroup(b []byte, group [][]ReadBack) []byte {
	for i, series := range group {
		count := byte(len(series))
		for _, rb := range series {
			if rb.Late != NotLate {
				count |= countCauses
			}
		}
		b = append(b, count)
		for _, rb := range series {
			b = binary.AppendVarint(b, c.reference.diff(uint64(rb.Before)))
			b = binary.AppendVarint(b, c.clocks[i].diff(uint64(rb.Clock)))
			b = binary.AppendVarint(b, c.reference.diff(uint64(rb.After)))
			b = binary.AppendVarint(b, c.reference.diff(uint64(rb.Again)))
		}
		if count&countCauses != 0 {
			for _, rb := range series {
				b = append(b, byte(rb.Late))
			}
		}
	}
	return b
}

func (c *codec) appendExchange(b []byte, x *Exchange) []byte {
	first := byte(x.Clock<<exchangeClock | x.Count)
	if x.TimedOut {
		first |= exchangeTimedOut
	}
	if x.Busy {
		first |= exchangeBusy
	}
	b = append(b, first)
	b = binary.AppendUvarint(b, uint64(x.CPU))
	b = binary.AppendUvarint(b, uint64(x.Peer))
	b = binary.AppendUvarint(b, uint64(x.Waited))
	b = binary.AppendVarint(b, int64(x.Limit-c.limit))
	c.limit = x.Limit
	for _, s := range x.Stamps[:x.Count] {
		b = binary.AppendVarint(b, c.clocks[x.Clock].diff(uint64(s)))
	}
	return b
}

// tick decodes a body behind its kind into t, whose slices are used again. The
// result still has to be validated.
func (c *codec) tick(body []byte, h *Header, t *Tick) error {
	c.begin()
	in := cursor{rest: body}
	reads, boot := t.Reads, t.Boot
	exchanges := t.Exchanges[:0]
	*t = Tick{}
	flags := in.byte()
	if flags > flagsKnown || flags&flagNewOnline != 0 && flags&flagSameOnline != 0 {
		return errValue
	}
	t.Seq = c.seq + 1
	if flags&flagNextSeq == 0 {
		t.Seq = c.seq + uint64(in.varint())
	}
	c.seq = t.Seq
	t.Scheduled = clocksource.Nanos(c.scheduled.undo(in.varint()))
	t.At = t.Scheduled + clocksource.Nanos(in.varint())
	t.CPU = c.cpu + int(in.varint())
	c.cpu = t.CPU
	if flags&flagResets != 0 {
		t.Resets = in.upTo(maxResets)
	}
	if flags&flagNewOnline != 0 {
		c.online = in.set()
	}
	if flags&(flagNewOnline|flagSameOnline) != 0 {
		t.Online = slices.Clone(c.online)
	}
	t.Reads = c.group(&in, h, reads)
	if flags&flagBoot != 0 {
		t.Boot = c.group(&in, h, boot)
	}
	if flags&flagExchanges != 0 {
		n := int(in.byte())
		if n == 0 || n > len(h.Watched) {
			in.fail(errValue)
		}
		for range n {
			if in.err != nil {
				break
			}
			exchanges = append(exchanges, c.exchange(&in, h))
		}
		t.Exchanges = exchanges
	}
	if in.err == nil && len(in.rest) > 0 {
		in.err = errRest
	}
	return in.err
}

// group decodes the series of all clocks, into the memory of an earlier group.
func (c *codec) group(in *cursor, h *Header, group [][]ReadBack) [][]ReadBack {
	group = slices.Grow(group[:0], len(h.Watched))[:len(h.Watched)]
	for i := range group {
		count := in.byte()
		n := int(count &^ countCauses)
		if n > h.ReadBacks {
			in.fail(errValue)
			n = 0
		}
		series := slices.Grow(group[i][:0], n)[:n]
		if series == nil {
			series = []ReadBack{}
		}
		for k := range series {
			rb := &series[k]
			rb.Before = clocksource.Cycles(c.reference.undo(in.varint()))
			rb.Clock = clocksource.Cycles(c.clocks[i].undo(in.varint()))
			rb.After = clocksource.Cycles(c.reference.undo(in.varint()))
			rb.Again = clocksource.Cycles(c.reference.undo(in.varint()))
			rb.Late = NotLate
		}
		if count&countCauses != 0 {
			for k := range series {
				series[k].Late = Cause(in.byte())
			}
		}
		group[i] = series
	}
	return group
}

func (c *codec) exchange(in *cursor, h *Header) Exchange {
	var x Exchange
	first := in.byte()
	x.Clock, x.Count = int(first>>exchangeClock), int(first&exchangeCount)
	if x.Clock >= len(h.Watched) || x.Count > maxStamps {
		in.fail(errValue)
		return Exchange{}
	}
	x.TimedOut, x.Busy = first&exchangeTimedOut != 0, first&exchangeBusy != 0
	x.CPU, x.Peer = in.upTo(MaxCPU), in.upTo(MaxCPU)
	x.Waited = clocksource.Nanos(in.uvarint())
	x.Limit = c.limit + clocksource.Nanos(in.varint())
	c.limit = x.Limit
	for i := range x.Stamps[:x.Count] {
		x.Stamps[i] = clocksource.Cycles(c.clocks[x.Clock].undo(in.varint()))
	}
	return x
}
