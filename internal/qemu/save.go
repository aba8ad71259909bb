package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cswatch/cswatch/internal/qemu/snapshot"
)

// Save writes the machine's state to a file, from which a [Spec] with that path in
// From goes on, as often as wanted. The machine must have been specified with QMP.
// It ends with it, and its Outcome is Stopped. The file has the size of the memory
// that the guest has used. A record of which the guest had written a part is lost
// to both machines. If Save fails there is no file, and the machine may still run.
func (m *Machine) Save(ctx context.Context, path string) error {
	if err := m.save(ctx, path); err != nil {
		return fmt.Errorf("save the state of the machine to %s: %w", path, err)
	}
	return nil
}

func (m *Machine) save(ctx context.Context, path string) (err error) {
	client, err := m.QMP(ctx)
	if err != nil {
		return err
	}
	defer client.Close() // the machine has ended, or its owner ends it
	// Written beside and renamed, so that a file by this name is always whole.
	f, err := os.CreateTemp(filepath.Dir(path), ".saving-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	// A socket rather than a program that copies: its end tells that all is here.
	socket := filepath.Join(m.dir, "state")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer listener.Close() // closed before where all went well
	receiving, giveUp := context.WithCancel(ctx)
	defer giveUp()
	received := make(chan error, 1)
	go func() { received <- receive(receiving, listener, f) }()
	if err = client.Migrate(ctx, "unix:"+socket); err != nil {
		giveUp()
		// What kept us from taking it is why QEMU failed.
		if other := <-received; other != nil && !errors.Is(other, context.Canceled) {
			err = errors.Join(other, err)
		}
		return err
	}
	if err = <-received; err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err = snapshot.Read(f, size); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	m.stop(errSaved)
	<-m.finished
	return nil
}

// receive takes in what the first caller sends, up to its end.
func receive(ctx context.Context, l net.Listener, w io.Writer) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	conn, err := l.Accept()
	if err == nil {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		_, err = io.Copy(w, conn)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// savedState is what a machine goes on from. nil is a machine that boots.
type savedState struct {
	file  *os.File
	state *snapshot.Snapshot
	steps []snapshot.Step
	err   error // of sending it
}

// openState opens a saved state and finds out whether the steps can be made in it.
func openState(path string, steps []snapshot.Step) (*savedState, error) {
	fail := func(err error) (*savedState, error) {
		return nil, fmt.Errorf("restore the state of a machine from %s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fail(errors.Join(err, f.Close()))
	}
	s, err := snapshot.Read(f, size)
	if err == nil {
		err = s.Check(steps...)
	}
	if err != nil {
		return fail(errors.Join(err, f.Close()))
	}
	return &savedState{file: f, state: s, steps: steps}, nil
}

// send writes the state to QEMU, with the steps made.
func (s *savedState) send(w io.Writer) {
	// QEMU that ends before says why itself.
	if err := s.state.Write(w, s.steps...); err != nil && !errors.Is(err, syscall.EPIPE) {
		s.err = fmt.Errorf("restore the state of a machine from %s: %w", s.file.Name(), err)
	}
}

// close returns the error of sending, too.
func (s *savedState) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.err, s.file.Close())
}
