package exporter

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// A door decides in which order passwords are checked. The check itself is the
// toolkit's: it takes some 50 ms of a CPU on purpose and is done one at a time,
// first come, first served, so that without an order of our own whoever sends
// wrong passwords without pause keeps everybody waiting for as long as he likes.
//
//   - Words that were right before go first. The toolkit remembers about a
//     hundred answers, so that they mostly cost nothing.
//   - Of all others one is checked at a time, and the client addresses take turns.
//   - An address whose words were wrong has its next turn after a pause.
type door struct {
	next  http.Handler // the toolkit's
	key   [32]byte
	pause time.Duration // after wrong words
	queue time.Duration // the longest that a request waits

	strangers chan struct{} // full while words are checked that were not right before

	mu        sync.Mutex
	known     map[digest]chan struct{} // words that were right; the channel is full while they are checked
	addresses map[netip.Prefix]*turn
}

// A digest stands for words without giving them away.
type digest [sha256.Size]byte

// A turn is what the requests of one address wait for.
type turn struct {
	taken chan struct{}
	users int // that hold or await it
}

// maxKnown bounds the words that are remembered as right: the users of one
// machine's monitor are few.
const maxKnown = 64

func newDoor(next http.Handler) *door {
	d := &door{
		next: next, pause: time.Second, queue: 5 * time.Second,
		strangers: make(chan struct{}, 1),
		known:     map[digest]chan struct{}{}, addresses: map[netip.Prefix]*turn{},
	}
	_, _ = rand.Read(d.key[:]) // it never fails
	return d
}

type passageKey struct{}

// A passage is one request on its way through the check.
type passage struct {
	door   *door
	digest digest
	taken  []chan struct{} // places that others wait for, in the order in which they were taken
	passed bool
}

// pass is called once the toolkit has let the request in.
func (p *passage) pass(r *http.Request) {
	enter(r, serving)
	p.passed = true
	p.door.remember(p.digest)
	p.keep(0)
}

// keep gives back all places but the first n.
func (p *passage) keep(n int) {
	for len(p.taken) > n {
		<-p.taken[len(p.taken)-1]
		p.taken = p.taken[:len(p.taken)-1]
	}
}

// take waits for a place until the context ends.
func (p *passage) take(ctx context.Context, place chan struct{}) bool {
	select {
	case place <- struct{}{}:
		p.taken = append(p.taken, place)
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	words := r.Header.Get("Authorization")
	if words == "" {
		d.next.ServeHTTP(w, r) // costs nothing: in, or 401
		return
	}
	sum := hmac.New(sha256.New, d.key[:])
	sum.Write([]byte(words))
	p := &passage{door: d, digest: digest(sum.Sum(nil))}
	defer p.keep(0)
	waiting, cancel := context.WithTimeout(r.Context(), d.queue)
	defer cancel()
	r = r.WithContext(context.WithValue(r.Context(), passageKey{}, p))

	if known := d.recall(p.digest); known != nil {
		if !p.take(waiting, known) {
			unavailable(w, "too many requests with this password at a time")
			return
		}
		d.next.ServeHTTP(w, r)
		return
	}

	enter(r, outside)
	address := source(r.RemoteAddr)
	mine := d.enqueue(address)
	defer d.leave(address)
	if !p.take(waiting, mine) {
		unavailable(w, "too many requests with unknown passwords from this address at a time")
		return
	}
	place := d.strangers
	if known := d.recall(p.digest); known != nil { // as the one before in this queue has shown
		place = known
	}
	if !p.take(waiting, place) {
		unavailable(w, "too many requests with unknown passwords at a time")
		return
	}
	if d.next.ServeHTTP(w, r); !p.passed {
		p.keep(1)
		// The address has to wait even if this client is gone, else it need only come
		// again. What was answered goes out when we return.
		time.Sleep(d.pause)
	}
}

// recall returns what requests with words that were right wait for, nil for unknown ones.
func (d *door) recall(words digest) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[words]
}

// remember notes words that were right. They stay when they are so no longer:
// the toolkit knows, and they gain no more than a place in the order.
func (d *door) remember(words digest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[words] != nil {
		return
	}
	for other := range d.known {
		if len(d.known) < maxKnown {
			break
		}
		delete(d.known, other)
	}
	d.known[words] = make(chan struct{}, 1)
}

// enqueue and leave keep one turn for each address from which requests wait.
func (d *door) enqueue(address netip.Prefix) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.addresses[address]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		d.addresses[address] = t
	}
	t.users++
	return t.taken
}

func (d *door) leave(address netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.addresses[address]
	if t.users--; t.users == 0 {
		delete(d.addresses, address)
	}
}

// source is the address that takes a turn: of IPv6 the network, since whoever
// has one address of it mostly has them all. Local sockets share one.
func source(remote string) netip.Prefix {
	endpoint, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := endpoint.Addr().Unmap().WithZone("")
	bits := 64
	if address.Is4() {
		bits = 32
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
