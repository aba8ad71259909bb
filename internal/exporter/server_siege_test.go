package exporter

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A siege is many clients at once that ask one server without pause or keep it waiting.
type siege struct {
	siegePlan
	secure *tls.Config // nil: without TLS

	scraped, refused atomic.Int64 // scrapes that were answered whole, and those that were not
	hostile          atomic.Int64 // connections of the others
}

// A siegePlan is what the process that lays a siege is told.
type siegePlan struct {
	Address     string
	Certificate []byte // that of the server; nil: without TLS
	Scrapers    int
	Rest        time.Duration // of a scraper between its scrapes
	Again       time.Duration // until a hostile client that was closed comes again
}

// A siegeReport is what it tells.
type siegeReport struct{ Scraped, Refused, Hostile int64 }

// siegeOfTheChild lays a siege by the plan on standard input, until that ends.
func siegeOfTheChild(t *testing.T) {
	input := json.NewDecoder(os.Stdin)
	s := &siege{}
	if err := input.Decode(&s.siegePlan); err != nil {
		t.Fatal(err)
	}
	scheme := "http"
	if s.Certificate != nil {
		scheme, s.secure = "https", client(s.Certificate).Transport.(*http.Transport).TLSClientConfig
		s.secure.ServerName = "127.0.0.1"
	}
	lift := s.lay(scheme + "://" + s.Address + "/metrics")
	for asked := bufio.NewScanner(io.MultiReader(input.Buffered(), os.Stdin)); asked.Scan(); {
		if asked.Text() == "report" {
			sayJSON(t, "report", siegeReport{s.scraped.Load(), s.refused.Load(), s.hostile.Load()})
		}
	}
	lift()
}

func (s *siege) dial(ctx context.Context, secure *tls.Config) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", s.Address)
	if err == nil && secure != nil {
		c = tls.Client(c, secure)
	}
	if err == nil {
		context.AfterFunc(ctx, func() { c.Close() })
	}
	return c, err
}

// scraper scrapes, rests and scrapes again, over a connection that it keeps while it can.
func (s *siege) scraper(ctx context.Context, url string, offset time.Duration) {
	transport := &http.Transport{TLSClientConfig: s.secure}
	defer transport.CloseIdleConnections()
	by := http.Client{Transport: transport}
	for rest := offset; ; rest = s.Rest {
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		request, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			panic(err)
		}
		answer, err := by.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		switch {
		case err == nil && answer.StatusCode == 200:
			s.scraped.Add(1)
		case ctx.Err() == nil:
			s.refused.Add(1)
		}
	}
}

// hold keeps a connection for as long as the server lets it, and then another:
// it says its first words, and then more without end, if there is more.
func (s *siege) hold(ctx context.Context, secure *tls.Config, first string, more []byte, pause time.Duration) {
	for ctx.Err() == nil {
		s.hostile.Add(1)
		inner, cancel := context.WithCancel(ctx)
		c, err := s.dial(inner, secure)
		if err == nil {
			_, err = io.WriteString(c, first)
		}
		if err == nil && more == nil {
			_, err = io.Copy(io.Discard, c)
		}
		for err == nil && more != nil {
			_, err = c.Write(more)
			time.Sleep(pause)
		}
		cancel()
		// The attack is on the server's patience, not on CPUs that the clients share with it.
		time.Sleep(s.Again)
	}
}

// deaf asks again and again, and never reads an answer.
func (s *siege) deaf(ctx context.Context) {
	s.hold(ctx, s.secure, "", []byte("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), time.Millisecond)
}

// lay lays the siege and returns a function that ends it.
func (s *siege) lay(url string) (lift func()) {
	hostile := func(n int) int { return max(1, n*s.Scrapers/1000) }
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	many := func(n int, one func()) {
		for range n {
			all.Go(one)
		}
	}
	for i := range s.Scrapers {
		all.Go(func() { s.scraper(ctx, url, time.Duration(i)*s.Rest/time.Duration(s.Scrapers)) })
	}
	zeros := make([]byte, 64<<10)
	// To 1000 scrapers 200 slow clients: they say nothing, half, a byte now and then, or do not read.
	many(hostile(60), func() { s.hold(ctx, nil, "", nil, 0) })
	many(hostile(60), func() { s.hold(ctx, s.secure, "GET /metrics HTTP/1.1\r\nHost: lo", nil, 0) })
	many(hostile(60), func() {
		s.hold(ctx, s.secure, "GET /metrics HTTP/1.1\r\nX: ", []byte("x"), 20*time.Millisecond)
	})
	many(hostile(20), func() { s.deaf(ctx) })
	// Bodies of 100 MB and without end.
	many(hostile(10), func() {
		s.hold(ctx, s.secure, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n", zeros, 0)
	})
	many(hostile(10), func() {
		s.hold(ctx, s.secure, "GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", []byte("5\r\nhello\r\n"), 0)
	})
	// Broken handshakes, which without TLS are requests of nonsense.
	many(hostile(20), func() { s.hold(ctx, nil, string(zeros[:300]), nil, 0) })
	many(hostile(20), func() {
		s.hold(ctx, nil, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+string(zeros[:500]), nil, 0)
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// TestAWellBehavedClientIsServedDuringASiege has the server in one process and its other clients in another.
func TestAWellBehavedClientIsServedDuringASiege(t *testing.T) {
	program := withoutRace(t)
	cert, key, _ := credentials(t, "server")
	config := files(t, map[string]string{"web.yml": tlsConfig, "server.crt": string(cert), "server.key": string(key)})
	for name, test := range map[string]struct {
		kind, scheme string
		plan         siegePlan
	}{
		// Fifteen times as often as is usual.
		"without TLS": {"http", "http", siegePlan{Rest: time.Second, Again: 50 * time.Millisecond}},
		// Three times as often: a handshake takes both sides a millisecond of a CPU.
		"with TLS": {config, "https", siegePlan{Rest: 5 * time.Second, Again: time.Second, Certificate: cert}},
	} {
		t.Run(name, func(t *testing.T) {
			server := startChild(t, program, test.kind)
			test.plan.Address, test.plan.Scrapers = server.line(t, "address "), 1000
			var times []time.Duration
			ask := func(by *http.Client, path string) {
				t.Helper()
				began := time.Now()
				answer, err := by.Get(test.scheme + "://" + test.plan.Address + path)
				if err != nil {
					t.Error(err)
					return
				}
				body := bodyOf(t, answer)
				if times = append(times, time.Since(began)); answer.StatusCode != 200 {
					t.Errorf("%s: %s: %s", path, answer.Status, body)
				}
			}
			fresh, kept := client(cert), client(cert) // one connects anew each time
			kept.Transport.(*http.Transport).DisableKeepAlives = false
			defer kept.CloseIdleConnections()
			ask(fresh, "/metrics")
			before := server.footprint(t)

			besiegers := startChild(t, program, "siege")
			if err := json.NewEncoder(besiegers.stdin).Encode(test.plan); err != nil {
				t.Fatal(err)
			}
			var report siegeReport
			eventually(t, "the siege is on", func() bool {
				besiegers.ask(t, "report", &report)
				return report.Scraped > int64(test.plan.Scrapers) && report.Hostile > 300
			})
			times = nil
			for range 25 {
				for _, path := range []string{"/metrics", "/-/healthy", "/api/v1/status"} {
					ask(fresh, path)
					ask(kept, path)
				}
				time.Sleep(10 * time.Millisecond)
			}
			during := server.footprint(t)
			besiegers.ask(t, "report", &report)
			besiegers.stdin.Close()
			kept.CloseIdleConnections()

			slices.Sort(times)
			t.Logf("%d answers to the well-behaved: median %v, longest %v; to others: %+v", len(times), times[len(times)/2], times[len(times)-1], report)
			if longest := times[len(times)-1]; longest > time.Second {
				t.Errorf("an answer took %v", longest)
			}
			var after footprint
			eventually(t, "goroutines and connections are gone", func() bool {
				after = server.footprint(t)
				return after.Open == 0 && after.Goroutines <= before.Goroutines
			})
			t.Logf("before %+v", before)
			t.Logf("during %+v", during)
			t.Logf("after  %+v", after)
			if after.HeapBytes > before.HeapBytes+4<<20 {
				t.Errorf("the heap grew from %d to %d KiB", before.HeapBytes>>10, after.HeapBytes>>10)
			}
			if during.Open > 512 || during.Goroutines > 3*512 {
				t.Errorf("%d connections, %d goroutines", during.Open, during.Goroutines)
			}
			if after.LinesLogged > 100 {
				t.Errorf("%d lines were logged", after.LinesLogged)
			}
			if grown := int64(after.PeakBytes - before.PeakBytes); grown > 96<<20 {
				t.Errorf("the process grew by %d MiB", grown>>20)
			}
		})
	}
}

// TestASmallSiege is the same within one process, for the race detector: only that all are answered counts.
func TestASmallSiege(t *testing.T) {
	nothingLeftBehind(t)
	r := start(t, Config{Gatherer: usualRegistry(t), Limits: Limits{Connections: 40, Patience: 50 * time.Millisecond}})
	s := &siege{siegePlan: siegePlan{Address: r.address(), Scrapers: 50, Rest: 100 * time.Millisecond, Again: 10 * time.Millisecond}}
	lift := s.lay("http://" + r.address() + "/metrics")
	good := client(nil)
	for i := range 30 {
		// The client's own connection can be slow where all share one process, and be
		// closed for that: another one is not.
		eventually(t, "an answer", func() bool {
			answer, err := good.Get("http://" + r.address() + "/-/healthy")
			if err != nil {
				return false
			}
			if answer.StatusCode != 200 {
				t.Errorf("request %d: %s", i+1, answer.Status)
			}
			answer.Body.Close()
			return true
		})
		if n := r.gate.open(); n > 40 {
			t.Errorf("%d connections are open", n)
		}
	}
	lift()
	eventually(t, "every connection is closed", func() bool { return r.gate.open() == 0 })
}
