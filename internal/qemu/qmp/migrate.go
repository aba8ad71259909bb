package qmp

import (
	"context"
	"fmt"
	"time"
)

// Migrate saves the machine's state to a destination such as "exec:cat>FILE" and
// waits until that is done. The machine stops with it. A machine that is stopped
// before is also restored stopped: to have it run on, do not stop it first.
func (c *Client) Migrate(ctx context.Context, uri string) error {
	// Without this QEMU keeps to the bandwidth of a network of old.
	unlimited := map[string]any{"max-bandwidth": int64(1) << 40}
	if err := c.Execute(ctx, "migrate-set-parameters", unlimited, nil); err != nil {
		return err
	}
	if err := c.Execute(ctx, "migrate", map[string]any{"uri": uri}, nil); err != nil {
		return err
	}
	for {
		var state struct {
			Status      string `json:"status"`
			Description string `json:"error-desc"`
		}
		if err := c.Execute(ctx, "query-migrate", nil, &state); err != nil {
			return err
		}
		switch state.Status {
		case "completed":
			return nil
		case "failed", "cancelled":
			return fmt.Errorf("save the machine's state to %s: %s %s", uri, state.Status, state.Description)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("save the machine's state to %s: %w", uri, context.Cause(ctx))
		case <-time.After(migratePace):
		}
	}
}
