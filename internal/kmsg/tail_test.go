package kmsg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipe is a device that delivers a record with each read and can be waited for, as the
// kernel's: a socket that keeps messages apart. Reads fail with what is in errs first.
type pipe struct {
	t    testing.TB
	in   int
	out  int
	errs chan error
}

func newPipe(t testing.TB) *pipe {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pipe{t: t, in: ends[0], out: ends[1], errs: make(chan error, 8)}
	t.Cleanup(func() { unix.Close(p.in) })
	return p
}

func (p *pipe) log(records ...string) {
	p.t.Helper()
	for _, r := range records {
		if err := unix.Send(p.in, []byte(r), 0); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *pipe) config() Config {
	return Config{system: system{
		open: func(string) (int, error) { return p.out, nil },
		read: func(fd int, b []byte) (int, error) {
			select {
			case err := <-p.errs:
				return -1, err
			default:
				return unix.Read(fd, b)
			}
		},
	}}
}

func (p *pipe) tail(from uint64) *Tail {
	p.t.Helper()
	tail, err := p.config().Tail(from)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { tail.Close() })
	return tail
}

func expectBatch(t *testing.T, tail *Tail, text string, numbers []uint64, lost, overruns uint64) {
	t.Helper()
	b, err := tail.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(b.Text) != text || !slices.Equal(b.Numbers, numbers) || b.Lost != lost || b.Overruns != overruns {
		t.Errorf("batch %q %v, lost %d in %d overruns; want %q %v, %d in %d", b.Text, b.Numbers, b.Lost, b.Overruns, text, numbers, lost, overruns)
	}
}

func TestATailBeginsWithTheBootAndWaitsForMore(t *testing.T) {
	p := newPipe(t)
	p.log(record(0, "a"), record(1, "b")+" SUBSYSTEM=acpi\n DEVICE=+acpi:1\n")
	tail := p.tail(0)
	expectBatch(t, tail, record(0, "a")+record(1, "b"), []uint64{0, 1}, 0, 0)
	time.AfterFunc(10*time.Millisecond, func() { p.log(record(2, "c")) })
	expectBatch(t, tail, record(2, "c"), []uint64{2}, 0, 0)
}

func TestATailGoesOnBehindWhatWasReadBefore(t *testing.T) {
	p := newPipe(t)
	p.log(record(0, "a"), record(1, "b"), record(2, "c"))
	expectBatch(t, p.tail(2), record(2, "c"), []uint64{2}, 0, 0)

	p = newPipe(t)
	p.log(record(0, "a"), record(1, "b"))
	tail := p.tail(2)
	expectBatch(t, tail, "", nil, 0, 0) // which says that nothing is new
	time.AfterFunc(10*time.Millisecond, func() { p.log(record(2, "c")) })
	expectBatch(t, tail, record(2, "c"), []uint64{2}, 0, 0)
}

func TestATailCountsWhatWasOverwritten(t *testing.T) {
	for _, c := range []struct {
		name string
		from uint64
		lost uint64
	}{
		{"before anybody looked, which is no loss of the tail's", 0, 0},
		{"since the last program stopped", 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipe(t)
			p.log(record(5, "a"))
			tail := p.tail(c.from)
			expectBatch(t, tail, record(5, "a"), []uint64{5}, c.lost, 0)
			p.errs <- unix.EPIPE
			p.log(record(9, "b"))
			expectBatch(t, tail, record(9, "b"), []uint64{9}, 3, 1)
		})
	}
}

func TestATailEndsWithItsContext(t *testing.T) {
	p := newPipe(t)
	p.log(record(0, "a"))
	tail := p.tail(0)
	expectBatch(t, tail, record(0, "a"), []uint64{0}, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := tail.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	p.log(record(1, "b"))
	expectBatch(t, tail, record(1, "b"), []uint64{1}, 0, 0)
}

func TestATailFailsWhereTheDeviceDoes(t *testing.T) {
	p := newPipe(t)
	p.log(record(0, "a"), record(1, "b"))
	tail := p.tail(0)
	p.errs <- unix.EIO
	expectBatch(t, tail, record(0, "a"), []uint64{0}, 0, 0) // what was read stands
	expectBatch(t, tail, record(1, "b"), []uint64{1}, 0, 0)
	p.errs <- unix.EIO
	if _, err := tail.Next(t.Context()); !errors.Is(err, unix.EIO) {
		t.Errorf("error %v, want one of reading", err)
	}
	unix.Shutdown(p.in, unix.SHUT_WR)
	if _, err := tail.Next(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a device that ends: error %v", err)
	}
}

func TestAFloodComesInPiecesOfBoundedSize(t *testing.T) {
	p := newPipe(t)
	const records = 6_000 // more than one piece
	p.log(record(0, "begin"))
	tail := p.tail(0)
	text := strings.Repeat("x", 100)
	go func() {
		for n := 1; n < records; n++ {
			for unix.Send(p.in, []byte(record(n, text)), 0) == unix.EAGAIN {
				time.Sleep(10 * time.Microsecond)
			}
		}
	}()
	next := uint64(0)
	for next < records {
		b, err := tail.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Text) > maxBatch+recordBytes || strings.Count(string(b.Text), "\n") != len(b.Numbers) || b.Lost > 0 {
			t.Fatalf("a batch of %d bytes, %d records, %d lost", len(b.Text), len(b.Numbers), b.Lost)
		}
		for _, n := range b.Numbers {
			if n != next {
				t.Fatalf("record %d, want %d", n, next)
			}
			next++
		}
	}
}

func ExampleConfig_Tail() {
	t, err := Config{Device: "/dev/null"}.Tail(0)
	fmt.Println(t != nil, err != nil) // no device of a kernel's log
	// Output: false true
}
