package loopback

import (
	"context"
	"errors"
	"time"

	"github.com/cswatch/cswatch/internal/hw"
)

// here returns the edges of this machine.
func here() (edges, error) {
	base := time.Now()
	return edges{
		now:     func() time.Duration { return time.Since(base) },
		current: hw.CurrentClocksource,
		cpus:    hw.AllowedCPUs,
		measure: measure,
	}, nil
}

// measure runs traffic for a round and returns what was seen between the ends of its window.
func measure(ctx context.Context, p Plan, test Test) (Round, error) {
	r, err := Start(ctx, Traffic{Test: test, Size: p.size(test), Flows: p.Flows, Pin: p.Pin})
	if err != nil {
		return Round{}, err
	}
	from, err := r.after(ctx, p.WarmUp)
	var to Sample
	if err == nil {
		to, err = r.after(ctx, p.Round)
	}
	if _, failed := r.Stop(); failed != nil {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return Round{}, err
	}
	return roundOf(test, *p.Pin, from, to)
}

// after takes a sample after a while.
func (r *Running) after(ctx context.Context, d time.Duration) (Sample, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return Sample{}, ctx.Err()
	case <-r.ended:
		return Sample{}, nil // which Stop explains
	case <-t.C:
		return r.Sample()
	}
}

// roundOf returns what happened between two samples.
func roundOf(test Test, pin Placement, from, to Sample) (Round, error) {
	r := Round{
		Test: test, Seconds: (to.At - from.At).Seconds(),
		SentBytes: to.SentBytes - from.SentBytes, ReceivedBytes: to.ReceivedBytes - from.ReceivedBytes,
		Transactions: to.Transactions - from.Transactions, Served: to.Served - from.Served,
		Retransmits: to.Client.Retransmits - from.Client.Retransmits + to.Server.Retransmits - from.Server.Retransmits,
	}
	if r.Seconds <= 0 {
		return r, errors.New("measure loopback: the clock did not advance in a round")
	}
	r.Client, r.Server = useIn(pin.Client, from.Client, to.Client, r.Seconds), useIn(pin.Server, from.Server, to.Server, r.Seconds)
	if !from.SegmentsKnown || !to.SegmentsKnown {
		r.Client.SegmentsPerSecond, r.Client.DataSegmentsPerSecond, r.Server.SegmentsPerSecond, r.Server.DataSegmentsPerSecond = 0, 0, 0, 0
	}
	r.Value = float64(r.Transactions) / r.Seconds
	if test == Stream {
		r.Value = 8 * float64(r.ReceivedBytes) / r.Seconds
	}
	return r, nil
}

// useIn is what a side took in a window of so many seconds.
func useIn(cpu int, from, to SideSample, seconds float64) Use {
	u := Use{
		CPU: cpu, Thread: (to.CPUTime - from.CPUTime).Seconds() / seconds,
		SegmentsPerSecond:     float64(to.Segments-from.Segments) / seconds,
		DataSegmentsPerSecond: float64(to.DataSegments-from.DataSegments) / seconds,
	}
	if ticks := float64(to.CPU.All) - float64(from.CPU.All); ticks > 0 {
		u.Busy = (float64(to.CPU.Busy) - float64(from.CPU.Busy)) / ticks
		u.Stolen = (float64(to.CPU.Stolen) - float64(from.CPU.Stolen)) / ticks
	}
	return u
}
