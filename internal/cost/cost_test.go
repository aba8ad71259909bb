package cost

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// near compares within a relative error, since the numbers by hand have so many digits.
func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)+1e-12) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestAPredictionIsWhatOneWorksOutByHand(t *testing.T) {
	// 1 Gbit/s of 1000 B is 8000 ns. 4 reads of 50 ns are 200 ns of that, and 4 of 2050 ns are 8200 ns, so that 16 000 ns remain: half the throughput.
	p, err := Predict(Transfer{Exact(1e9), 1000, Exact(4), Exact(50), Exact(2050)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"time of a segment", p.Segment.Value, 8000},
		{"time in reads", p.Reading.Value, 200},
		{"share of the reads", p.Share.Value, 0.025},
		{"time of a segment under the other clocksource", p.OtherSegment.Value, 16000},
		{"time in its reads", p.OtherReading.Value, 8200},
		{"share of its reads", p.OtherShare.Value, 0.5125},
		{"throughput under it", p.OtherThroughput.Value, 0.5e9},
		{"loss", p.Loss.Value, 0.5},
	} {
		near(t, c.what, c.got, c.want, 1e-12)
	}
	if !p.Loss.IsExact() || !p.OtherThroughput.IsExact() {
		t.Errorf("exact inputs give %+v", p)
	}
}

func TestTheEndsOfAPredictionAreThoseOfItsInputs(t *testing.T) {
	// Reads 2 to 6: 8000 + 2 x 2000 = 12000 ns and 8000 + 6 x 2000 = 20000 ns.
	p, err := Predict(Transfer{Exact(1e9), 1000, Within(2, 6), Exact(50), Exact(2050)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "shortest segment", p.OtherSegment.Low, 12000, 1e-12)
	near(t, "longest segment", p.OtherSegment.High, 20000, 1e-12)
	near(t, "least loss", p.Loss.Low, 1-8000./12000, 1e-12)
	near(t, "greatest loss", p.Loss.High, 1-8000./20000, 1e-12)
	near(t, "least throughput", p.OtherThroughput.Low, 0.4e9, 1e-12)

	// Of the throughput, too: 0.8 to 1.2 Gbit/s are 10000 to 6666.7 ns.
	p, err = Predict(Transfer{Within(0.8e9, 1.2e9), 1000, Within(2, 6), Exact(50), Exact(2050)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "longest segment", p.OtherSegment.High, 22000, 1e-12)
	near(t, "least loss", p.Loss.Low, 1-10000./14000, 1e-12)
	near(t, "greatest loss", p.Loss.High, 1-6666.6667/18666.6667, 1e-7)
}

func TestMoreReadsThanFitIntoASegmentAreNotTaken(t *testing.T) {
	// A read of 2000 ns fits 4 times into 8000 ns: at most all of the segment becomes 4 x 20 ns.
	p, err := Predict(Transfer{Exact(1e9), 1000, Value{3, 2, 9}, Exact(2000), Exact(20)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "shortest segment", p.OtherSegment.Low, 80, 1e-12)
	near(t, "longest segment", p.OtherSegment.High, 8000-2*1980, 1e-12)
	if _, err := Predict(Transfer{Exact(1e9), 1000, Exact(9), Exact(2000), Exact(20)}); err == nil || !strings.Contains(err.Error(), "the whole segment takes 8000 ns") {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatTheRFCReportedImpliesItsPriceOfAClockRead(t *testing.T) {
	share := Exact(0.4383 + 0.4086)
	i, err := Implied(Comparison{Fast: Exact(13e9), Slow: Exact(1.6e9), SegmentBytes: 65536, Share: &share})
	if err != nil {
		t.Fatal(err)
	}
	// 524288 bit / 13 Gbit/s and / 1.6 Gbit/s.
	near(t, "fast segment", i.FastSegment.Value, 40329.85, 1e-6)
	near(t, "slow segment", i.SlowSegment.Value, 327680, 1e-12)
	near(t, "loss", i.Loss.Value, 0.876923, 1e-6)
	near(t, "by the times", i.ByTimes.Value, 287350.15, 1e-6)
	near(t, "per byte", i.PerByte.Value, 5-8./13, 1e-9)
	near(t, "by the share", i.ByShare.Value, 277512.19, 1e-6) // 0.8469 x 327680
	near(t, "difference", i.Difference.Value, -9837.96, 1e-5)
	near(t, "difference as a ratio", i.DifferenceRatio.Value, -0.034237, 1e-4)
	if *i.Consistent {
		t.Error("as exact numbers they do not contradict each other")
	}
	for _, r := range i.Rows {
		near(t, "price by the times", r.ByTimes.Value, 287350.15/r.Reads.Value, 1e-6)
		near(t, "price by the share", r.ByShare.Value, 277512.19/r.Reads.Value, 1e-6)
	}

	// With the digits that were reported, and the client's half of the samples.
	share = Within(0.796, 0.951)
	slow := Exact(1400)
	i, err = Implied(Comparison{Fast: Within(12.5e9, 13.5e9), Slow: Within(1.55e9, 1.65e9), SegmentBytes: 65536, Share: &share, SlowRead: &slow})
	if err != nil {
		t.Fatal(err)
	}
	if !*i.Consistent {
		t.Errorf("within their digits they contradict each other: %+v", i)
	}
	near(t, "reads needed", i.NeededReads.Value, 287350.15/1400, 1e-3)
	near(t, "bytes per read", i.BytesPerRead.Value, 319.3, 1e-3)
}

func TestTheTwoWaysAgreeWhereTheModelHolds(t *testing.T) {
	// T0 = 7800 ns, 4 reads of 50 ns and of 2050 ns.
	share, k, fast := Exact(8200./16000), Exact(4), Exact(50)
	i, err := Implied(Comparison{Fast: Exact(1e9), Slow: Exact(0.5e9), SegmentBytes: 1000, Share: &share, Reads: &k, FastRead: &fast})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "difference", i.Difference.Value, 200, 1e-9)
	near(t, "price by the times", i.Rows[0].ByTimes.Value, 2050, 1e-9)
	near(t, "price by the share", i.Rows[0].ByShare.Value, 2050, 1e-9)
	if len(i.Rows) != 1 {
		t.Errorf("%d rows for one number of reads", len(i.Rows))
	}
}

func TestReadsAreFoundByCountAndByShare(t *testing.T) {
	k, err := ReadsByCount(1200, 1_000_000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "reads by count", k.Value, 1.2, 1e-12)
	// Half of 10 µs in reads of 1 µs is 5 reads; 0.4 and 0.6 of them 4 and 6.
	k, err = ReadsByShare(Within(0.4, 0.6), Exact(10_000), Exact(1000))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "reads by share", k.Value, 5, 1e-12)
	near(t, "fewest reads", k.Low, 4, 1e-12)
	near(t, "most reads", k.High, 6, 1e-12)
	// 1500 ns by system call under the HPET, 115 under the TSC, whose instruction takes 12.
	c, err := KernelRead(Exact(1500), Exact(115), Exact(12))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "read inside the kernel", c.Value, 1397, 1e-12)
}

func TestWhatCannotBeIsSaid(t *testing.T) {
	over, k, ten, five := Exact(1.2), Value{2, 3, 4}, Exact(10), Exact(5)
	both := func(a, b Value) error {
		_, err := Implied(Comparison{Fast: a, Slow: b, SegmentBytes: 1000})
		return err
	}
	cases := []struct {
		name string
		run  func() error
		want string
	}{
		{"a throughput of nothing", func() error {
			_, err := Predict(Transfer{SegmentBytes: 1, Read: Exact(1), OtherRead: Exact(1)})
			return err
		}, "throughput in bit/s: 0: want more than 0"},
		{"a price that is no number", func() error {
			_, err := Predict(Transfer{Exact(1), 1, Exact(0), Exact(math.NaN()), Exact(1)})
			return err
		}, "ns per read: NaN"},
		{"a slow clocksource that is as fast", func() error { return both(Exact(1e9), Exact(1e9)) }, "there is no loss to explain"},
		{"throughputs whose intervals meet", func() error { return both(Within(9e8, 11e8), Within(8e8, 9e8)) }, "there is no loss to explain"},
		{"a share over the whole", func() error {
			_, err := Implied(Comparison{Fast: Exact(2), Slow: Exact(1), SegmentBytes: 1, Share: &over})
			return err
		}, "want at most 1"},
		{"a number outside its interval", func() error {
			_, err := Implied(Comparison{Fast: Exact(2), Slow: Exact(1), SegmentBytes: 1, Reads: &k})
			return err
		}, "2 is not between 3 and 4"},
		{"a slow read that is not dearer", func() error {
			_, err := Implied(Comparison{Fast: Exact(2), Slow: Exact(1), SegmentBytes: 1, FastRead: &ten, SlowRead: &five})
			return err
		}, "want the slow one to be dearer"},
		{"no bytes", func() error { _, err := ReadsByCount(1, 0, 1000); return err }, "no byte was transferred"},
		{"a profile over the whole", func() error { _, err := ReadsByShare(over, ten, ten); return err }, "want at most 1"},
		{"a system call that is not dearer", func() error { _, err := KernelRead(five, ten, five); return err }, "want the slow one to be dearer"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
}

// drawn is a transfer at random whose reads fit into its segments, and an other clocksource that is slower.
func drawn(r *rand.Rand) Transfer {
	between := func(low, high float64) float64 { return low * math.Pow(high/low, r.Float64()) }
	bytes, rate := between(100, 1e6), between(1e6, 1e12)
	segment := nsPerSegment(bytes, rate)
	k := between(0.1, 1000)
	c := segment / k * r.Float64() * 0.99
	return Transfer{Exact(rate), bytes, Exact(k), Exact(c), Exact(c * between(1.01, 1000))}
}

func TestAPredictionInvertedGivesBackItsInputs(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 2000 {
		in := drawn(r)
		p, err := Predict(in)
		if err != nil {
			t.Fatalf("%+v: %v", in, err)
		}
		i, err := Implied(Comparison{
			Fast: in.Throughput, Slow: p.OtherThroughput, SegmentBytes: in.SegmentBytes,
			Share: &p.OtherShare, Reads: &in.Reads, FastRead: &in.Read, SlowRead: &in.OtherRead,
		})
		if p.Loss.Value < 1e-6 {
			continue // the difference of two times has no digits left
		}
		if err != nil {
			t.Fatalf("%+v: %v", in, err)
		}
		near(t, "price by the times", i.Rows[0].ByTimes.Value, in.OtherRead.Value, 1e-6)
		near(t, "price by the share", i.Rows[0].ByShare.Value, in.OtherRead.Value, 1e-6)
		near(t, "reads", i.NeededReads.Value, in.Reads.Value, 1e-6)
		k, err := ReadsByShare(p.OtherShare, p.OtherSegment, in.OtherRead)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "reads by the share", k.Value, in.Reads.Value, 1e-9)
		// There and back: the throughput under the first clocksource.
		back, err := Predict(Transfer{p.OtherThroughput, in.SegmentBytes, in.Reads, in.OtherRead, in.Read})
		if err == nil { // the reads may have become the whole of a segment, by rounding
			near(t, "throughput there and back", back.OtherThroughput.Value, in.Throughput.Value, 1e-6)
		}
		if t.Failed() {
			t.Fatalf("of %+v", in)
		}
	}
}

func TestTheLossGrowsWithReadsAndTheirPriceAndShrinksWithSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	loss := func(in Transfer) float64 {
		p, err := Predict(in)
		if err != nil {
			t.Fatalf("%+v: %v", in, err)
		}
		return p.Loss.Value
	}
	for range 2000 {
		in := drawn(r)
		in.Reads = Exact(in.Reads.Value / 2)
		base := loss(in)
		more, dearer, larger := in, in, in
		more.Reads = Exact(in.Reads.Value * 1.5)
		dearer.OtherRead = Exact(in.OtherRead.Value * 1.5)
		larger.SegmentBytes *= 1.5
		if !(loss(more) > base && loss(dearer) > base && loss(larger) < base) {
			t.Fatalf("%+v: loss %v, with more reads %v, dearer ones %v, larger segments %v", in, base, loss(more), loss(dearer), loss(larger))
		}
	}
}

func TestEveryInputWithinItsIntervalGivesAResultWithinTheInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	around := func(x, by float64) Value { return Value{x, x / (1 + by*r.Float64()), x * (1 + by*r.Float64())} }
	within := func(v Value) Value { return Exact(v.Low + (v.High-v.Low)*r.Float64()) }
	inside := func(what string, v Value, x float64) {
		t.Helper()
		if slack := 1e-9 * math.Abs(x); x < v.Low-slack || x > v.High+slack {
			t.Errorf("%s %v is not in %v to %v", what, x, v.Low, v.High)
		}
	}
	for range 500 {
		x := drawn(r)
		wide := x
		wide.Throughput, wide.Reads = around(x.Throughput.Value, 0.5), around(x.Reads.Value, 0.5)
		wide.Read, wide.OtherRead = around(x.Read.Value, 0.5), around(x.OtherRead.Value, 0.5)
		p, err := Predict(wide)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			one := wide
			one.Throughput, one.Reads = within(wide.Throughput), within(wide.Reads)
			one.Read, one.OtherRead = within(wide.Read), within(wide.OtherRead)
			q, err := Predict(one)
			if err != nil {
				continue // more reads than fit
			}
			inside("throughput", p.OtherThroughput, q.OtherThroughput.Value)
			inside("loss", p.Loss, q.Loss.Value)
			inside("share", p.OtherShare, q.OtherShare.Value)
			inside("segment", p.OtherSegment, q.OtherSegment.Value)
		}
		if t.Failed() {
			t.Fatalf("of %+v", wide)
		}
	}
}
