package exporter

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// sparseTime is how long a kind of line is left out after one was logged.
const sparseTime = 10 * time.Second

// A sparse handler logs each kind of line at most once in sparseTime, with the
// number of those that it left out: what clients do must not fill the log.
type sparse struct {
	next slog.Handler
	*sparseState
}

type sparseState struct {
	mu    sync.Mutex
	kinds map[string]*sparseKind
}

type sparseKind struct {
	last time.Time
	left int // lines left out since
}

// maxKinds bounds the kinds of lines; those beyond share one.
const maxKinds = 64

func newSparse(next slog.Handler) sparse {
	return sparse{next, &sparseState{kinds: map[string]*sparseKind{}}}
}

// kindOf tells kinds of lines by their beginning, up to an address or a number.
func kindOf(message string) string {
	message, _, _ = strings.Cut(message, " from ")
	if i := strings.IndexAny(message, "0123456789["); i >= 0 {
		message = message[:i]
	}
	return message
}

func (h sparse) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h sparse) Handle(ctx context.Context, r slog.Record) error {
	left, now := h.due(kindOf(r.Message), time.Now())
	if !now {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", left))
	}
	return h.next.Handle(ctx, r)
}

// due tells whether a line of this kind is logged, and how many were left out before it.
func (s *sparseState) due(kind string, now time.Time) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[kind]
	if k == nil && len(s.kinds) >= maxKinds {
		kind = ""
		k = s.kinds[kind]
	}
	if k == nil {
		k = &sparseKind{}
		s.kinds[kind] = k
	} else if now.Sub(k.last) < sparseTime {
		k.left++
		return 0, false
	}
	left := k.left
	*k = sparseKind{last: now}
	return left, true
}

func (h sparse) WithAttrs(attrs []slog.Attr) slog.Handler {
	return sparse{h.next.WithAttrs(attrs), h.sparseState}
}

func (h sparse) WithGroup(name string) slog.Handler {
	return sparse{h.next.WithGroup(name), h.sparseState}
}

// atLeast logs lines of a level and above.
type atLeast struct {
	level slog.Level
	slog.Handler
}

func (h atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}
