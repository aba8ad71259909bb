package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/klog"
)

// kernelNews tells what the kernel logs; tests have their own.
type kernelNews interface {
	News() ([]byte, error)
	Close() error
}

// followKernel follows the log of the running kernel.
func followKernel() (kernelNews, error) {
	f, err := kmsg.Config{}.Follow()
	if err != nil {
		return nil, fmt.Errorf("follow the kernel's log, which has to end a run that loads a counter: %w", err)
	}
	return f, nil
}

// errKernelComplains ends a run that loads a counter.
var errKernelComplains = errors.New("the kernel's own watchdog has trouble with its reads")

// condemnedError tells that the kernel has given up its TSC.
type condemnedError struct{ line string }

func (e *condemnedError) Error() string {
	return fmt.Sprintf("the kernel condemned its TSC under this run, and does not take it back before the next boot (%s)", e.line)
}

// Is tells that a condemned TSC is the greatest of complaints.
func (e *condemnedError) Is(target error) bool { return target == errKernelComplains }

// complaint reads what the kernel has logged and fails with its first line about reads
// that were late, or about a clock that it gave up.
func complaint(log kernelNews) error {
	news, err := log.News()
	if err != nil {
		return fmt.Errorf("follow the kernel's log during a run that loads a counter: %w", err)
	}
	return complaintIn(news, func(line string) error {
		return fmt.Errorf("%w (%q): this run was stopped before it costs the TSC", errKernelComplains, line)
	})
}

// complaintIn hands lines about late reads to late, and returns its first error. A TSC
// that was condemned is a condemnedError, wherever it stands among them.
func complaintIn(news []byte, late func(line string) error) error {
	if len(news) == 0 {
		return nil
	}
	var failed error
	r := klog.NewReader(bytes.NewReader(news), "/dev/kmsg")
	for r.Next() {
		switch e := r.Event(); e.Kind {
		case event.TSCUnstable, event.DelayVerdict, event.SkewVerdict, event.DeltaVerdict, event.FrequencyVerdict, event.InterCPUVerdict:
			return &condemnedError{e.Text}
		case event.Retried, event.BusyReference, event.TestSkipped, event.LongInterval, event.ReadTimedOut, event.RemoteTimedOut, event.CoarseCheck:
			if failed == nil {
				failed = late(e.Text)
			}
		}
	}
	if err := r.Err(); failed == nil && err != nil && err != io.EOF {
		return fmt.Errorf("read the kernel's log during a run that loads a counter: %w", err)
	}
	return failed
}

// logPause is how long after a look at the kernel's log comes the next: well within the half second between a watchdog's checks.
const logPause = 50 * time.Millisecond

// beside runs something while look is called again and again; the first error of look ends the
// run's context, and is the error then. The last look comes after the run: too late
// to stop it, but whoever reads the figures should know.
func beside(ctx context.Context, look func() error, run func(context.Context) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	looked := make(chan error, 1)
	go func() {
		for {
			if err := look(); err != nil {
				cancel()
				looked <- err
				return
			}
			select {
			case <-inner.Done():
				looked <- nil
				return
			case <-time.After(logPause):
			}
		}
	}()
	err := run(inner)
	cancel()
	seen := <-looked
	if seen == nil {
		seen = look()
	}
	if seen != nil {
		return seen
	}
	return err
}

// underLog runs something that loads a counter while the kernel's log is followed, whose first complaint
// ends it. Without a log it is not run.
func underLog(ctx context.Context, follow func() (kernelNews, error), run func(context.Context) error) error {
	log, err := follow()
	if err != nil {
		return err
	}
	err = beside(ctx, func() error { return complaint(log) }, run)
	return errors.Join(err, log.Close())
}
