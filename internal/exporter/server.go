package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// DefaultAddress is where the server listens unless told otherwise: on this machine alone.
const DefaultAddress = "127.0.0.1:9953"

// DefaultTelemetryPath is where the metrics are.
const DefaultTelemetryPath = "/metrics"

// Config says what a server serves, and where. Gatherer and Status are needed;
// all else has a default.
type Config struct {
	// Addresses to listen on, HOST:PORT each; none: DefaultAddress. Port 0 takes a free one.
	Addresses []string
	// SystemdSocket takes the sockets that systemd hands over, and no address.
	SystemdSocket bool
	// ConfigFile is a file of the Prometheus exporter toolkit: TLS, client
	// certificates, users and headers. Empty: neither TLS nor users.
	ConfigFile string

	// TelemetryPath is the path of the metrics; empty: DefaultTelemetryPath.
	TelemetryPath string
	// Gatherer is asked for the metrics by one goroutine at a time.
	Gatherer prometheus.Gatherer
	// Status returns the JSON document of /api/v1/status. One goroutine at a time
	// calls it, and nobody may change afterwards what it returned.
	Status func() ([]byte, error)
	// Page answers GET and HEAD for every path that is not the server's own, "/"
	// among them, and says 404 itself where it has nothing; nil: all are 404.
	Page http.Handler
	// Ready says why the counters do not yet tell all they will; nil: they do.
	Ready func() error
	// Healthy says what keeps the program from its work; nil: nothing does.
	Healthy func() error

	// Log gets what goes wrong, each kind of line at most once in ten seconds; nil: nobody does.
	Log *slog.Logger
	// Limits bound what clients can cost.
	Limits Limits
}

// Limits bound what clients can cost. The zero value of each is its default.
type Limits struct {
	Connections int           // at a time, over all addresses: 512
	HeaderBytes int           // of a request, roughly: 16384
	HeaderTime  time.Duration // from the first byte of a request to the end of its header, and for a TLS handshake: 5 s
	AnswerTime  time.Duration // for an answer to be made: 8 s, so that 503 still reaches a scraper that waits 10 s
	WriteTime   time.Duration // from the end of the header until the answer has been written: 10 s
	IdleTime    time.Duration // between requests of one connection: 90 s, more than a minute between scrapes
	Patience    time.Duration // that a connection may keep us waiting before it must make room for another: 250 ms
	StuckTime   time.Duration // that a connection may wait for us, at the most, before it must make room: 2 s
	EndTime     time.Duration // that answers get to be finished when the server ends: 2 s
}

func (l Limits) withDefaults() Limits {
	orElse(&l.Connections, 512)
	orElse(&l.HeaderBytes, 16<<10)
	orElse(&l.HeaderTime, 5*time.Second)
	orElse(&l.AnswerTime, 8*time.Second)
	orElse(&l.WriteTime, 10*time.Second)
	orElse(&l.IdleTime, 90*time.Second)
	orElse(&l.Patience, 250*time.Millisecond)
	orElse(&l.StuckTime, 2*time.Second)
	orElse(&l.EndTime, 2*time.Second)
	return l
}

func orElse[T int | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

// validate reports all that is wrong with the configuration.
func (c *Config) validate() error {
	var errs []error
	if c.Gatherer == nil {
		errs = append(errs, errors.New("no gatherer"))
	}
	if c.Status == nil {
		errs = append(errs, errors.New("no status document"))
	}
	switch path := c.TelemetryPath; {
	case !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#% "):
		errs = append(errs, fmt.Errorf("the telemetry path %q is no plain path: write it as in %s", path, DefaultTelemetryPath))
	case path == "/" || path == statusPath || path == healthyPath || path == readyPath:
		errs = append(errs, fmt.Errorf("the telemetry path %s is taken: the page, the status document and the health checks need theirs", path))
	}
	if l := c.Limits; min(l.Connections, l.HeaderBytes) < 0 || min(l.HeaderTime, l.AnswerTime, l.WriteTime, l.IdleTime, l.Patience, l.StuckTime, l.EndTime) < 0 {
		errs = append(errs, errors.New("a limit is negative"))
	}
	return errors.Join(errs...)
}

// A Server is a web server whose sockets are open. It is a collector of metrics about itself.
type Server struct {
	config    Config
	listeners []net.Listener
	http      *http.Server
	secure    bool
	gate      *gate
	metrics   *rounds
	status    *rounds
	log       *slog.Logger
	end       context.CancelFunc // ends the contexts of all requests

	evictions, failures atomic.Uint64
}

// Listen opens the sockets and reads the configuration file. The error names
// what could not be opened and what to do about it. Nothing is answered before
// Serve is called; clients wait until then.
func Listen(c Config) (*Server, error) {
	if c.TelemetryPath == "" {
		c.TelemetryPath = DefaultTelemetryPath
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Limits = c.Limits.withDefaults()
	s := &Server{config: c, log: slog.New(newSparse(c.Log.Handler()))}
	s.gate = newGate(c.Limits.Connections, c.Limits.Patience, c.Limits.StuckTime, s.evict)
	s.metrics = newRounds((&exposition{gatherer: c.Gatherer, failures: &s.failures, log: s.log}).gather)
	s.status = newRounds((&statusDocument{status: c.Status}).gather)

	handler, security, err := secured(c.ConfigFile, http.HandlerFunc(s.answer), s.log)
	if err != nil {
		return nil, err
	}
	s.secure = security != nil
	base, end := context.WithCancel(context.Background())
	s.end = end
	s.http = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.receive(w, r, handler) }),
		TLSConfig:         security,
		Protocols:         onlyHTTP1(),
		ReadTimeout:       c.Limits.WriteTime, // no body is read: a stopgap
		ReadHeaderTimeout: c.Limits.HeaderTime,
		WriteTimeout:      c.Limits.WriteTime,
		IdleTimeout:       c.Limits.IdleTime,
		MaxHeaderBytes:    c.Limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConn,
		ConnState: func(c net.Conn, state http.ConnState) {
			if ours := connOf(c); ours != nil && state == http.StateIdle {
				ours.enter(idle)
			}
		},
		DisableGeneralOptionsHandler: true, // which would answer OPTIONS * without asking who it is
	}
	if s.listeners, err = listen(c.Addresses, c.SystemdSocket); err != nil {
		end()
		return nil, err
	}
	return s, nil
}

// onlyHTTP1 leaves HTTP/2 out. Over one connection of it a client may ask
// hundreds of times at once, so that a bound on connections would bound nothing;
// and a scrape needs no more than one answer.
func onlyHTTP1() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	return &p
}

// Addresses returns where the server listens, with the ports that it got.
func (s *Server) Addresses() []string {
	var addresses []string
	for _, l := range s.listeners {
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// Secure tells whether the server speaks TLS.
func (s *Server) Secure() bool { return s.secure }

// Serve answers until the context ends, and then returns nil after the answers
// that were being made are finished or Limits.EndTime is over. The sockets are closed
// then; a server serves once.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		s.config.Log.Info("listening", "address", l.Addr().String(), "tls", s.secure)
		go func() {
			if s.secure {
				ended <- s.http.ServeTLS(limitedListener{l, s.gate}, "", "")
			} else {
				ended <- s.http.Serve(limitedListener{l, s.gate})
			}
		}()
	}
	var failed error
	running := len(s.listeners)
	select {
	case <-ctx.Done():
	case failed = <-ended:
		running--
	}

	farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Limits.EndTime)
	defer cancel()
	s.gate.close()
	if err := s.http.Shutdown(farewell); err != nil {
		s.log.Warn("closed connections whose answers were not finished", "open", s.gate.open(), "err", err)
	}
	s.end()
	_ = s.http.Close() // what Shutdown left
	for range running {
		<-ended
	}
	for _, r := range []*rounds{s.metrics, s.status} {
		if err := r.end(farewell); err != nil {
			s.log.Warn("left a document in the making behind", "err", err)
		}
	}
	if failed != nil {
		return fmt.Errorf("serve on %s: %w", strings.Join(s.Addresses(), ", "), failed)
	}
	return nil
}

// evict counts a connection that had to make room.
func (s *Server) evict() {
	s.evictions.Add(1)
	s.log.Warn("closed the connection that had kept us waiting longest, to make room for another", "limit", s.config.Limits.Connections)
}
