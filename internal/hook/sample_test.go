package hook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cswatch/cswatch/event"
)

// sample is an event that has everything.
func sample() Event {
	return Event{
		BootID: "0f1f7c4a-16a4-4b2a-9f0f-6e0c5a3e1a11", Number: 17, Kind: Condemned, Host: "db01",
		At: time.Date(2026, 3, 1, 13, 0, 0, 250_900_000, time.FixedZone("CET", 3600)), Doubt: "the machine has slept", Lookback: true,
		PrintkNS: event.Some(int64(13669682000)), Clocksource: "tsc", From: "tsc", To: "hpet", Reference: "hpet", Cause: "read-delay",
		StatusBefore: "ok", StatusAfter: "warning", Summary: "the kernel gave up tsc because reading it against hpet took 60666 ns",
		Line: "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable",
	}
}

// records keeps what is logged.
type records struct {
	mu   sync.Mutex
	list []slog.Record
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) WithGroup(string) slog.Handler            { return r }
func (r *records) Handle(_ context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, rec)
	return nil
}

// said returns the records with a message, as maps of their attributes.
func (r *records) said(message string) []map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []map[string]string
	for _, rec := range r.list {
		if rec.Message != message {
			continue
		}
		attributes := map[string]string{"level": rec.Level.String()}
		rec.Attrs(func(a slog.Attr) bool {
			attributes[a.Key] = a.Value.String()
			return true
		})
		found = append(found, attributes)
	}
	return found
}

// text is all that was logged.
func (r *records) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := ""
	for _, rec := range r.list {
		all += rec.Message
		rec.Attrs(func(a slog.Attr) bool {
			all += " " + a.String()
			return true
		})
		all += "\n"
	}
	return all
}
