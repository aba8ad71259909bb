package hw

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/google/go-cmp/cmp"
)

func someTick() *Tick {
	return &Tick{Number: 7, At: 123456789, Groups: []Group{
		{CPU: 959, Samples: []Sample{
			{ReadBack: ReadBack{Before: 0xffffff, Clock: ^clocksource.Cycles(0), After: 1, Again: 2}},
			{ReadBack: ReadBack{Before: 3}, Late: true, Cause: Preempted},
			{ReadBack: ReadBack{Clock: 3}, Late: true, Cause: Interrupted},
			{ReadBack: ReadBack{Again: 3}, Late: true, Cause: Unexplained},
		}},
		{CPU: 0, Skipped: "bind the thread to CPU 0: it is offline"},
	}}
}

func TestTicksTravelUnchanged(t *testing.T) {
	for _, want := range []*Tick{someTick(), {}, {Groups: []Group{{CPU: 3, Samples: make([]Sample, MaxReadBacks)}}}} {
		got, err := decodeTick(appendTick(nil, want))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
}

func TestTheGreatestTickFitsAFrame(t *testing.T) {
	full := Group{CPU: maxCPUs, Samples: make([]Sample, MaxReadBacks), Skipped: strings.Repeat("x", 2*maxText)}
	if n := len(appendTick(nil, &Tick{Groups: []Group{full, full}})); n > maxFrame {
		t.Errorf("%d bytes, a frame holds %d", n, maxFrame)
	}
}

func TestEveryCutOfATickIsAnError(t *testing.T) {
	whole := appendTick(nil, someTick())
	for n := range whole {
		if got, err := decodeTick(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes decode to %+v", n, len(whole), got)
		}
	}
	if _, err := decodeTick(append(whole, 0)); err == nil {
		t.Error("a byte too many decodes")
	}
}

func TestCountersTravelUnchanged(t *testing.T) {
	want := Counter{Name: ACPIPM, Hz: PMTimerHz, Mask: clocksource.Mask24, From: "I/O port 0x608"}
	got, err := decodeCounter(appendCounter(nil, want))
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestErrorsTravelWithTheirParts(t *testing.T) {
	want := &NotHere{What: ACPIPM, Reason: "ioperm: operation not permitted", Remedy: "run as root", Unsure: true}
	var got *NotHere
	if err := decodeError(appendError(nil, want)); !errors.As(err, &got) || *got != *want {
		t.Errorf("got %#v, want %#v", err, want)
	}
	if err := decodeError(appendError(nil, io.ErrClosedPipe)); err.Error() != io.ErrClosedPipe.Error() || errors.As(err, &got) {
		t.Errorf("got %#v, want the text of another error", err)
	}
	if err := decodeError([]byte{1}); err == nil || !strings.Contains(err.Error(), "too early") {
		t.Errorf("half an error gives %v", err)
	}
}

func TestFramesEndWithTheWriter(t *testing.T) {
	var b bytes.Buffer
	if err := putFrame(&b, frameTick, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	kind, payload, err := getFrame(bytes.NewReader(whole))
	if kind != frameTick || string(payload) != "abc" || err != nil {
		t.Errorf("got %q, %q, %v", kind, payload, err)
	}
	for _, tt := range []struct {
		name string
		data []byte
		want error // nil: any
	}{
		{"between frames it is the end", nil, io.EOF},
		{"in a header it is a cut", whole[:3], io.ErrUnexpectedEOF},
		{"in a payload it is a cut", whole[:7], io.ErrUnexpectedEOF},
		{"a length beyond the limit allocates nothing", []byte{'T', 0xff, 0xff, 0xff, 0xff}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := getFrame(bytes.NewReader(tt.data)); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func FuzzDecodeTick(f *testing.F) {
	f.Add(appendTick(nil, someTick()))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		tick, err := decodeTick(b)
		if (err == nil) != (tick != nil) {
			t.Fatalf("tick %v with error %v", tick, err)
		}
		if err != nil {
			return
		}
		// What is accepted encodes to the same bytes.
		if again := appendTick(nil, tick); !bytes.Equal(again, b) {
			t.Errorf("%x decodes and encodes to %x", b, again)
		}
	})
}
