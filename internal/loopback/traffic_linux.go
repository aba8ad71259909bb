package loopback

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cswatch/cswatch/internal/hw"
)

// Running is traffic that flows.
type Running struct {
	traffic Traffic
	began   time.Time
	flows   []*flow
	end     atomic.Uint32
	finish  sync.Once
	threads sync.WaitGroup
	ended   chan struct{}
	back    func() // gives the room for the threads back

	mu    sync.Mutex
	errs  []error
	total Sample
}

// flow is a connection, or a run of them, and the threads at its ends.
type flow struct {
	client, server worker
	ask, answer    func() error // what they do
}

// Start starts traffic and returns when all its threads run. It flows until ctx is done, [Running.Stop] is called or
// a connection breaks. Stop must be called. On an error nothing runs.
func Start(ctx context.Context, t Traffic) (*Running, error) {
	t, err := t.filled()
	if err == nil {
		err = Raise()
	}
	if err != nil {
		return nil, fmt.Errorf("run traffic over loopback: %w", err)
	}
	r := &Running{traffic: t, ended: make(chan struct{})}
	r.back = hw.MakeRoom(2 * t.Flows)
	for range t.Flows {
		if err = r.open(); err != nil {
			break
		}
	}
	if err == nil {
		err = r.run()
	}
	r.began = time.Now()
	if err != nil {
		r.halt()
	}
	stop := context.AfterFunc(ctx, r.halt)
	go func() {
		r.threads.Wait()
		stop()
		r.halt() // comes back when no other call is under way, which would shut down sockets of others once these are closed
		r.count(&r.total)
		r.total.At = time.Since(r.began)
		r.closeAll()
		r.back()
		close(r.ended)
	}()
	if err != nil {
		_, _ = r.Stop()
		return nil, fmt.Errorf("run traffic over loopback: %w", err)
	}
	return r, nil
}

// open makes a flow.
func (r *Running) open() error {
	l, err := listen()
	if err != nil {
		return err
	}
	f := &flow{client: worker{name: ClientThread, end: &r.end}, server: worker{name: ServerThread, end: &r.end}}
	if r.traffic.Test == CRR {
		err = l.forget()
		f.client.socket, f.server.socket = -1, l.fd
	} else {
		f.client.socket, f.server.socket, err = l.pair()
	}
	if err != nil || r.traffic.Test != CRR {
		err = errors.Join(err, unix.Close(l.fd))
	}
	if err != nil {
		return err
	}
	r.flows = append(r.flows, f)
	out, in := make([]byte, r.traffic.Size), make([]byte, r.traffic.Size)
	for i := range out {
		out[i] = byte(i) // memory that nobody has written to is one page of zeros, which is always in the cache
	}
	switch r.traffic.Test {
	case Stream:
		f.ask, f.answer = func() error { return f.client.send(out) }, func() error { return f.server.receive(in) }
	case RR:
		f.ask, f.answer = func() error { return f.client.ask(out) }, func() error { return f.server.answer(in) }
	case CRR:
		f.ask, f.answer = func() error { return f.client.askAnew(&l.addr, out) }, func() error { return f.server.answerEach(in) }
	}
	return nil
}

// run starts the threads of all flows and returns when they are in their places.
func (r *Running) run() error {
	clientCPU, serverCPU := -1, -1
	if p := r.traffic.Pin; p != nil {
		clientCPU, serverCPU = p.Client, p.Server
	}
	begun := make(chan error)
	for _, f := range r.flows {
		r.thread(&f.server, serverCPU, begun, f.answer)
		r.thread(&f.client, clientCPU, begun, f.ask)
	}
	var errs []error
	for range 2 * len(r.flows) {
		errs = append(errs, <-begun)
	}
	return errors.Join(errs...)
}

// thread starts a thread. Traffic of which one thread has failed is of no use, so that this ends all of it.
func (r *Running) thread(w *worker, cpu int, begun chan<- error, work func() error) {
	r.threads.Go(func() {
		if err := w.run(cpu, begun, work); err != nil {
			r.mu.Lock()
			r.errs = append(r.errs, err)
			r.mu.Unlock()
			r.halt()
		}
	})
}

// halt ends the traffic: whoever waits in the kernel wakes up. The threads may still run when it returns.
func (r *Running) halt() {
	r.finish.Do(func() {
		r.end.Store(1)
		for _, f := range r.flows {
			if f.client.socket >= 0 {
				_ = unix.Shutdown(f.client.socket, unix.SHUT_RDWR)
			}
			_ = unix.Shutdown(f.server.socket, unix.SHUT_RDWR)
		}
	})
}

// closeAll closes what the threads have left.
func (r *Running) closeAll() {
	for _, f := range r.flows {
		if f.client.socket >= 0 {
			_ = unix.Close(f.client.socket)
		}
		_ = unix.Close(f.server.socket)
	}
}

// Done is closed when the traffic has ended.
func (r *Running) Done() <-chan struct{} { return r.ended }

// Stop ends the traffic, waits until its threads are gone and returns what they did in all, without segments
// and CPU use, and what went wrong.
func (r *Running) Stop() (Sample, error) {
	r.halt()
	return r.Wait()
}

// Wait is Stop for traffic that something else ends.
func (r *Running) Wait() (Sample, error) {
	<-r.ended
	if err := errors.Join(r.errs...); err != nil {
		return r.total, fmt.Errorf("run traffic over loopback: %w", err)
	}
	return r.total, nil
}

// count adds up what the threads have counted.
func (r *Running) count(s *Sample) {
	for _, f := range r.flows {
		asked, answered := f.client.done.n.Load(), f.server.done.n.Load()
		if r.traffic.Test == Stream {
			s.SentBytes += asked
			s.ReceivedBytes += answered
		} else {
			s.Transactions += asked
			s.Served += answered
		}
	}
}
