package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
)

// A watch writes a line twice a second for as long as a machine runs, and a replay
// some millions of them: they are put together here without reflection, byte for
// byte as encoding/json would write the same structs.

// object appends the members of one JSON object.
type object struct {
	b    []byte
	rare bool // holds what encoding/json wrote, which may have invisible characters
	err  error
}

// key begins a member.
func (o *object) key(name string) {
	if last := o.b[len(o.b)-1]; last != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) int(name string, v int64) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) uint(name string, v uint64) {
	o.key(name)
	o.b = strconv.AppendUint(o.b, v, 10)
}

func (o *object) bool(name string, v bool) {
	o.key(name)
	o.b = strconv.AppendBool(o.b, v)
}

func (o *object) text(name, v string) {
	o.key(name)
	o.string(v)
}

// textIf leaves out a text that is empty.
func (o *object) textIf(name, v string) {
	if v != "" {
		o.text(name, v)
	}
}

// string appends a string. One with anything but plain ASCII is left to encoding/json.
func (o *object) string(v string) {
	for i := range len(v) {
		if c := v[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			o.any(v)
			return
		}
	}
	o.b = append(append(append(o.b, '"'), v...), '"')
}

// any appends what is rare.
func (o *object) any(v any) {
	o.rare = true
	text, err := marshalPlain(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.b = append(o.b, text...)
}

func (o *object) nanos(name string, v event.Opt[clocksource.Nanos]) {
	if v.Known {
		o.int(name, int64(v.Value))
	}
}

// ppm appends a number as encoding/json does: as ECMAScript prints it.
func (o *object) ppm(name string, v event.Opt[clocksource.PPM]) {
	if !v.Known {
		return
	}
	o.key(name)
	f := float64(v.Value)
	if abs := math.Abs(f); math.IsNaN(f) || math.IsInf(f, 0) || abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		o.any(f) // which fails for what is no number
		return
	}
	o.b = strconv.AppendFloat(o.b, f, 'f', -1, 64)
}

func (o *object) hex(name string, v event.Opt[event.Hex]) {
	if !v.Known {
		return
	}
	o.key(name)
	o.b = append(o.b, `"0x`...)
	o.b = append(strconv.AppendUint(o.b, uint64(v.Value), 16), '"')
}

func (o *object) cpu(name string, v event.Opt[int]) {
	if v.Known {
		o.int(name, int64(v.Value))
	}
}

// tick appends the members of a tick.
func (o *object) tick(t *Tick) {
	o.text("schema", t.Schema)
	o.text("era", string(t.Era))
	o.textIf("release", t.Release)
	o.int("retries", int64(t.Retries))
	o.uint("tick", t.Tick)
	o.uint("check", t.Check)
	o.int("time_ns", int64(t.Time))
	o.int("cpu", int64(t.CPU))
	o.text("clocksource", t.Clocksource)
	o.textIf("reference", t.Reference)
	o.text("kind", t.Kind.String())
	o.int("attempts", int64(t.Attempts))
	o.int("allowed_attempts", int64(t.Allowed))
	o.nanos("readback_delay_ns", t.Delay)
	o.nanos("read_limit_ns", t.ReadLimit)
	o.nanos("watchdog_delay_ns", t.Sequence)
	o.nanos("skip_limit_ns", t.SkipLimit)
	o.nanos("interval_ns", t.Interval)
	o.nanos("clocksource_interval_ns", t.Own)
	o.nanos("skew_ns", t.Skew)
	o.ppm("skew_ppm", t.SkewPPM)
	o.nanos("limit_ns", t.Limit)
	o.cpu("earlier_cpu", t.EarlyCPU)
	o.cpu("later_cpu", t.LateCPU)
	o.hex("earlier_cycles", t.Earlier)
	o.hex("later_cycles", t.Later)
	o.bool("exact", t.Exact)
	if t.Doubts != nil {
		o.key("doubts")
		o.b = append(o.b, '[')
		for i, d := range t.Doubts {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.string(d)
		}
		o.b = append(o.b, ']')
	}
	o.textIf("why", t.Why)
}

// live appends what a tick over live counters has more.
func (o *object) live(t *LiveTick) {
	if t.Late != nil {
		o.key("late_read_backs")
		o.b = append(o.b, '[')
		for i, l := range t.Late {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = append(o.b, '{')
			o.int("cpu", int64(l.CPU))
			o.int("readback_delay_ns", int64(l.Delay))
			o.key("cause")
			if text, err := l.Cause.MarshalText(); err == nil {
				o.string(string(text))
			} else {
				o.any(l.Cause)
			}
			o.b = append(o.b, '}')
		}
		o.b = append(o.b, ']')
	}
	if e := t.Exchange; e != nil {
		o.key("exchange")
		o.b = append(o.b, '{')
		o.int("control_cpu", int64(e.Control))
		o.int("remote_cpu", int64(e.Remote))
		o.text("result", e.Result)
		o.int("waited_ns", int64(e.Waited))
		if e.Backwards != 0 {
			o.uint("backwards_cycles", uint64(e.Backwards))
		}
		o.b = append(o.b, '}')
	}
	if t.Verification != nil {
		o.key("verification")
		o.any(t.Verification)
	}
}

// marshalPlain encodes a value without escaping what is special in HTML.
func marshalPlain(v any) ([]byte, error) {
	b := jsonBuffer{}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b[:len(b)-1], nil
}

type jsonBuffer []byte

func (b *jsonBuffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }

// object writes a line that fill puts together, in one Write.
func (w *TickWriter) object(fill func(*object)) error {
	o := &w.tick
	*o = object{b: append(o.b[:0], '{')}
	fill(o)
	o.b = append(o.b, '}', '\n')
	if o.err != nil {
		return fmt.Errorf("encode a tick as JSON: %w", o.err)
	}
	text := o.b
	if o.rare {
		text = escapeHidden(text)
	}
	if _, err := w.w.Write(text); err != nil {
		return fmt.Errorf("write a tick: %w", err)
	}
	return nil
}
