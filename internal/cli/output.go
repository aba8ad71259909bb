package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cswatch/cswatch/internal/unpack"
)

// untilSignal returns a context that ends when the user or the system asks the
// program to stop, so that it can clean up. A second signal ends it at once.
// It hears an interrupt and a request to terminate, and the signals named besides.
func untilSignal(ctx context.Context, besides ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, append(besides, os.Interrupt, syscall.SIGTERM)...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// writeOutput writes the file that a command was told to write, "-" for standard
// output. A regular file, or the one that a link leads to, is replaced as a whole
// or stays as it was. A device or a pipe is written to. Errors call the file by
// its name, with what it is before that, such as "archive ", or "".
func writeOutput(ctx context.Context, env *Env, what, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(interruptible{ctx, env.Stdout})
	}
	what += unpack.Shown(name)
	target, inPlace, err := outputTarget(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", what, withoutName(err))
	}
	if inPlace {
		err = writeInPlace(ctx, target, write)
	} else {
		f, createErr := os.CreateTemp(filepath.Dir(target), ".cswatch-*")
		if createErr != nil {
			return fmt.Errorf("create %s: %w", what, withoutName(createErr))
		}
		err = writeWhole(ctx, f, target, write)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", what, withoutName(err))
	}
	return nil
}

// outputTarget follows the links of a name. What is no regular file is written
// in place, and so is whatever is named by way of an open file (/dev/stdout,
// /dev/fd/3): others hold it open and would not see one in its place.
func outputTarget(name string) (target string, inPlace bool, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return "", false, errors.New("it is a folder; name a file in it")
	case err == nil && !info.Mode().IsRegular():
		return name, true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	for range 40 { // as many as Linux follows
		link, err := os.Lstat(name)
		if err != nil || link.Mode()&fs.ModeSymlink == 0 {
			return name, false, nil // what cannot be made there fails with its reason
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			return "", false, err
		}
		if strings.HasPrefix(dir, "/proc/") {
			return name, true, nil
		}
		to, err := os.Readlink(name)
		if err != nil {
			return "", false, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		name = to
	}
	return "", false, syscall.ELOOP
}

// outputFile is what writeWhole needs of a file.
type outputFile interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

// writeWhole writes a new file that lies beside its final name and renames it, so
// that a failure or a signal leaves neither half a file nor a damaged old one.
func writeWhole(ctx context.Context, f outputFile, name string, write func(io.Writer) error) error {
	err := write(interruptible{ctx, f})
	if err == nil {
		err = withoutName(f.Sync())
	}
	err = errors.Join(err, withoutName(f.Close()))
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(withoutName(err), withoutName(os.Remove(f.Name())))
	}
	return nil
}

// writeInPlace writes to what is there.
func writeInPlace(ctx context.Context, name string, write func(io.Writer) error) error {
	f, err := openInPlace(ctx, name)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = f.SetWriteDeadline(time.Now()) // ends a write that waits; what cannot wait has no deadline
	})
	defer stop()
	err = write(interruptible{ctx, f})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, withoutName(f.Close()))
}

// openInPlace opens what is there. A named pipe is waited for until somebody
// reads it, or the context ends.
func openInPlace(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
		if err == nil {
			return f, nil
		}
		info, statErr := os.Stat(name)
		if !errors.Is(err, syscall.ENXIO) || statErr != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// interruptible refuses to write once its context has ended.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

func (i interruptible) Write(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	n, err := i.w.Write(p)
	return n, withoutName(err)
}

// withoutName takes the name out of an error of the system. It is said already,
// in a form that does nothing to a terminal.
func withoutName(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
