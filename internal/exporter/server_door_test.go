package exporter

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// checkTime is what checking a password takes in these tests.
const checkTime = 50 * time.Millisecond

// A guarded door has a check behind it like the toolkit's: one password at a
// time, in the order in which they come, and the answers remembered.
type guarded struct {
	*door
	mu     sync.Mutex
	known  map[string]bool
	checks []string // the words that were checked, in order
}

func guard() *guarded {
	g := &guarded{known: map[string]bool{}}
	busy := make(chan struct{}, 1) // a mutex that lets a bubble's clock go on
	g.door = newDoor(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		words := r.Header.Get("Authorization")
		g.mu.Lock()
		right, remembered := g.known[words]
		g.mu.Unlock()
		if words != "" && !remembered {
			busy <- struct{}{}
			time.Sleep(checkTime)
			<-busy
			right = strings.HasPrefix(words, "right")
			g.mu.Lock()
			g.known[words] = right
			g.checks = append(g.checks, words)
			g.mu.Unlock()
		}
		if !right {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Context().Value(passageKey{}).(*passage).pass(r)
		if r.URL.Path == "/slow" {
			time.Sleep(time.Hour)
		}
	}))
	return g
}

// forgets makes the check forget its answers, as the toolkit does when there are many.
func (g *guarded) forgets() {
	g.mu.Lock()
	g.known = map[string]bool{}
	g.mu.Unlock()
}

// knock asks from an address with words, and returns the answer's status and how long it took.
func (g *guarded) knock(ctx context.Context, from, words, path string) (int, time.Duration) {
	r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	r.RemoteAddr = from
	if words != "" {
		r.Header.Set("Authorization", words)
	}
	w := httptest.NewRecorder()
	began := time.Now()
	g.ServeHTTP(w, r)
	return w.Code, time.Since(began)
}

// besiege lets many ask from an address with wrong words, never the same, until the context ends.
func (g *guarded) besiege(ctx context.Context, many int, address string) *sync.WaitGroup {
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				g.knock(ctx, fmt.Sprintf("%s:%d", address, i+1), fmt.Sprintf("wrong %s %d %d", address, i, n), "/")
			}
		})
	}
	synctest.Wait()
	return &all
}

func TestWrongPasswordsDoNotKeepTheRightOneWaiting(t *testing.T) {
	const many = 400
	for name, test := range map[string]struct {
		from   string
		before bool // the right words were right before the siege
		forget bool // and the toolkit has forgotten it
		within time.Duration
	}{
		"words that were right before":                                 {from: "192.0.2.1:1", before: true, within: 0},
		"words that were right before, from the attackers' address":    {from: "198.51.100.7:1", before: true, within: 0},
		"words that were right before and have to be checked again":    {from: "198.51.100.7:1", before: true, forget: true, within: 2 * checkTime},
		"words that were never checked, from an address without fault": {from: "192.0.2.1:1", within: 5 * checkTime}, // four other addresses, and itself
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := guard()
				if test.before {
					if status, _ := g.knock(t.Context(), test.from, "right", "/"); status != 200 {
						t.Fatal(status)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				var sieges []*sync.WaitGroup
				for _, address := range []string{"198.51.100.7", "198.51.100.8", "[2001:db8::1]", "[2001:db8:1::1]"} {
					sieges = append(sieges, g.besiege(ctx, many/4, address))
				}
				time.Sleep(10*time.Second + checkTime/3)
				if test.forget {
					g.forgets()
				}
				status, took := g.knock(t.Context(), test.from, "right", "/")
				if status != 200 || took > test.within {
					t.Errorf("answered %d after %v, later than %v", status, took, test.within)
				}
				cancel()
				for _, s := range sieges {
					s.Wait()
				}
			})
		})
	}
}

func TestAnAddressThatGuessesIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g.besiege(ctx, 100, "198.51.100.7").Wait()
		if n := len(g.checks); n > 60 {
			t.Errorf("%d guesses were checked in a minute", n)
		}
		if n := len(g.addresses); n != 0 {
			t.Errorf("%d addresses are kept", n)
		}
	})
}

func TestWhoHangsUpGainsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		for i := range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*checkTime)
			go g.knock(ctx, "198.51.100.7:1", fmt.Sprint("wrong ", i), "/")
			time.Sleep(2 * checkTime)
			cancel()
		}
		time.Sleep(time.Minute) // until nobody is at the door any more
		synctest.Wait()
		if n := len(g.checks); n > 11 {
			t.Errorf("%d guesses were checked in 10 s", n)
		}
	})
}

func TestAThousandWithTheSamePasswordNeedOneCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		for range 2 { // unknown, and known but forgotten by the check
			began := time.Now()
			var all sync.WaitGroup
			for i := range 1000 {
				all.Go(func() {
					if status, _ := g.knock(t.Context(), fmt.Sprintf("192.0.2.1:%d", i+1), "right", "/"); status != 200 {
						t.Error(status)
					}
				})
			}
			all.Wait()
			if took := time.Since(began); took != checkTime {
				t.Errorf("it took %v", took)
			}
			g.forgets()
		}
		if len(g.checks) != 2 {
			t.Errorf("%d checks", len(g.checks))
		}
	})
}

func TestASlowAnswerKeepsNobodyAtTheDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		go g.knock(t.Context(), "192.0.2.1:1", "right", "/slow")
		time.Sleep(time.Second)
		for _, words := range []string{"right", "right too"} {
			if status, took := g.knock(t.Context(), "192.0.2.1:2", words, "/"); status != 200 || took > checkTime {
				t.Errorf("%s: %d after %v", words, status, took)
			}
		}
		time.Sleep(time.Hour)
	})
}

func TestWhoWaitsTooLongAtTheDoorIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		ctx, cancel := context.WithCancel(t.Context())
		siege := g.besiege(ctx, 100, "198.51.100.7")
		status, took := g.knock(t.Context(), "198.51.100.7:1000", "right", "/")
		if status != 503 || took != g.queue {
			t.Errorf("%d after %v", status, took)
		}
		cancel()
		siege.Wait()
	})
}

func TestWhatTheDoorRemembersIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		for i := range 3 * maxKnown {
			g.knock(t.Context(), "192.0.2.1:1", fmt.Sprint("right ", i), "/")
		}
		if n := len(g.door.known); n > maxKnown {
			t.Errorf("%d are remembered", n)
		}
	})
}

func TestNeighboursShareATurn(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":           "192.0.2.1/32",
		"[::ffff:192.0.2.1]:80":  "192.0.2.1/32",
		"[2001:db8::1]:80":       "2001:db8::/64",
		"[2001:db8::ffff:1]:443": "2001:db8::/64",
		"[fe80::1%eth0]:1":       "fe80::/64",
		"@":                      "invalid Prefix",
		"":                       "invalid Prefix",
	} {
		if got := source(remote); got.String() != want {
			t.Errorf("%s: %s, not %s", remote, got, want)
		}
	}
	if source("@") != (netip.Prefix{}) {
		t.Error("local sockets have turns of their own")
	}
}

// TestAFloodOfWrongPasswordsOverTheNetwork has the toolkit's own check.
func TestAFloodOfWrongPasswordsOverTheNetwork(t *testing.T) {
	nothingLeftBehind(t)
	hash := middleHash
	if underRace { // which makes the check take as long as the usual one, and longer
		hash = cheapHash
	}
	r := start(t, Config{ConfigFile: files(t, map[string]string{"web.yml": "basic_auth_users: {prometheus: " + hash + "}\n"})})
	from := func(ip string) *http.Transport {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		return &http.Transport{DialContext: d.DialContext}
	}
	ask := func(ctx context.Context, by *http.Transport, password string) (int, error) {
		request, err := http.NewRequestWithContext(ctx, "GET", "http://"+r.address()+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		request.SetBasicAuth("prometheus", password)
		answer, err := by.RoundTrip(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	attackers := from("127.0.0.2")
	if _, err := ask(t.Context(), attackers, "open barley"); err != nil {
		t.Skipf("this machine does not let 127.0.0.2 be another client: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	for i := range 200 {
		flood.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, _ = ask(ctx, attackers, fmt.Sprint("open barley ", i, n))
			}
		})
	}
	eventually(t, "the flood has begun", func() bool { return r.gate.open() > 100 })
	good := from("127.0.0.1")
	good.DisableKeepAlives = true
	for i := range 10 {
		began := time.Now()
		status, err := ask(t.Context(), good, "open sesame")
		if took := time.Since(began); err != nil || status != 200 || took > time.Second {
			t.Errorf("scrape %d: %d after %v (%v)", i+1, status, took, err)
		} else {
			t.Logf("scrape %d: answered after %v", i+1, took)
		}
	}
	cancel()
	flood.Wait()
	attackers.CloseIdleConnections()
	good.CloseIdleConnections()
}
