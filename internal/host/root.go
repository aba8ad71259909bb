package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/cswatch/cswatch/internal/unpack"
	"github.com/cswatch/cswatch/machine"
)

// ErrNoMachine says that a root holds nothing of a Linux machine.
var ErrNoMachine = errors.New("nothing of a Linux machine is in it")

// Root is a place that a snapshot can be collected from. Close it when done.
type Root struct {
	path   string
	kind   string
	fsys   fs.FS
	logs   []string
	limits logLimits
	// problems are known from the names of logs alone.
	problems []LogProblem
	closer   io.Closer
	// of a tarball
	tarball *tarball
	source  tarSource
}

// OpenRoot opens a folder ("/" is the running machine) or a tarball, plain or
// compressed, and recognises a sosreport and an archive of cswatch collect in
// either. A tarball is read once from end to end here, and again if links in it
// lead where facts and logs are not expected.
func OpenRoot(path string) (*Root, error) {
	r, err := openRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open root %s: %w", unpack.Shown(path), why(err))
	}
	r.limits = usualLimits
	r.logs, r.problems = listLogs(r.fsys)
	return r, nil
}

func openRoot(path string) (*Root, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return openFolder(path)
	case info.Mode().IsRegular():
		return openTarball(path)
	}
	return nil, errors.New("it is neither a folder nor a tarball")
}

func openFolder(name string) (*Root, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if sub := onlyTop(root); sub != "" {
		inner, err := root.OpenRoot(sub)
		root.Close()
		if err != nil {
			return nil, fmt.Errorf("open its only folder: %w", why(err))
		}
		root = inner
	}
	fsys := folderFS{root}
	r := &Root{path: name, fsys: fsys, closer: root, kind: kindOf(fsys, machine.KindFolder)}
	if sameAsRunning(name) {
		r.kind = machine.KindLive
	}
	return r, nil
}

// sameAsRunning says that a folder is the root of the running machine, by whatever name.
func sameAsRunning(name string) bool {
	a, err := os.Stat(name)
	if err != nil {
		return false
	}
	b, err := os.Stat("/")
	return err == nil && os.SameFile(a, b)
}

// onlyTop names the one folder in which an unpacked sosreport or archive lies,
// if the given folder holds nothing else.
func onlyTop(root *os.Root) string {
	d, err := root.Open(".")
	if err != nil {
		return ""
	}
	defer d.Close()
	entries, err := d.ReadDir(2)
	if err != nil || len(entries) != 1 || !entries[0].IsDir() {
		return ""
	}
	top := entries[0].Name()
	for _, mark := range [...]string{"sos_commands", "cswatch", "proc"} {
		if _, err := root.Stat(path.Join(top, mark)); err == nil {
			return top
		}
	}
	return ""
}

func openTarball(name string) (r *Root, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	src, err := newTarSource(f, info.Size(), name)
	if err != nil {
		return nil, err
	}
	t, err := readTarball(src)
	if err != nil {
		return nil, err
	}
	return &Root{path: name, fsys: t.facts, closer: f, kind: kindOf(t.facts, machine.KindArchive), tarball: t, source: src}, nil
}

// kindOf recognises what wrote a tree.
func kindOf(fsys fs.FS, otherwise string) string {
	if _, err := fs.Stat(fsys, manifestName); err == nil {
		return machine.KindCollect
	}
	if info, err := fs.Stat(fsys, "sos_commands"); err == nil && info.IsDir() {
		return machine.KindSOS
	}
	return otherwise
}

// Path returns the path as it was given.
func (r *Root) Path() string { return r.path }

// Kind returns one of the Kind constants of package machine.
func (r *Root) Kind() string { return r.kind }

// FS returns the tree: the root itself, without the top folder of a sosreport.
// Of a tarball it holds only what Collect reads.
func (r *Root) FS() fs.FS { return r.fsys }

// Incomplete tells why the root's logs, or all of it, are known to be not whole
// before they are read: a tarball that is cut or damaged, names of logs that
// lead nowhere, more logs than are read. It is nil if nothing is known. What is
// there counts; Collect lists the same things among what could not be read.
func (r *Root) Incomplete() error {
	var all []error
	if r.tarball != nil && r.tarball.damage != nil {
		all = append(all, r.tarball.damage)
	}
	for _, p := range r.problems {
		all = append(all, p)
	}
	return errors.Join(all...)
}

// Close releases the folder or the tarball.
func (r *Root) Close() error { return r.closer.Close() }

// Collect takes the snapshot. For the running machine it asks the kernel, too.
// For any other root it lists what is wrong with the tarball and with the names
// of its logs among what could not be read.
func (r *Root) Collect() (*machine.Snapshot, error) {
	opt := Options{Root: r.path, Kind: r.kind}
	if r.kind == machine.KindLive {
		opt = LiveOptions()
	}
	snap, err := Collect(r.fsys, opt)
	if err != nil || r.kind == machine.KindLive {
		return snap, err
	}
	lacks := func(what, reason, howTo string) {
		snap.Unreadable = append(snap.Unreadable, machine.Unreadable{What: what, Reason: reason, HowTo: howTo})
	}
	if t := r.tarball; t != nil {
		if n := t.refused.count; n > 0 {
			lacks(r.path, fmt.Sprintf("names of %d entries are absolute, lead out of it or are too long, and were not read; the first is %s", n, t.refused.first),
				"look at them with tar -tvf; an archive of cswatch collect or sos has none")
		}
		if t.damage != nil {
			lacks(r.path, t.damage.Error(), "copy or make the archive again: what is behind the damage is missing")
		}
	}
	for _, p := range r.problems {
		lacks("/"+p.Name, p.Err.Error(), "give the log with --log FILE")
	}
	return snap, nil
}

// Logs lists the kernel logs in the root in the order in which they are to be
// read: the oldest first, the one that tells best how things stand last. First
// come the files of log daemons, kind by kind, each from its oldest rotated file
// to the current one; then the journal; then the kernel's own buffer (dmesg).
// Of more than 64 logs the last 64 of this order are listed.
func (r *Root) Logs() []string { return slices.Clone(r.logs) }

// OpenLog streams one of the Logs, decompressed. One of more than 2 GiB, or of
// more than 1 GiB where it cannot be read from anywhere, ends with a
// *LimitError; its beginning and its end were delivered then. To read all logs
// of a compressed tarball, ReadLogs is much faster.
func (r *Root) OpenLog(name string) (io.ReadCloser, error) {
	if !slices.Contains(r.logs, name) {
		return nil, fmt.Errorf("open log %.200q of %s: it is not one of its kernel logs", name, unpack.Shown(r.path))
	}
	log, err := r.openLog(name)
	if err != nil {
		return nil, fmt.Errorf("open log %s of %s: %w", unpack.Shown(name), unpack.Shown(r.path), why(err))
	}
	return log, nil
}

// logReader is an open log.
type logReader struct {
	io.Reader
	io.Closer
}

func (r *Root) openLog(name string) (io.ReadCloser, error) {
	if r.tarball != nil {
		text, err := r.tarball.openLog(r.source, name, r.limits)
		return logReader{text, io.NopCloser(nil)}, err
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	src := logSource{name: name, r: f}
	if at, ok := f.(io.ReaderAt); ok {
		if info, err := f.Stat(); err == nil {
			src.at, src.size = at, info.Size()
		}
	}
	text, err := openText(src, r.limits)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return logReader{text, f}, nil
}

// ReadLogs hands each of the Logs to read, in their order, as OpenLog would
// deliver it. What stands in the way of one log, or the error of read, does not
// keep the others from being read; all of them are returned. A compressed
// tarball is read once for all logs, more often only where they are large and
// lie in it in another order.
func (r *Root) ReadLogs(read func(name string, text io.Reader) error) []LogProblem {
	if r.tarball != nil && !r.source.plain {
		return r.tarball.readLogs(r.source, r.logs, r.limits, read)
	}
	var problems []LogProblem
	for _, name := range r.logs {
		if err := r.readLog(name, read); err != nil {
			problems = append(problems, LogProblem{name, err})
		}
	}
	return problems
}

func (r *Root) readLog(name string, read func(string, io.Reader) error) error {
	log, err := r.openLog(name)
	if err != nil {
		return why(err)
	}
	defer log.Close()
	return read(name, log)
}
