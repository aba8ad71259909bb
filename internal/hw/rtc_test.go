package hw

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// wallClock is a real-time clock whose look takes 1 ms, beside a counter of 1 GHz.
type wallClock struct {
	now    time.Duration
	frozen bool
	err    error
}

func (w *wallClock) source() rtcSource {
	return rtcSource{
		seconds: func() (int64, error) {
			w.now += time.Millisecond
			if w.frozen {
				return 1000, w.err
			}
			return 1000 + int64(w.now/time.Second), w.err
		},
		counter: func() uint64 { return uint64(w.now) },
		now:     func() time.Duration { return w.now },
		sleep:   func(_ context.Context, d time.Duration) error { w.now += d; return nil },
	}
}

func TestRealTimeClockIsCaughtAtItsEdge(t *testing.T) {
	w := &wallClock{now: 300 * time.Millisecond}
	first, err := w.source().edge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first.Seconds != 1001 || first.Earliest > 1e9 || first.Latest < 1e9 || first.Latest-first.Earliest > 5e6 {
		t.Errorf("edge %+v, want the second 1001 around 1e9 within 5 ms", first)
	}
	w.now = 100*time.Second + 500*time.Millisecond
	last, err := w.source().edge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hz, doubt, err := Rate(first, last)
	if err != nil || math.Abs(float64(hz)-1e9)/1e3 > float64(doubt) || doubt > 100 {
		t.Errorf("rate %d Hz within %.1f ppm, %v; want 1 GHz within that, and that below 100", hz, doubt, err)
	}
}

func TestRealTimeClockThatIsOfNoUse(t *testing.T) {
	gone := errors.New("gone")
	for _, tt := range []struct {
		name string
		w    wallClock
		want string
	}{
		{"it stands still", wallClock{frozen: true}, "stood still"},
		{"it cannot be read", wallClock{err: gone}, "gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if e, err := tt.w.source().edge(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("edge %+v, error %v; want one with %q", e, err, tt.want)
			}
		})
	}
	if _, _, err := Rate(Edge{Seconds: 5}, Edge{Seconds: 5}); err == nil {
		t.Error("a rate was made from one second")
	}
	if _, _, err := Rate(Edge{Seconds: 5, Latest: 100}, Edge{Seconds: 6, Earliest: clocksource.Cycles(90)}); err == nil {
		t.Error("a rate was made from a counter that went backwards")
	}
	if _, err := WatchRTC(t.Context(), "../rtc0"); err == nil {
		t.Error("a name with a path was taken for a clock")
	}
}
