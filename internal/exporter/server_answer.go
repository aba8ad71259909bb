package exporter

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

// The paths that are the server's own, beside the metrics.
const (
	statusPath  = "/api/v1/status"
	healthyPath = "/-/healthy"
	readyPath   = "/-/ready"
)

// drainTime is how long what a client still sends of a body is thrown away
// after it has been answered. A connection that is closed before that is reset,
// and the client may lose the answer.
const drainTime = 250 * time.Millisecond

type connKey struct{}

// withConn lets a request know its connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(c))
}

// enter notes what we are at with the connection of a request.
func enter(r *http.Request, p phase) {
	if c, _ := r.Context().Value(connKey{}).(*conn); c != nil {
		c.enter(p)
	}
}

// receive takes a request whose header is complete: it refuses what no answer
// of ours needs, before anybody spends time on who asks, and hands the rest on.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, next http.Handler) {
	enter(r, serving)
	after := answered
	defer func() { enter(r, after) }()
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")

	body := r.ContentLength != 0 // -1: of unknown length
	if body {
		after = draining
		h.Set("Connection", "close") // else the server would look for the next request behind the body
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered here", http.StatusMethodNotAllowed)
	case body:
		http.Error(w, "a request has no body here", http.StatusRequestEntityTooLarge)
	default:
		next.ServeHTTP(w, r)
	}
}

// answer answers a request that may be answered.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case s.config.TelemetryPath:
		s.answerMetrics(w, r)
	case statusPath:
		s.answerStatus(w, r)
	case healthyPath:
		answerCheck(w, s.config.Healthy, "healthy")
	case readyPath:
		answerCheck(w, s.config.Ready, "ready")
	default:
		if s.config.Page == nil {
			http.Error(w, "there is nothing here", http.StatusNotFound)
			return
		}
		s.config.Page.ServeHTTP(w, r)
	}
}

// answerCheck says in one line whether all is well, and if not, why.
func answerCheck(w http.ResponseWriter, check func() error, well string) {
	if check != nil {
		if err := check(); err != nil {
			unavailable(w, "not "+well+": "+err.Error())
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(well + "\n")) // a client that is gone misses nothing
}

func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// answerMetrics answers a scrape. Before the look back over the boot's log is
// done there is no answer: the counters would be too low, and a counter that
// then leaps looks like many events at this moment.
func (s *Server) answerMetrics(w http.ResponseWriter, r *http.Request) {
	if s.config.Ready != nil {
		if err := s.config.Ready(); err != nil {
			unavailable(w, "not ready: "+err.Error())
			return
		}
	}
	format, wanted := negotiate(r.Header)
	s.answerDocument(w, r, s.metrics, wanted, string(format))
}

func (s *Server) answerStatus(w http.ResponseWriter, r *http.Request) {
	wanted := plain(0)
	if acceptsGzip(r.Header) {
		wanted = packed(0)
	}
	s.answerDocument(w, r, s.status, wanted, "application/json")
}

// answerDocument sends a document that is shared with everyone who asks at the same time.
func (s *Server) answerDocument(w http.ResponseWriter, r *http.Request, from *rounds, wanted form, contentType string) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.config.Limits.AnswerTime, errTooLong)
	defer cancel()
	body, err := from.ask(ctx, wanted)
	switch {
	case errors.Is(err, errTooLong) || errors.Is(err, errEnding) || errors.Is(err, context.Canceled):
		unavailable(w, r.URL.Path+" could not be answered: "+err.Error())
		return
	case err != nil:
		http.Error(w, r.URL.Path+" could not be answered: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Add("Vary", "Accept-Encoding")
	if from == s.metrics {
		h.Add("Vary", "Accept")
	}
	if wanted.gzipped() {
		h.Set("Content-Encoding", "gzip")
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that is gone misses nothing
	}
}

// errTooLong is why an answer was given up.
var errTooLong = errors.New("it takes longer than a client waits")
