package exporter

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

const plainRequest = "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"

// closes checks that the server ends a connection without another word, some time.
func closes(t *testing.T, what string, c io.Reader) {
	t.Helper()
	if b, err := io.ReadAll(c); len(b) > 0 {
		t.Errorf("%s: got %q, %v", what, b, err)
	}
}

func TestWhoDoesNotAskToTheEndIsLeft(t *testing.T) {
	nothingLeftBehind(t)
	r := start(t, Config{Limits: Limits{HeaderTime: 50 * time.Millisecond, IdleTime: 50 * time.Millisecond}})
	silent := r.dial(t)
	half := r.dial(t)
	fmt.Fprint(half, "GET /metrics HTTP/1.1\r\nHost: loc")
	resting := r.dial(t)
	fmt.Fprint(resting, plainRequest)
	buffered := bufio.NewReader(resting)
	answer, err := http.ReadResponse(buffered, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodyOf(t, answer)
	trickling := r.dial(t)
	go func() {
		for { // a byte now and then gains no time
			if _, err := trickling.Write([]byte("G")); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	closes(t, "one that says nothing", silent)
	closes(t, "one that says half", half)
	closes(t, "one that rests", buffered)
	if b, _ := io.ReadAll(trickling); len(b) > 0 && !bytes.HasPrefix(b, []byte("HTTP/1.1 400")) {
		t.Errorf("one that trickles: %q", b)
	}
}

func TestAHeaderWithoutEndIsRefused(t *testing.T) {
	r := start(t, Config{Limits: Limits{HeaderBytes: 4096}})
	for name, header := range map[string]string{
		"one long line":   "X: " + strings.Repeat("x", 64<<10),
		"many short ones": strings.Repeat("X: y\r\n", 16<<10),
	} {
		c := r.dial(t)
		go func() { fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", header) }()
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
	}
}

// heap is what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	for range 3 { // what pools hold goes with the second
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestNoBodyIsRead(t *testing.T) {
	nothingLeftBehind(t)
	r := start(t, Config{})
	const size = 100 << 20
	zeros := make([]byte, 64<<10)
	for name, test := range map[string]struct {
		head   string
		status int
		chunk  []byte // what is sent again and again
	}{
		"100 MB posted":                      {"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n", 405, zeros},
		"100 MB with a GET":                  {"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n", 413, zeros},
		"chunks without end":                 {"GET /api/v1/status HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 413, append([]byte("10000\r\n"), append(zeros, '\r', '\n')...)},
		"a byte a chunk without end":         {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 405, []byte(strings.Repeat("1\r\nx\r\n", 1000))},
		"one that waits to be told to go on": {"PUT /metrics HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 104857600\r\n\r\n", 405, nil},
		"one that is announced, not sent":    {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", 413, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			c := r.dial(t)
			if err := c.(*net.TCPConn).SetWriteBuffer(64 << 10); err != nil { // so that little waits at this end
				t.Fatal(err)
			}
			sent := make(chan int, 1)
			go func() {
				n := 0
				_, err := io.WriteString(c, test.head)
				for err == nil && n < size && test.chunk != nil {
					var m int
					m, err = c.Write(test.chunk)
					n += m
				}
				sent <- n
			}()
			buffered := bufio.NewReader(c)
			answer, err := http.ReadResponse(buffered, nil)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != test.status || !answer.Close {
				t.Errorf("%s, and the connection is to go on: %v", answer.Status, !answer.Close)
			}
			_, _ = io.Copy(io.Discard, buffered) // until the server closes, or resets
			n := <-sent
			t.Logf("%d KiB were sent", n>>10)
			if n > 4<<20 {
				t.Errorf("%d KiB were taken", n>>10)
			}
			if after := heap(); after > before+4<<20 {
				t.Errorf("the heap grew from %d to %d KiB", before>>10, after>>10)
			}
		})
	}
}

func TestWhatFollowsARefusedBodyIsNoRequest(t *testing.T) {
	r := start(t, Config{})
	c := r.dial(t)
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(plainRequest), plainRequest)
	b, _ := io.ReadAll(c)
	if n := strings.Count(string(b), "HTTP/1.1 "); n != 1 {
		t.Errorf("%d answers: %s", n, b)
	}
}

func TestWhoDoesNotReadIsLeft(t *testing.T) {
	nothingLeftBehind(t)
	document := []byte(`"` + strings.Repeat("x", 32<<20) + `"`) // more than sockets buffer
	r := start(t, Config{Status: func() ([]byte, error) { return document, nil }, Limits: Limits{WriteTime: 100 * time.Millisecond}})
	c := r.dial(t)
	fmt.Fprint(c, "GET /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n")
	eventually(t, "the connection was given up", func() bool { return r.gate.open() == 0 })
}

// TestSlowClientsCannotShutOthersOut fills every place, again and again, with clients that keep it.
func TestSlowClientsCannotShutOthersOut(t *testing.T) {
	nothingLeftBehind(t)
	const places = 16
	r := start(t, Config{Limits: Limits{Connections: places, Patience: time.Millisecond}})
	var held []net.Conn
	for round := range 5 {
		for i := range 2 * places {
			c := r.dial(t)
			if i%2 == 0 {
				fmt.Fprint(c, "GET /metrics HT")
			}
			held = append(held, c)
		}
		if answer := r.say(t, plainRequest); answer.StatusCode != 200 {
			t.Fatalf("round %d: %s", round, answer.Status)
		}
		if n := r.gate.open(); n > places {
			t.Errorf("%d connections are open", n)
		}
	}
	if n := r.evictions.Load(); n < uint64(len(held)-places) {
		t.Errorf("%d connections were evicted of %d", n, len(held))
	}
	if n := strings.Count(r.log.String(), "to make room"); n < 1 || n > 3 {
		t.Errorf("%d lines about it: %s", n, r.log)
	}
}
