package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"syscall"
	"time"
)

// ErrClosed says that the connection is gone, as when QEMU has ended.
var ErrClosed = errors.New("the connection to QEMU is closed")

const (
	maxLine     = 4 << 20 // the longest answer, a description of the protocol, has 0.2 MB
	eventsKept  = 256
	dialPace    = 10 * time.Millisecond
	migratePace = 20 * time.Millisecond
	brokenPace  = time.Second
)

// Client is a connection to a virtual machine. Its methods may be called at the same time.
type Client struct {
	conn     net.Conn
	greeting Greeting
	events   chan Event
	read     chan struct{} // closed when the reading has ended

	mu      sync.Mutex
	lastID  uint64
	waiting map[uint64]chan message
	dropped int64
	err     error // why the reading ended
}

// Dial connects to QEMU's QMP socket. QEMU makes the socket while it starts, so
// Dial waits for it until ctx ends.
func Dial(ctx context.Context, path string) (*Client, error) {
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			return New(ctx, conn)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("connect to QEMU at %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to QEMU at %s: %w (last: %w)", path, context.Cause(ctx), err)
		case <-time.After(dialPace):
		}
	}
}

// New takes over a connection: it waits for the greeting and turns the command
// mode on. It closes the connection if that does not work.
func New(ctx context.Context, conn net.Conn) (*Client, error) {
	c := &Client{conn: conn, events: make(chan Event, eventsKept), read: make(chan struct{}), waiting: map[uint64]chan message{}}
	greeted := make(chan Greeting, 1)
	go c.readAll(greeted)
	select {
	case g, ok := <-greeted:
		if !ok {
			return nil, errors.Join(fmt.Errorf("wait for QEMU's greeting: %w", c.reason()), c.Close())
		}
		c.greeting = g
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("wait for QEMU's greeting: %w", context.Cause(ctx)), c.Close())
	}
	if err := c.Execute(ctx, "qmp_capabilities", nil, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Greeting returns what QEMU said first.
func (c *Client) Greeting() Greeting { return c.greeting }

// Events returns the channel of events. It is closed when the connection ends.
// Up to 256 events wait for a reader; further ones are dropped and counted.
func (c *Client) Events() <-chan Event { return c.events }

// Dropped counts the events that nobody read in time.
func (c *Client) Dropped() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// Close ends the connection and waits for the reading goroutine. The machine goes on.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.read
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Execute runs a command. Arguments may be nil; the answer is decoded into
// result unless that is nil. QEMU's refusal is an *[Error] in the chain.
func (c *Client) Execute(ctx context.Context, command string, arguments, result any) error {
	err := c.execute(ctx, command, arguments, result)
	if err != nil {
		return fmt.Errorf("QMP command %s: %w", command, err)
	}
	return nil
}

func (c *Client) execute(ctx context.Context, command string, arguments, result any) error {
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.lastID++
	id := c.lastID
	c.waiting[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, id)
	}()

	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
		ID        uint64 `json:"id"`
	}{command, arguments, id})
	if err != nil {
		return err
	}
	if err := c.send(ctx, append(line, '\n')); err != nil {
		return err
	}
	select {
	case m := <-answer:
		return m.into(result)
	case <-c.read:
		select {
		case m := <-answer: // it came just before the end
			return m.into(result)
		default:
			return c.reason()
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send writes a line. After half a line the connection is of no more use.
func (c *Client) send(ctx context.Context, line []byte) error {
	deadline, _ := ctx.Deadline() // the zero time: none
	err := c.conn.SetWriteDeadline(deadline)
	if err == nil {
		_, err = c.conn.Write(line)
	}
	if err == nil {
		return nil
	}
	// Why it broke, the reading side knows better: it gets to the end of what
	// QEMU said before.
	select {
	case <-c.read:
		return c.reason()
	case <-time.After(brokenPace):
		c.conn.Close()
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
}

// into decodes an answer.
func (m message) into(result any) error {
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Return, result)
}

// reason says why the reading ended.
func (c *Client) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// readAll reads messages until the connection ends.
func (c *Client) readAll(greeted chan<- Greeting) {
	defer close(c.read)
	defer close(c.events)
	defer close(greeted)
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	var err error
	for first := true; err == nil && lines.Scan(); first = false {
		var m message
		switch m, err = parseMessage(lines.Bytes()); {
		case err != nil:
		case (m.Greeting != nil) != first:
			err = errors.New("QEMU did not begin with its greeting, or greeted twice")
		case first:
			greeted <- *m.Greeting
		case m.Event != "":
			c.event(Event{Name: m.Event, Data: m.Data, Time: m.Timestamp.time()})
		case m.ID != nil:
			c.answer(*m.ID, m)
		}
	}
	if err == nil {
		err = lines.Err()
	}
	if err == nil || errors.Is(err, net.ErrClosed) {
		err = ErrClosed
	} else {
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	c.conn.Close()
}

func (c *Client) event(e Event) {
	select {
	case c.events <- e:
	default:
		c.mu.Lock()
		c.dropped++
		c.mu.Unlock()
	}
}

func (c *Client) answer(id uint64, m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[id]; ok {
		delete(c.waiting, id)
		answer <- m // it has room for the one answer
	}
}
