package exporter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

// A running server, and what it logged.
type running struct {
	*Server
	log  *logBuffer
	stop func() error // ends it and returns what Serve did
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start serves on a free port of the loopback until the test ends. What the configuration leaves out it gets.
func start(t testing.TB, c Config) *running {
	t.Helper()
	if c.Addresses == nil && !c.SystemdSocket {
		c.Addresses = []string{"127.0.0.1:0"}
	}
	if c.Gatherer == nil {
		c.Gatherer = testRegistry(t)
	}
	if c.Status == nil {
		c.Status = func() ([]byte, error) { return []byte(`{"schema":"cswatch.monitor/v1"}`), nil }
	}
	r := &running{log: &logBuffer{}}
	c.Log = slog.New(slog.NewTextHandler(r.log, nil))
	s, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *running) address() string { return r.Addresses()[0] }

// dial opens a connection that ends with the test.
func (r *running) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say sends text as it is over a new connection, and returns the answer to it.
func (r *running) say(t testing.TB, text string) *http.Response {
	t.Helper()
	c := r.dial(t)
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(text, " ")
	answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.40q: %v", text, err)
	}
	return answer
}

func bodyOf(t testing.TB, answer *http.Response) string {
	t.Helper()
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eventually waits until something is so. The wait is long because only a test that fails waits for all of it.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); time.Sleep(time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("after two minutes still not: %s", what)
		}
	}
}

// nothingLeftBehind checks that no goroutine of this test outlives it.
func nothingLeftBehind(t *testing.T) {
	t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		eventually(t, "every goroutine has ended", func() bool { return runtime.NumGoroutine() <= before })
	})
}

func TestEveryPathHasItsAnswer(t *testing.T) {
	nothingLeftBehind(t)
	page := http.NewServeMux()
	page.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		fmt.Fprint(w, "<!doctype html><title>cswatch</title>")
	})
	r := start(t, Config{Page: page, Healthy: func() error { return nil }})
	for name, test := range map[string]struct {
		request     string
		status      int
		contentType string
		body        string
	}{
		"the metrics as text":         {"GET /metrics", 200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "\ncswatch_test_skew_ratio -1.5e-06\n"},
		"the metrics with parameters": {"GET /metrics?x=1", 200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "\ncswatch_test_skew_ratio -1.5e-06\n"},
		"the status document":         {"GET /api/v1/status", 200, "application/json", `{"schema":"cswatch.monitor/v1"}`},
		"the page":                    {"GET /", 200, "text/html; charset=utf-8", "<title>cswatch</title>"},
		"healthy":                     {"GET /-/healthy", 200, "text/plain; charset=utf-8", "healthy\n"},
		"ready":                       {"GET /-/ready", 200, "text/plain; charset=utf-8", "ready\n"},
		"the head of the metrics":     {"HEAD /metrics", 200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", ""},
		"the head of the status":      {"HEAD /api/v1/status", 200, "application/json", ""},
		"the head of healthy":         {"HEAD /-/healthy", 200, "text/plain; charset=utf-8", ""},
		"a path below the metrics":    {"GET /metrics/", 404, "text/plain; charset=utf-8", ""},
		"a path twice slashed":        {"GET //metrics", 404, "", ""}, // whatever the page's router makes of it
		"a profile":                   {"GET /debug/pprof/", 404, "text/plain; charset=utf-8", ""},
		"a file of the machine":       {"GET /../../etc/passwd", 404, "", ""},
		"posting":                     {"POST /metrics", 405, "text/plain; charset=utf-8", "only GET and HEAD"},
		"deleting":                    {"DELETE /", 405, "text/plain; charset=utf-8", ""},
		"asking for options":          {"OPTIONS *", 405, "text/plain; charset=utf-8", ""},
		"tracing":                     {"TRACE /", 405, "text/plain; charset=utf-8", ""},
		"a tunnel":                    {"CONNECT example.org:443", 405, "text/plain; charset=utf-8", ""},
		"a method nobody knows":       {"BREW /", 405, "text/plain; charset=utf-8", ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := r.say(t, test.request+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			body := bodyOf(t, answer)
			if (answer.StatusCode == 301 || answer.StatusCode == 307) && test.contentType == "" {
				if to := answer.Header.Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
					t.Errorf("sent on to %q", to)
				}
			} else if answer.StatusCode != test.status {
				t.Errorf("answered %s: %s", answer.Status, body)
			}
			if got := answer.Header.Get("Content-Type"); test.contentType != "" && got != test.contentType {
				t.Errorf("content type %q", got)
			}
			if !strings.Contains(body, test.body) {
				t.Errorf("answered %q", body)
			}
			if test.status == 405 && answer.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("allows %q", answer.Header.Get("Allow"))
			}
			want := map[string]string{
				"X-Content-Type-Options":       "nosniff",
				"X-Frame-Options":              "DENY",
				"Referrer-Policy":              "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Cache-Control":                "no-store",
				"Content-Security-Policy":      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
				"Server":                       "", // nobody need know
				"Access-Control-Allow-Origin":  "",
			}
			if name == "the page" {
				want["Content-Security-Policy"] = "default-src 'self'"
			}
			got := map[string]string{}
			for key := range want {
				got[key] = answer.Header.Get(key)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if log := r.log.String(); strings.Contains(log, "WARN") || strings.Contains(log, "ERROR") {
		t.Error(log)
	}
}

func TestADocumentIsGzippedForWhoTakesIt(t *testing.T) {
	r := start(t, Config{})
	for path, vary := range map[string][]string{"/metrics": {"Accept-Encoding", "Accept"}, "/api/v1/status": {"Accept-Encoding"}} {
		plain := bodyOf(t, r.say(t, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		answer := r.say(t, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
		if answer.Header.Get("Content-Encoding") != "gzip" || answer.ContentLength < 0 {
			t.Errorf("%s: encoding %q, length %d", path, answer.Header.Get("Content-Encoding"), answer.ContentLength)
		}
		if diff := cmp.Diff(vary, answer.Header.Values("Vary")); diff != "" {
			t.Errorf("%s: Vary: %s", path, diff)
		}
		if diff := cmp.Diff(plain, string(gunzip(t, []byte(bodyOf(t, answer))))); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestWithoutAPageTheRestIsNotThere(t *testing.T) {
	r := start(t, Config{TelemetryPath: "/telemetry"})
	for path, want := range map[string]int{"/": 404, "/metrics": 404, "/telemetry": 200, "/favicon.ico": 404} {
		if answer := r.say(t, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); answer.StatusCode != want {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

func TestNoCounterIsShownBeforeItIsComplete(t *testing.T) {
	var mu sync.Mutex
	notReady, notHealthy := errors.New("looking back over the log of this boot"), error(nil)
	r := start(t, Config{
		Ready:   func() error { mu.Lock(); defer mu.Unlock(); return notReady },
		Healthy: func() error { mu.Lock(); defer mu.Unlock(); return notHealthy },
	})
	expect := func(path string, status int, body string) {
		t.Helper()
		answer := r.say(t, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if got := bodyOf(t, answer); answer.StatusCode != status || !strings.Contains(got, body) {
			t.Errorf("%s: %s: %s", path, answer.Status, got)
		}
		if (status == 503) != (answer.Header.Get("Retry-After") != "") {
			t.Errorf("%s: %s, Retry-After %q", path, answer.Status, answer.Header.Get("Retry-After"))
		}
	}
	expect("/metrics", 503, "not ready: looking back over the log of this boot\n")
	expect("/-/ready", 503, "not ready: looking back over the log of this boot\n")
	expect("/-/healthy", 200, "healthy\n")
	expect("/api/v1/status", 200, "schema")
	mu.Lock()
	notReady, notHealthy = nil, errors.New("the live watch made no tick for 10 s")
	mu.Unlock()
	expect("/metrics", 200, "cswatch_test_skew_ratio")
	expect("/-/ready", 200, "ready\n")
	expect("/-/healthy", 503, "not healthy: the live watch made no tick for 10 s\n")
}

func TestAnAnswerThatTakesTooLongIsGivenUp(t *testing.T) {
	nothingLeftBehind(t)
	hung := make(chan struct{})
	r := start(t, Config{
		Gatherer: prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { <-hung; return nil, nil }),
		Limits:   Limits{AnswerTime: 10 * time.Millisecond, EndTime: time.Second},
	})
	for range 3 {
		answer := r.say(t, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if body := bodyOf(t, answer); answer.StatusCode != 503 || !strings.Contains(body, "longer than a client waits") {
			t.Errorf("%s: %s", answer.Status, body)
		}
	}
	if answer := r.say(t, "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"); answer.StatusCode != 200 {
		t.Errorf("beside the scrape that hangs: %s", answer.Status)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.log.String(), "left a document in the making behind") {
		t.Error(r.log)
	}
	close(hung)
}

func TestAStatusThatFailsSaysWhy(t *testing.T) {
	r := start(t, Config{Status: func() ([]byte, error) { return nil, errors.New("read /sys: it is gone") }})
	answer := r.say(t, "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if body := bodyOf(t, answer); answer.StatusCode != 500 || !strings.Contains(body, "read /sys: it is gone") {
		t.Errorf("%s: %s", answer.Status, body)
	}
}

func TestAPanicOfThePageEndsOnlyItsConnection(t *testing.T) {
	r := start(t, Config{Page: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a broken page") })})
	c := r.dial(t)
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if b, _ := io.ReadAll(c); len(b) > 0 {
		t.Errorf("answered %q", b)
	}
	if answer := r.say(t, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"); answer.StatusCode != 200 {
		t.Error(answer.Status)
	}
	eventually(t, "the panic was logged", func() bool { return strings.Contains(r.log.String(), "a broken page") })
}

func TestWhatIsBeingAnsweredIsFinishedAtTheEnd(t *testing.T) {
	nothingLeftBehind(t)
	began, finish := make(chan struct{}), make(chan struct{})
	r := start(t, Config{Status: func() ([]byte, error) {
		close(began)
		<-finish
		return []byte("{}"), nil
	}})
	slow := r.dial(t) // which never asks
	c := r.dial(t)
	fmt.Fprint(c, "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-began
	ended := make(chan error)
	go func() { ended <- r.stop() }()
	eventually(t, "the socket is closed", func() bool {
		probe, err := net.Dial("tcp", r.address())
		if err == nil {
			probe.Close()
		}
		return err != nil
	})
	close(finish)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body := bodyOf(t, answer); body != "{}" {
		t.Errorf("answered %q", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := slow.Read(make([]byte, 1)); err == nil {
		t.Error("the connection that never asked is still open")
	}
}

func TestTheServerCountsItself(t *testing.T) {
	r := start(t, Config{})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(r.Server)
	r.evict()
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for i, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue()
		if m := ServerMetrics()[i]; f.GetName() != m.Name || f.GetHelp() != m.Help {
			t.Errorf("%s is not as it is documented", f.GetName())
		}
	}
	want := map[string]float64{"cswatch_http_connections_evicted_total": 1, "cswatch_http_scrape_failures_total": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
