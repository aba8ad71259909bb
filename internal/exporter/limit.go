package exporter

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A gate bounds the connections of all listeners together. When the bound is
// reached it is not the newcomer that is turned away, but the connection that
// has kept the server waiting longest: so whoever holds connections open
// without asking anything cannot shut out whoever asks.
type gate struct {
	limit    int
	patience time.Duration // how long a connection may be waited for before it must make room
	stuck    time.Duration // how long we may be at an answer before it must make room
	evicted  func()        // called once for each connection that was closed to make room
	began    time.Time

	mu    sync.Mutex
	conns map[*conn]struct{}
	freed chan struct{} // a connection went: look again
	done  chan struct{}
	once  sync.Once
}

func newGate(limit int, patience, stuck time.Duration, evicted func()) *gate {
	return &gate{
		limit: limit, patience: patience, stuck: stuck, evicted: evicted,
		began: time.Now().Add(-time.Nanosecond), // so that no instant is 0
		conns: map[*conn]struct{}{}, freed: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// now is the time since the gate was made, never 0.
func (g *gate) now() time.Duration { return time.Since(g.began) }

// phase is what a connection and the server are at.
type phase int64

const (
	arrived  phase = iota // we have not looked at it yet
	asking                // the client has not asked yet, or not to the end
	serving               // we are at its answer
	answered              // its answer is on its way
	draining              // so is it, and what the client sends of a body is thrown away
	outside               // it waits for its unknown password to be checked
	idle                  // it had its answer, and asked nothing since
	phases
)

// A conn is a connection that knows since when it has been waited for. Its
// state is kept without a lock, so that no connection waits for another one.
type conn struct {
	net.Conn
	gate *gate

	state   atomic.Int64 // the phase, and since when: see enter
	reading atomic.Bool  // a read waits for the client to send
	writing atomic.Int64 // since when a write waits for the client to read; 0: none does
}

// enter changes the phase.
func (c *conn) enter(p phase) { c.state.Store(int64(c.gate.now())*int64(phases) + int64(p)) }

// at returns the phase and when it began.
func (c *conn) at() (phase, time.Duration) {
	s := c.state.Load()
	return phase(s % int64(phases)), time.Duration(s / int64(phases))
}

// unread tells whether the client has sent what we did not come to read, as
// happens on a busy machine: then it is not the client that is waited for.
func (c *conn) unread() bool {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	if err := raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK) // the socket does not block
	}); err != nil {
		return false
	}
	return n > 0
}

// Read notes that from now on it is the client that is waited for.
func (c *conn) Read(p []byte) (int, error) {
	if phase, _ := c.at(); phase == arrived {
		c.enter(asking)
	}
	c.reading.Store(true)
	defer c.reading.Store(false)
	return c.Conn.Read(p)
}

// Write notes since when it waits: a client that does not read its answer keeps
// us waiting as one does that does not ask.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Store(int64(c.gate.now()))
	defer c.writing.Store(0)
	return c.Conn.Write(p)
}

// waited returns how long the connection has kept us waiting, or whether it has been
// waiting for us, and how long.
func (c *conn) waited(now time.Duration) (long time.Duration, us bool) {
	if since := c.writing.Load(); since != 0 {
		return now - time.Duration(since), false
	}
	phase, since := c.at()
	switch phase {
	case draining, outside:
		return now - since, false
	case serving: // a read waits for the client to hang up
		return now - since, true
	}
	return now - since, !c.reading.Load()
}

// Close closes the connection and gives its place away.
func (c *conn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	select {
	case c.gate.freed <- struct{}{}:
	default:
	}
	return c.Conn.Close()
}

// evict closes a connection that has lost its place already. What it was sent
// and did not read is thrown away, else the kernel would keep it for minutes.
func (c *conn) evict() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok && c.writing.Load() != 0 {
		_ = tcp.SetLinger(0) // without it the connection is closed all the same
	}
	_ = c.Conn.Close() // nobody is there to be told
}

// admit gives the connection a place, and takes it from another one if there is
// none. It waits while all others have been waited for only just now: a burst
// of clients that ask at once is no attack, and is served in turn. It returns
// false when the gate was closed meanwhile.
func (g *gate) admit(c *conn) bool {
	for {
		victim, wait := g.place(c)
		if victim != nil {
			victim.evict()
			g.evicted()
		}
		if wait == 0 {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-g.freed:
		case <-g.done:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// place lets a connection in, and returns the one that lost its place to it, if
// one had to; or else how long to wait.
func (g *gate) place(c *conn) (victim *conn, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.conns) >= g.limit {
		if victim, wait = g.longest(); victim == nil {
			return nil, wait
		}
		delete(g.conns, victim)
	}
	c.enter(arrived)
	g.conns[c] = struct{}{}
	return victim, 0
}

// longest returns the connection that has kept us waiting longest, of those
// that we have waited for long enough; failing that, the one that has been
// waiting for us far too long; failing that, nil and the time until there may be one.
func (g *gate) longest() (*conn, time.Duration) {
	now := g.now()
	for {
		var victim *conn
		var oldest time.Duration
		ours := false // the victim waits for us
		wait := g.stuck
		for c := range g.conns {
			long, us := c.waited(now)
			need := g.patience
			if us {
				need = g.stuck
			}
			if long < need {
				wait = min(wait, need-long)
				continue
			}
			if victim == nil || ours && !us || ours == us && long > oldest {
				victim, oldest, ours = c, long, us
			}
		}
		if victim == nil {
			return nil, wait
		}
		phase, _ := victim.at()
		if phase != asking && phase != idle || victim.writing.Load() != 0 || !victim.unread() {
			return victim, 0
		}
		victim.enter(arrived) // on a busy machine: it is we who are late
	}
}

// close lets nobody in any more, and closes the connections that never asked.
// The others stay.
func (g *gate) close() {
	g.once.Do(func() { close(g.done) })
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if phase, _ := c.at(); phase == arrived || phase == asking {
			delete(g.conns, c)
			_ = c.Conn.Close() // nobody is there to be told
		}
	}
}

// open counts the connections.
func (g *gate) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

// What the kernel may keep of a connection: more than a header, more than an exposition.
const (
	receiveBuffer = 32 << 10
	sendBuffer    = 128 << 10
)

// A limitedListener hands out connections that the gate let in.
type limitedListener struct {
	net.Listener
	gate *gate
}

func (l limitedListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		// Else the kernel would keep megabytes of a body that we never read. An error
		// leaves the kernel's own bounds.
		_ = tcp.SetReadBuffer(receiveBuffer)
		_ = tcp.SetWriteBuffer(sendBuffer)
	}
	c := &conn{Conn: raw, gate: l.gate}
	if !l.gate.admit(c) {
		_ = raw.Close() // the server ends: that is what the caller is told
		return nil, net.ErrClosed
	}
	return c, nil
}

// connOf finds our connection in what package net/http hands out.
func connOf(c net.Conn) *conn {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = wrapped.NetConn()
	}
	ours, _ := c.(*conn)
	return ours
}
