package hook

import (
	"context"
	"log/slog"
)

// Outcome is what became of an event. The set is closed.
type Outcome string

// The outcomes.
const (
	OK       Outcome = "ok"
	Failed   Outcome = "failed"
	TimedOut Outcome = "timed-out" // the last try ran into its time limit
	Dropped  Outcome = "dropped"   // newer ones took its place in the queue
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{OK, Failed, TimedOut, Dropped} }

// Hook tells somebody of an event and returns what came of it, with the reason unless it is [OK]. It waits until that is
// certain. When the context ends it ends soon, too, and what it returns then counts only if it is [OK].
type Hook interface {
	Tell(ctx context.Context, e Event) (Outcome, error)
}

// Keys of what is logged.
const (
	keyEvent   = "event" // its id
	keyKind    = "kind"
	keyOutcome = "outcome"
	keyError   = "err"
	keyOutput  = "output"
	keyCut     = "bytes_left_out"
	keyDropped = "dropped"
)

// logger returns a logger, one that says nothing for nil.
func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
