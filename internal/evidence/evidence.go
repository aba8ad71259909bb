package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/host"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
)

// log reads any number of logs of one machine into evidence, the oldest first.
type log struct {
	reader *klog.Reader
	record doctor.Recorder
}

// read takes one log to its end. An error comes with everything that was read before it.
func (l *log) read(r io.Reader, name string) error {
	if l.reader == nil {
		l.reader = klog.NewReader(r, name)
	} else {
		l.reader.Continue(r, name)
	}
	for l.reader.Next() {
		l.record.Add(l.reader.Event())
	}
	return l.reader.Err()
}

// into puts what was read into the evidence.
func (l *log) into(ev *doctor.Evidence) {
	ev.Events, ev.LeftOut = l.record.Events()
	if l.reader != nil {
		s := l.reader.Stats()
		ev.LogLines, ev.Foreign = s.Records.Lines, s.Foreign
	}
}

// FromLogs reads logs that belong to one machine; "-" is stdin. Logs that could
// not be read to their end give an error beside the evidence of what was read.
func FromLogs(names []string, stdin io.Reader) (doctor.Evidence, error) {
	var l log
	var problems []error
	ev := doctor.Evidence{Inputs: doctor.Inputs{Logs: names}}
	for _, name := range names {
		problems = append(problems, readLog(&l, &ev, name, stdin))
	}
	l.into(&ev)
	return ev, errors.Join(problems...)
}

// incomplete notes that something could not be read to its end.
func incomplete(ev *doctor.Evidence, what string, err error, howTo string) {
	ev.Incomplete = append(ev.Incomplete, machine.Unreadable{What: what, Reason: oneLine(err), HowTo: howTo})
}

// oneLine is the text of an error that joins several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// parts takes a joined error apart; a nil one has none.
func parts(err error) []error {
	switch e := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return []error{err}
}

func readLog(l *log, ev *doctor.Evidence, name string, stdin io.Reader) error {
	opened, err := kmsg.Config{Stdin: stdin}.OpenLog(name)
	if err != nil {
		incomplete(ev, name, err, "give the log in a form that can be read")
		return err
	}
	defer opened.Close()
	if err := l.read(opened, name); err != nil {
		err = fmt.Errorf("read log %s to its end: %w", name, err)
		incomplete(ev, name, err, "get the whole file again")
		return err
	}
	return nil
}

// FromRoot reads a root folder, a sosreport or an archive: its snapshot and the logs in it.
func FromRoot(path string) (doctor.Evidence, error) {
	return fromRoot(path, nil)
}

// fromRoot reads a root, and then whatever more reads.
func fromRoot(path string, more func(*log, *doctor.Evidence) error) (doctor.Evidence, error) {
	root, err := host.OpenRoot(path)
	if err != nil {
		return doctor.Evidence{}, err
	}
	defer root.Close()
	snapshot, err := root.Collect()
	if err != nil {
		return doctor.Evidence{}, err
	}
	ev := doctor.Evidence{Snapshot: snapshot, Cost: snapshot.Cost, Inputs: doctor.Inputs{Root: path}}
	names := root.Logs()
	var l log
	// In reading order: what tells most of the last boot comes last.
	for _, p := range root.ReadLogs(func(name string, text io.Reader) error { return l.read(text, name) }) {
		incomplete(&ev, p.Name, p.Err, "cswatch doctor --log FILE with the log alone")
	}
	for _, err := range parts(root.Incomplete()) {
		// Named as the snapshot names it, which lists it, too.
		if p := (host.LogProblem{}); errors.As(err, &p) {
			incomplete(&ev, "/"+p.Name, p.Err, "cswatch doctor --log FILE with the log alone")
		} else {
			incomplete(&ev, path, err, "get the whole archive again")
		}
	}
	if more != nil {
		err = more(&l, &ev)
	} else if len(names) == 0 && snapshot.Kind != machine.KindLive {
		snapshot.Unreadable = append(snapshot.Unreadable, machine.Unreadable{What: "kernel log", Reason: "no log is in " + path, HowTo: "cswatch doctor --root " + path + " --log FILE"})
	}
	l.into(&ev)
	return ev, err
}

// Machine gathers the evidence of the running machine. The zero value reads the
// machine itself.
type Machine struct {
	Root string      // "" is "/"
	Kmsg kmsg.Config // where its kernel log is
}

// Surroundings takes the snapshot alone: what the machine says of itself, without its log and without a
// measurement. Whatever could not be had is listed in it as unreadable.
func (m Machine) Surroundings() (doctor.Evidence, error) {
	path := m.Root
	if path == "" {
		path = "/"
	}
	root, err := host.OpenRoot(path)
	if err != nil {
		return doctor.Evidence{}, err
	}
	defer root.Close()
	snapshot, err := root.Collect()
	if errors.Is(err, host.ErrNoMachine) {
		snapshot, err = &machine.Snapshot{Schema: machine.Schema, Root: path, Live: true, Unreadable: []machine.Unreadable{
			{What: "/proc and /sys", Reason: err.Error(), HowTo: "mount /proc and /sys"}}}, nil
	}
	if err != nil {
		return doctor.Evidence{}, err
	}
	return doctor.Evidence{Snapshot: snapshot, Inputs: doctor.Inputs{Live: true}}, nil
}

// Lacks notes in the snapshot of a running machine that something could not be had.
func Lacks(ev *doctor.Evidence, what, reason, howTo string) {
	ev.Snapshot.Unreadable = append(ev.Snapshot.Unreadable, machine.Unreadable{What: what, Reason: reason, HowTo: howTo})
}

// Gather takes the snapshot, the kernel log and the cost of a clock read.
// Whatever could not be had is listed in the snapshot as unreadable.
func (m Machine) Gather(ctx context.Context) (doctor.Evidence, error) {
	ev, err := m.Surroundings()
	if err != nil {
		return ev, err
	}
	lacks := func(what, reason, howTo string) { Lacks(&ev, what, reason, howTo) }
	var l log
	buffer, err := m.Kmsg.ReadBuffer(ctx)
	switch {
	case err != nil:
		lacks("kernel log", oneLine(err), "run as root, or: sudo dmesg > dmesg.txt; cswatch doctor --log dmesg.txt")
	default:
		err = l.read(buffer, buffer.Source)
		if err != nil {
			incomplete(&ev, buffer.Source, err, "run again")
		} else if note := buffer.Note(); note != "" {
			lacks("part of the kernel log", note, "journalctl -k -b -o json > boot.log; cswatch doctor --log boot.log")
		}
		buffer.Close()
	}
	l.into(&ev)
	cost, err := hw.MeasureCost(ctx)
	if err != nil {
		lacks("cost of a clock read", err.Error(), "run again on a machine that is less busy")
	} else {
		ev.Cost = &cost
	}
	return ev, nil
}

// FromRootAndLogs reads a root's snapshot and its logs, and then more logs of the same machine.
func FromRootAndLogs(path string, names []string, stdin io.Reader) (doctor.Evidence, error) {
	return fromRoot(path, func(l *log, ev *doctor.Evidence) error {
		var problems []error
		for _, name := range names {
			problems = append(problems, readLog(l, ev, name, stdin))
		}
		return errors.Join(problems...)
	})
}
