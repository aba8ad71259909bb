package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wire is a network without a machine: connections are pipes, so that time passes in a test's bubble.
type wire struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case w.calls <- server:
		return client, nil
	case <-w.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error   { w.once.Do(func() { close(w.closed) }); return nil }
func (w *wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

// received is what a receiver got.
type received struct {
	at      time.Time
	request string // method, host, path
	header  http.Header
	body    string
}

// receiver is one with answers of the test. It must be made and closed within a bubble.
type receiver struct {
	*wire
	mu     sync.Mutex
	got    []received
	server *http.Server
}

// end closes the receiver and waits until nothing of it runs any more.
func (r *receiver) end() {
	_ = r.server.Close()
	synctest.Wait()
}

// all is what it got.
func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// newReceiver returns a receiver; answer gets the number of the request, from 1.
func newReceiver(answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	r := &receiver{wire: &wire{calls: make(chan net.Conn), closed: make(chan struct{})}}
	r.server = &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, received{time.Now(), req.Method + " " + req.Host + req.URL.RequestURI(), req.Header.Clone(), string(body)})
		n := len(r.got)
		r.mu.Unlock()
		answer(n, w, req)
	})}
	go func() { _ = r.server.Serve(r) }()
	return r
}

func (r *receiver) requests() []string {
	var list []string
	for _, got := range r.all() {
		list = append(list, got.request)
	}
	return list
}

// gaps are the times between requests.
func (r *receiver) gaps() []time.Duration {
	all := r.all()
	var list []time.Duration
	for i := 1; i < len(all); i++ {
		list = append(list, all[i].at.Sub(all[i-1].at))
	}
	return list
}

const secretURL = "http://user:pass-secret@hooks.example.com/services/path-secret?key=query-secret"

// wired returns a webhook over a wire.
func wired(t testing.TB, w *wire, c WebhookConfig) *Webhook {
	t.Helper()
	if c.URL == "" {
		c.URL = secretURL
	}
	h, err := NewWebhook(c)
	if err != nil {
		t.Fatal(err)
	}
	h.transport.Proxy, h.transport.DialContext = nil, w.dial
	return h
}

// status answers with a status alone.
func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// first answers the first request so, and takes the others.
func first(answer func(w http.ResponseWriter, r *http.Request)) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			answer(w, r)
		}
	}
}

// bubble runs a test with a receiver and its webhook in virtual time.
func bubble(t *testing.T, c WebhookConfig, answer func(int, http.ResponseWriter, *http.Request), test func(*testing.T, *Webhook, *receiver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(answer)
		defer r.end()
		test(t, wired(t, r.wire, c), r)
	})
}

func TestAWebhookPostsTheDocument(t *testing.T) {
	bubble(t, WebhookConfig{Agent: "cswatch/1.2.3"}, status(204), func(t *testing.T, h *Webhook, r *receiver) {
		if outcome, err := h.Tell(t.Context(), sample()); outcome != OK || err != nil {
			t.Fatalf("%s, %v", outcome, err)
		}
		got := r.all()[0]
		if got.request != "POST hooks.example.com/services/path-secret?key=query-secret" || got.body != sampleDocument {
			t.Errorf("%s with %s", got.request, got.body)
		}
		want := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"cswatch/1.2.3"}, "Connection": {"close"},
			"Content-Length": {fmt.Sprint(len(sampleDocument))}, "Authorization": {"Basic dXNlcjpwYXNzLXNlY3JldA=="}}
		if diff := cmp.Diff(want, got.header); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	})
}

func TestTheTokenIsReadAtEachAttempt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	replace := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	replace("old-token\n")
	c := WebhookConfig{URL: "https://hooks.example.com/", TokenFile: file}
	answer := func(n int, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 1:
			replace("new-token\n")
			w.WriteHeader(503)
		case 2:
			replace("")
			w.WriteHeader(503)
			time.AfterFunc(20*time.Second, func() { replace("\tlast-token") })
		}
	}
	log := &records{}
	c.Log = slog.New(log)
	bubble(t, c, answer, func(t *testing.T, h *Webhook, r *receiver) {
		h.url.Scheme = "http" // no TLS over the wire
		if outcome, err := h.Tell(t.Context(), sample()); outcome != OK {
			t.Fatalf("%s, %v", outcome, err)
		}
		var tokens []string
		for _, got := range r.all() {
			tokens = append(tokens, got.header.Get("Authorization"))
		}
		if diff := cmp.Diff([]string{"Bearer old-token", "Bearer new-token", "Bearer last-token"}, tokens); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
		if said := log.text(); !strings.Contains(said, "holds no token") || strings.Contains(said, "-token") {
			t.Errorf("logged %s", said)
		}
	})
}

func TestATokenIsOneWordInItsFile(t *testing.T) {
	for text, want := range map[string]string{"abc\n": "abc", "  abc.-_~+/=\r\n": "abc.-_~+/=", "": "", "a b": "", "a\nX-Header: b": "", "ü": "", strings.Repeat("x", maxToken+1): ""} {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readToken(file); got != want || (err == nil) != (want != "") {
			t.Errorf("%.20q: %q, %v", text, got, err)
		}
	}
}

func TestAnAnswerIsFinalOrTriedAgain(t *testing.T) {
	for code, again := range map[int]bool{
		200: false, 201: false, 202: false, 204: false, 299: false,
		400: false, 401: false, 403: false, 404: false, 409: false, 410: false, 413: false, 422: false, 304: false,
		408: true, 429: true, 500: true, 501: true, 502: true, 503: true, 504: true, 599: true,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, WebhookConfig{}, first(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }), func(t *testing.T, h *Webhook, r *receiver) {
				outcome, err := h.Tell(t.Context(), sample())
				if want := map[bool]int{true: 2, false: 1}[again]; len(r.all()) != want {
					t.Errorf("%d requests, want %d", len(r.all()), want)
				}
				if ok := again || code/100 == 2; ok != (outcome == OK) || ok != (err == nil) {
					t.Errorf("%s, %v", outcome, err)
				}
			})
		})
	}
}

func TestARefusalIsShownWithTheBeginningOfItsText(t *testing.T) {
	answer := func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, "invalid\n\npayload\x1b[31m\n"+strings.Repeat("x", 10000))
	}
	bubble(t, WebhookConfig{}, answer, func(t *testing.T, h *Webhook, r *receiver) {
		outcome, err := h.Tell(t.Context(), sample())
		want := "post to http://hooks.example.com: the receiver answers 400 Bad Request: invalid payload?[31m xxx"
		if outcome != Failed || !strings.HasPrefix(fmt.Sprint(err), want) || len(err.Error()) > 700 {
			t.Errorf("%s, %v", outcome, err)
		}
	})
}

func TestAReceiverThatIsDownIsTriedForAnHourWithGrowingWaits(t *testing.T) {
	bubble(t, WebhookConfig{Seed: 7}, status(500), func(t *testing.T, h *Webhook, r *receiver) {
		begun := time.Now()
		outcome, err := h.Tell(t.Context(), sample())
		took := time.Since(begun)
		if outcome != Failed || !strings.Contains(fmt.Sprint(err), "given up after") || took > time.Hour || took < time.Hour-mostWait {
			t.Errorf("%s after %v, %v", outcome, took, err)
		}
		gaps := r.gaps()
		if n := len(gaps); n < 15 || n > 35 {
			t.Errorf("%d attempts", n+1)
		}
		for i, gap := range gaps {
			full := min(time.Second<<min(i, 20), mostWait)
			if gap < full/2 || gap > full {
				t.Errorf("%v after attempt %d, want %v to %v", gap, i+1, full/2, full)
			}
		}
	})
}

func TestTheSameSeedWaitsTheSameAndAnotherDoesNot(t *testing.T) {
	waits := func(seed uint64) (list []time.Duration) {
		bubble(t, WebhookConfig{Seed: seed, GiveUp: time.Minute}, status(503), func(t *testing.T, h *Webhook, r *receiver) {
			_, _ = h.Tell(t.Context(), sample())
			list = r.gaps()
		})
		return list
	}
	a, b, c := waits(1), waits(1), waits(2)
	if !cmp.Equal(a, b) || cmp.Equal(a, c) || len(a) < 4 {
		t.Errorf("%v\n%v\n%v", a, b, c)
	}
}

func TestARetryAfterIsHonouredWithinBounds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "86400": mostAsked, "99999999999999999999999": 0, "-5": 0, "soon": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		now.AddDate(500, 0, 0).Format(http.TimeFormat):    mostAsked,
	} {
		if got := asked(header, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
	for _, code := range []int{429, 503} {
		answer := first(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "77")
			w.WriteHeader(code)
		})
		bubble(t, WebhookConfig{}, answer, func(t *testing.T, h *Webhook, r *receiver) {
			if outcome, err := h.Tell(t.Context(), sample()); outcome != OK {
				t.Fatalf("%s, %v", outcome, err)
			}
			if diff := cmp.Diff([]time.Duration{77 * time.Second}, r.gaps()); diff != "" {
				t.Errorf("%d: waits (-want +got):\n%s", code, diff)
			}
		})
	}
}

func TestAReceiverThatComesBackIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &wire{calls: make(chan net.Conn), closed: make(chan struct{})}
		_ = down.Close()
		r := newReceiver(status(200))
		defer r.end()
		log := &records{}
		h := wired(t, down, WebhookConfig{Log: slog.New(log)})
		back := time.Now().Add(10 * time.Minute)
		h.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if time.Now().Before(back) {
				return down.dial(ctx, network, address)
			}
			return r.dial(ctx, network, address)
		}
		if outcome, err := h.Tell(t.Context(), sample()); outcome != OK || err != nil {
			t.Errorf("%s, %v", outcome, err)
		}
		if late := time.Since(back); late > mostWait {
			t.Errorf("told %v after it was back", late)
		}
		warned := 0
		for _, said := range log.said("could not tell of an event yet") {
			if said["level"] == "WARN" {
				warned++
			}
		}
		if warned != 1 {
			t.Errorf("%d warnings", warned)
		}
	})
}

// What a receiver does that is slow or endless costs at most the time limit of an attempt.
func TestASlowOrEndlessReceiverEndsWithTheLimitOfTheAttempt(t *testing.T) {
	until := func(r *http.Request) { <-r.Context().Done() }
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("x")); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
	}
	flood := func(w http.ResponseWriter) {
		part := bytes.Repeat([]byte("x"), 1<<16)
		for {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
	// raw answers with bytes as they are, and then waits until the caller is gone.
	raw := func(w http.ResponseWriter, text string) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
	cases := []struct {
		name    string
		answer  func(w http.ResponseWriter, r *http.Request)
		outcome Outcome
		took    time.Duration
		err     string
	}{
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { until(r) }, TimedOut, DefaultWebhookLimit, "no answer within 10s"},
		{"half a header", func(w http.ResponseWriter, _ *http.Request) { raw(w, "HTTP/1.1 200 OK\r\nX: y") }, TimedOut, DefaultWebhookLimit, "no answer within 10s"},
		{"a header without end", func(w http.ResponseWriter, _ *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20))
		}, Failed, 0, "server response headers exceeded"},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) { raw(w, strings.Repeat("\x1bnonsense ", 5000)+"\r\n") }, Failed, 0, "malformed HTTP"},
		{"well, with a body that never ends", func(w http.ResponseWriter, _ *http.Request) { flood(w) }, OK, 0, ""},
		{"well, with a body that drips", drip, OK, 0, ""},
		{"refused, with a body that never ends", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); flood(w) }, Failed, 0, "500 Internal Server Error: xxx"},
		{"refused, with a body that drips", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); drip(w, r) }, Failed, DefaultWebhookLimit, "400 Bad Request: xxxxxxxxxx"},
		{"another protocol", func(w http.ResponseWriter, _ *http.Request) {
			raw(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		}, Failed, 0, "101 Switching Protocols"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			answer := func(_ int, w http.ResponseWriter, r *http.Request) { c.answer(w, r) }
			bubble(t, WebhookConfig{GiveUp: 1}, answer, func(t *testing.T, h *Webhook, r *receiver) {
				begun := time.Now()
				outcome, err := h.Tell(t.Context(), sample())
				if took := time.Since(begun); outcome != c.outcome || took != c.took {
					t.Errorf("%s after %v, want %s after %v", outcome, took, c.outcome, c.took)
				}
				if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\x1b")) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

func TestOnlyARedirectThatKeepsHostAndMethodIsFollowed(t *testing.T) {
	const path = "POST hooks.example.com/services/path-secret?key=query-secret"
	cases := []struct {
		name     string
		code     int
		to       string
		outcome  Outcome
		requests []string
		err      string
	}{
		{"to another path", 307, "/new?x=1", OK, []string{path, "POST hooks.example.com/new?x=1"}, ""},
		{"to another path for good", 308, "http://HOOKS.example.com/new", OK, []string{path, "POST HOOKS.example.com/new"}, ""},
		{"to another host", 307, "http://evil.example.com/target-secret", Failed, []string{path}, "redirects (307) to http://evil.example.com,"},
		{"to another port", 307, "http://hooks.example.com:81/", Failed, []string{path}, "redirects (307) to http://hooks.example.com:81,"},
		{"to another scheme", 308, "https://hooks.example.com/", Failed, []string{path}, "redirects (308) to https://hooks.example.com,"},
		{"that makes it a GET", 302, "/new", Failed, []string{path}, "redirects (302) to http://hooks.example.com,"},
		{"that always makes it a GET", 303, "/new", Failed, []string{path}, "redirects (303) to http://hooks.example.com,"},
		{"for good, that makes it a GET", 301, "/new", Failed, []string{path}, "redirects (301) to http://hooks.example.com,"},
		{"to nowhere", 307, "", Failed, []string{path}, "307"},
		{"to what is no URL", 307, "http://[%31]/" + strings.Repeat("x", 5000), Failed, []string{path}, "Location"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			answer := first(func(w http.ResponseWriter, _ *http.Request) {
				if c.to != "" {
					w.Header().Set("Location", c.to)
				}
				w.WriteHeader(c.code)
			})
			bubble(t, WebhookConfig{GiveUp: 1}, answer, func(t *testing.T, h *Webhook, r *receiver) {
				outcome, err := h.Tell(t.Context(), sample())
				if outcome != c.outcome || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || len(err.Error()) > 1000) {
					t.Errorf("%s, %v", outcome, err)
				}
				if diff := cmp.Diff(c.requests, r.requests()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if last := r.all()[len(r.all())-1]; last.body != sampleDocument {
					t.Errorf("body %q", last.body)
				}
				if strings.Contains(fmt.Sprint(err), "target-secret") {
					t.Error(err)
				}
			})
		})
	}
}

func TestRedirectsWithoutEndAreNotFollowedForEver(t *testing.T) {
	answer := func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}
	bubble(t, WebhookConfig{}, answer, func(t *testing.T, h *Webhook, r *receiver) {
		outcome, err := h.Tell(t.Context(), sample())
		if outcome != Failed || err == nil || len(r.all()) != 1+maxRedirects {
			t.Errorf("%s, %v, %d requests", outcome, err, len(r.all()))
		}
	})
}

func TestNoSecretIsShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, all string) {
		if strings.Contains(all, "secret") || all == "" {
			t.Errorf("shown: %s", all)
		}
	}
	tell := func(t *testing.T, h *Webhook, log *records) {
		_, err := h.Tell(t.Context(), sample())
		check(t, fmt.Sprint(err)+log.text())
	}
	log := &records{}
	c := WebhookConfig{URL: "https" + strings.TrimPrefix(secretURL, "http"), TokenFile: file, GiveUp: time.Minute, Log: slog.New(log)}
	answers := map[string]func(int, http.ResponseWriter, *http.Request){
		"refused": status(403), "down": status(500), "redirected": func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "//x/secret", http.StatusFound)
		},
		"slow": func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			bubble(t, c, answer, func(t *testing.T, h *Webhook, _ *receiver) {
				h.url.Scheme = "http"
				tell(t, h, log)
			})
		})
	}
	t.Run("no network", func(t *testing.T) {
		bubble(t, c, status(200), func(t *testing.T, h *Webhook, r *receiver) {
			_ = r.Close()
			h.url.Scheme = "http"
			tell(t, h, log)
		})
	})
	t.Run("no URL", func(t *testing.T) {
		for _, bad := range []string{"https://h:port-secret/", "https://h/%zz-secret", "ht tp://secret", "https://user:secret@/path", "ftp://h/secret", "http://h\x00secret/"} {
			_, err := NewWebhook(WebhookConfig{URL: bad})
			if err == nil {
				t.Errorf("%s: no error", bad)
			}
			check(t, fmt.Sprint(err))
		}
	})
}

func TestAWebhookEndsWithTheContext(t *testing.T) {
	cases := map[string]func(int, http.ResponseWriter, *http.Request){
		"while it waits for another attempt": status(503),
		"while it waits for an answer":       func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, WebhookConfig{}, answer, func(t *testing.T, h *Webhook, r *receiver) {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				begun := time.Now()
				outcome, err := h.Tell(ctx, sample())
				if took := time.Since(begun); outcome == OK || err == nil || took != 100*time.Millisecond || len(r.all()) != 1 {
					t.Errorf("%s, %v after %v and %d requests", outcome, err, took, len(r.all()))
				}
			})
		})
	}
}

func TestNoConnectionIsKept(t *testing.T) {
	for _, protocol := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", protocol), func(t *testing.T) {
			states := make(chan http.ConnState, 100)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != protocol {
					w.WriteHeader(http.StatusHTTPVersionNotSupported)
				}
			}))
			server.EnableHTTP2 = protocol == 2
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) { states <- s }
			server.StartTLS()
			defer server.Close()
			h, err := NewWebhook(WebhookConfig{URL: server.URL, GiveUp: 1})
			if err != nil {
				t.Fatal(err)
			}
			h.transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			h.transport.TLSClientConfig.NextProtos = nil
			h.transport.ForceAttemptHTTP2 = true // as without a configuration of TLS
			if outcome, err := h.Tell(t.Context(), sample()); outcome != OK {
				t.Errorf("%s, %v", outcome, err)
			}
			for s := range states {
				if s == http.StateClosed {
					break
				}
			}
		})
	}
}

func TestACertificateThatNoRootOfTheSystemKnowsIsRefused(t *testing.T) {
	called := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	h, err := NewWebhook(WebhookConfig{URL: server.URL, GiveUp: 1})
	if err != nil {
		t.Fatal(err)
	}
	if outcome, err := h.Tell(t.Context(), sample()); outcome != Failed || called || !strings.Contains(fmt.Sprint(err), "certificate") {
		t.Errorf("%s, %v", outcome, err)
	}
}

func TestAWebhookThatCannotBeIsAnErrorAtOnce(t *testing.T) {
	cases := []struct {
		name   string
		config WebhookConfig
		want   string // "": it can
	}{
		{"https", WebhookConfig{URL: "https://example.com/x", TokenFile: "/f"}, ""},
		{"http", WebhookConfig{URL: "http://example.com/x"}, ""},
		{"a token within the machine", WebhookConfig{URL: "http://[::1]:8080/x", TokenFile: "/f"}, ""},
		{"a token within the machine, by its name", WebhookConfig{URL: "http://localhost/x", TokenFile: "/f"}, ""},
		{"a token that everyone can read", WebhookConfig{URL: "http://example.com/x", TokenFile: "/f"}, "a bearer token over http to example.com can be read on its way"},
		{"nothing", WebhookConfig{}, `its URL begins with "": want http or https`},
		{"a word", WebhookConfig{URL: "example.com/x"}, "want http or https"},
		{"no host", WebhookConfig{URL: "https:///x"}, "its URL names no host"},
		{"negative times", WebhookConfig{URL: "https://example.com", Limit: -1, GiveUp: -1}, "a time limit of -1ns"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, err := NewWebhook(c.config)
			if c.want == "" {
				if err != nil || h == nil {
					t.Error(err)
				}
			} else if h != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
