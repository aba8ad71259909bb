package tap

import (
	"strings"
	"testing"
	"time"
)

func draws(t *testing.T, p float64, seed uint64, n int) []time.Duration {
	t.Helper()
	m, err := NewSometimes(p, 10*time.Microsecond, 20*time.Microsecond, seed)
	if err != nil {
		t.Fatal(err)
	}
	var all []time.Duration
	for range n {
		all = append(all, m.Next())
	}
	return all
}

func TestDelaysKeepToTheirBoundsAndProbability(t *testing.T) {
	held := 0
	for _, d := range draws(t, 0.25, 7, 10_000) {
		if d != 0 {
			held++
			if d < 10*time.Microsecond || d > 20*time.Microsecond {
				t.Fatalf("a delay of %v", d)
			}
		}
	}
	// With this seed the number never changes; 2500 +- 4 standard deviations of 43.
	if held < 2327 || held > 2673 {
		t.Errorf("held %d times in 10 000", held)
	}
}

func TestTheSameSeedDrawsTheSameDelays(t *testing.T) {
	one, again, other := draws(t, 0.5, 1, 100), draws(t, 0.5, 1, 100), draws(t, 0.5, 2, 100)
	same := true
	for i := range one {
		if one[i] != again[i] {
			t.Fatalf("draw %d: %v and %v", i, one[i], again[i])
		}
		same = same && one[i] == other[i]
	}
	if same {
		t.Error("another seed draws the same")
	}
}

func TestAModelWithoutSenseIsRefused(t *testing.T) {
	for _, c := range []struct {
		p         float64
		low, high time.Duration
	}{{-0.1, 0, 1}, {1.1, 0, 1}, {0.5, 2, 1}, {0.5, -1, 1}} {
		if m, err := NewSometimes(c.p, c.low, c.high, 1); m != nil || err == nil || !strings.Contains(err.Error(), "delay model") {
			t.Errorf("%+v: %v, %v", c, m, err)
		}
	}
}
