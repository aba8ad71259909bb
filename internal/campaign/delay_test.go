package campaign

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestADelayIsWrittenAsItIsRead(t *testing.T) {
	us := time.Microsecond
	for _, c := range []struct {
		text string
		want Delay
		back string
	}{
		{"none", Delay{}, "none"},
		{"", Delay{}, "none"},
		{"always 400us", Delay{In: 1, Low: 400 * us, High: 400 * us, On: OnClock}, "always 400us"},
		{"always 1ms..2ms on reference", Delay{In: 1, Low: 1000 * us, High: 2000 * us, On: OnReference}, "always 1ms..2ms on reference"},
		{"iid p=0.25 120us..300us", Delay{In: 0.25, Out: 0.75, Low: 120 * us, High: 300 * us, On: OnClock}, "iid p=0.25 120us..300us"},
		{"burst in=0.003 out=0.15 120us..300us", Delay{In: 0.003, Out: 0.15, Low: 120 * us, High: 300 * us, On: OnClock}, "burst in=0.003 out=0.15 120us..300us"},
		{"  burst  in=0.5 out=0.5  0s..1us on clock ", Delay{In: 0.5, Out: 0.5, High: us, On: OnClock}, "iid p=0.5 0s..1us"},
	} {
		t.Run(c.text, func(t *testing.T) {
			d, err := ParseDelay(c.text)
			if err != nil || d != c.want || d.String() != c.back {
				t.Errorf("%+v, written %q, error %v", d, d, err)
			}
		})
	}
}

func TestADelayWithoutSenseIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"sometimes 4us", "want none, always TIME"},
		{"always", "want none, always TIME"},
		{"on clock", "want none, always TIME"},
		{"always 4us on monday", "want on clock or on reference"},
		{"iid 120us..300us", "want none, always TIME"},
		{"iid q=0.1 120us", "want p="},
		{"iid p=1.1 120us", "from 0 to 1"},
		{"iid p=NaN 120us", "from 0 to 1"},
		{"burst in=0.1 120us", "want none, always TIME"},
		{"always 300us..120us", "want a time up to"},
		{"always 0s", "want a time up to"},
		{"always -1us..4us", "want a time up to"},
		{"always 2s", "want a time up to"},
	} {
		if d, err := ParseDelay(c.text); err == nil || !d.None() || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %+v, %v", c.text, d, err)
		}
	}
}

func FuzzParseDelay(f *testing.F) {
	for _, s := range []string{"none", "always 400us", "iid p=0.25 120us..300us", "burst in=0.003 out=0.15 120us..300us on reference", "iid p=0.1 0s..1ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDelay(text)
		if err != nil {
			if !d.None() {
				t.Fatalf("an error came with %+v", d)
			}
			return
		}
		if again, err := ParseDelay(d.String()); err != nil || again != d {
			t.Fatalf("%q was read as %+v, written as %q, and read again as %+v, %v", text, d, d, again, err)
		}
	})
}

func draw(d Delay, seed uint64, n int) []time.Duration {
	c := d.Chain(seed)
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = c.Next()
	}
	return all
}

// The share of the delayed draws is in/(in+out), an episode has 1/out of them in the
// mean; four standard deviations of both are less than the bounds here.
func TestAChainEntersAndLeavesEpisodesAsOftenAsItSays(t *testing.T) {
	d := Delay{In: 0.02, Out: 0.1, Low: 10 * time.Microsecond, High: 20 * time.Microsecond, On: OnClock}
	const n = 200_000
	held, episodes := 0, 0
	var sum time.Duration
	last := time.Duration(0)
	for _, v := range draw(d, 7, n) {
		if v > 0 {
			held++
			sum += v
			if last == 0 {
				episodes++
			}
			if v < d.Low || v > d.High {
				t.Fatalf("a delay of %v", v)
			}
		}
		last = v
	}
	if share := float64(held) / n; math.Abs(share-1.0/6) > 0.012 {
		t.Errorf("%.4f of the draws are delayed, want 0.1667", share)
	}
	if length := float64(held) / float64(episodes); math.Abs(length-10) > 0.7 {
		t.Errorf("an episode has %.2f draws, want 10", length)
	}
	if mean := float64(sum) / float64(held); math.Abs(mean-15_000) > 70 {
		t.Errorf("a delay takes %.0f ns in the mean, want 15000", mean)
	}
}

func TestTheSameSeedDrawsTheSameDelays(t *testing.T) {
	d := Delay{In: 0.5, Out: 0.5, Low: 1, High: 1000, On: OnClock}
	one, again, other := draw(d, 1, 100), draw(d, 1, 100), draw(d, 2, 100)
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

func TestNoDelayNeverDelaysAndAlwaysDoes(t *testing.T) {
	for i, v := range draw(Delay{}, 1, 1000) {
		if v != 0 {
			t.Fatalf("draw %d without a model: %v", i, v)
		}
	}
	for i, v := range draw(Delay{In: 1, Low: 5, High: 5, On: OnClock}, 1, 1000) {
		if v != 5 {
			t.Fatalf("draw %d: %v", i, v)
		}
	}
}
