package exporter

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A visitor is a client's end of a connection through a gate.
type visitor struct {
	net.Conn
	ours *conn
}

// visit takes a connection through the gate, or reports that it did not get in.
func visit(g *gate) (visitor, bool) {
	client, server := net.Pipe()
	c := &conn{Conn: server, gate: g}
	return visitor{client, c}, g.admit(c)
}

// gone tells whether the server closed the connection. Only for visitors to whom nothing is written.
func (v visitor) gone() bool {
	_ = v.SetReadDeadline(time.Now().Add(time.Nanosecond))
	_, err := v.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func mustVisit(t *testing.T, g *gate) visitor {
	t.Helper()
	v, ok := visit(g)
	if !ok {
		t.Fatal("the gate let nobody in")
	}
	return v
}

// rests lets the server wait for what the client says, in a phase.
func (v visitor) rests(p phase) {
	v.ours.enter(p)
	go func() { _, _ = v.ours.Read(make([]byte, 1)) }()
	synctest.Wait()
}

func TestTheConnectionThatWaitedLongestMakesRoom(t *testing.T) {
	const patience, stuck = 100 * time.Millisecond, 2 * time.Second
	const moment = time.Millisecond
	for name, test := range map[string]struct {
		// play takes three connections to what they are at, and calls then a moment between them.
		play func(a, b, c visitor, then func(time.Duration))
		// victim is the one that has to make room.
		victim int
		// waits is how long the newcomer has to wait.
		waits time.Duration
	}{
		"the first of three that never asked": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				for _, v := range []visitor{a, b, c} {
					v.rests(arrived)
					then(patience)
				}
			},
			victim: 1,
		},
		"nobody at once where all came just now": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				b.rests(arrived)
				then(moment)
				a.rests(arrived)
				c.rests(arrived)
			},
			victim: 2,
			waits:  patience - moment,
		},
		"the one that rests longest after its answer": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				c.rests(idle)
				then(moment)
				a.rests(idle)
				b.rests(asking)
				then(patience)
			},
			victim: 3,
		},
		"the one that asks slowly before one that had its answer later": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				a.ours.enter(serving)
				b.rests(asking)
				then(moment)
				c.rests(idle)
				then(patience)
			},
			victim: 2,
		},
		"the one that asks slowly before those whose answers take us long": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				a.rests(serving) // for the client to hang up
				b.ours.enter(serving)
				then(2 * stuck)
				c.rests(asking)
				then(patience)
			},
			victim: 3,
		},
		"the one that asks slowly before those that we did not come to read": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				a.ours.enter(arrived)
				b.ours.enter(asking)
				then(moment)
				c.rests(arrived)
				then(patience)
			},
			victim: 3,
		},
		"the one whose answer is stuck where all wait for us": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				b.ours.enter(serving)
				then(moment)
				a.ours.enter(arrived)
				c.ours.enter(answered)
			},
			victim: 2,
			waits:  stuck - moment,
		},
		"the one whose body we throw away before those whose answers take us long": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				a.ours.enter(serving)
				b.ours.enter(answered)
				then(2 * stuck)
				c.ours.enter(draining)
				then(patience)
			},
			victim: 3,
		},
		"the one whose password is unknown before those whom we serve": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				a.ours.enter(serving)
				b.ours.enter(outside)
				then(patience)
				c.ours.enter(serving)
			},
			victim: 2,
		},
		"the one that does not read its answer": {
			play: func(a, b, c visitor, then func(time.Duration)) {
				a.ours.enter(serving)
				b.ours.enter(serving)
				c.ours.enter(serving)
				go func() { _, _ = b.ours.Write([]byte("an answer")) }()
				then(patience)
			},
			victim: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				evicted := 0
				g := newGate(3, patience, stuck, func() { evicted++ })
				all := []visitor{mustVisit(t, g), mustVisit(t, g), mustVisit(t, g)}
				test.play(all[0], all[1], all[2], func(d time.Duration) { time.Sleep(d); synctest.Wait() })
				began := time.Now()
				newcomer := mustVisit(t, g)
				if waited := time.Since(began); waited != test.waits {
					t.Errorf("the newcomer waited %v, not %v", waited, test.waits)
				}
				if newcomer.gone() {
					t.Error("the newcomer was turned away")
				}
				for i, v := range all {
					if i+1 == test.victim {
						synctest.Wait()
						if !v.gone() {
							t.Errorf("connection %d was kept", i+1)
						}
					} else if v.gone() {
						t.Errorf("connection %d was closed", i+1)
					}
				}
				if evicted != 1 || g.open() != 3 {
					t.Errorf("%d were counted as evicted, %d are open; 1 and 3 were expected", evicted, g.open())
				}
				for _, v := range append(all, newcomer) {
					v.Close()
				}
			})
		})
	}
}

// On a busy machine a request can lie there unread. Then its client is not the
// one that is waited for; unlike one whose body lies there, which nobody reads.
func TestWhoseRequestWeDidNotComeToReadIsKept(t *testing.T) {
	for p, kept := range map[phase]bool{asking: true, idle: true, draining: false, outside: false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		g := newGate(2, time.Nanosecond, time.Hour, func() {})
		connect := func() (client net.Conn, ours *conn) {
			t.Helper()
			client, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			c, err := limitedListener{l, g}.Accept()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return client, c.(*conn)
		}
		spoke, first := connect()
		_, second := connect()
		for _, c := range []*conn{first, second} {
			c.enter(p)
			c.reading.Store(true) // as if it were about to return
			time.Sleep(time.Microsecond)
		}
		if _, err := spoke.Write([]byte("GET /")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the words have arrived", first.unread)
		connect()
		if _, err := first.Conn.Read(make([]byte, 5)); (err == nil) != kept {
			t.Errorf("phase %d: the one that spoke: %v", p, err)
		}
		if !kept {
			continue
		}
		if _, err := second.Conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("phase %d: the silent one was kept: %v", p, err)
		}
	}
}

func TestAClosedConnectionMakesRoomAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, time.Hour, time.Hour, func() { t.Error("one was evicted") })
		first := mustVisit(t, g)
		go func() {
			time.Sleep(time.Second)
			first.ours.Close()
			first.ours.Close() // twice is no harm
		}()
		began := time.Now()
		mustVisit(t, g)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("the newcomer waited %v", waited)
		}
	})
}

func TestAClosedGateLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, time.Hour, time.Hour, func() {})
		silent, asked := mustVisit(t, g), mustVisit(t, g)
		asked.ours.enter(serving)
		go func() {
			time.Sleep(time.Second)
			g.close()
			g.close()
		}()
		if _, ok := visit(g); ok {
			t.Error("one was let in")
		}
		if !silent.gone() || asked.gone() {
			t.Error("one that never asked was kept, or one that did was closed")
		}
	})
}

func TestNoMoreThanTheLimitAreEverOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 8
		g := newGate(limit, 10*time.Millisecond, time.Second, func() {})
		for range 1000 {
			v := mustVisit(t, g)
			v.rests(arrived)
			defer v.Close()
			if n := g.open(); n > limit {
				t.Fatalf("%d are open", n)
			}
		}
	})
}
