package load

import (
	"context"

	"github.com/cswatch/cswatch/internal/loopback"
)

// streamBuffer is the size of a write and of a read.
const streamBuffer = 64 << 10

// stream starts a TCP stream over loopback that ends with ctx.
func stream(ctx context.Context, r *Running) error {
	traffic, err := loopback.Start(ctx, loopback.Traffic{Test: loopback.Stream, Size: streamBuffer})
	if err != nil {
		return err
	}
	r.workers.Go(func() {
		did, err := traffic.Wait()
		r.add(Work{Bytes: did.ReceivedBytes}, err)
	})
	return nil
}
