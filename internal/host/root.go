package host

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/unpack"
	"github.com/cswatch/cswatch/machine"
)

// ErrNoMachine says that a root holds nothing of a Linux machine.
var ErrNoMachine = errors.New("nothing of a Linux machine is in it")

// Root is a place that a snapshot can be collected from. Close it when done.
type Root struct {
	path    string
	kind    string
	fsys    fs.FS
	folder  *os.Root // nil for a tarball
	logs    []string
	prefix  string // of the names in the tarball
	refused Refused
	damage  error
}

// OpenRoot opens a folder ("/" is the running machine) or a tarball, plain or
// compressed, and recognises a sosreport and an archive of cswatch collect in
// either. A tarball is read once from end to end here and again for each log.
func OpenRoot(path string) (*Root, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	if info.IsDir() {
		return openFolder(path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open root %s: it is neither a folder nor a tarball", path)
	}
	return openTarball(path)
}

func openFolder(name string) (*Root, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	if sub := onlyTop(root); sub != "" {
		inner, err := root.OpenRoot(sub)
		root.Close()
		if err != nil {
			return nil, fmt.Errorf("open root %s: open its only folder: %w", name, err)
		}
		root = inner
	}
	fsys := folderFS{root}
	r := &Root{path: name, fsys: fsys, folder: root, kind: kindOf(fsys, machine.KindFolder)}
	if sameAsRunning(name) {
		r.kind = machine.KindLive
	}
	r.logs = folderLogs(fsys)
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

func openTarball(name string) (*Root, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	defer f.Close()
	r, _, err := unpack.Reader(f, name)
	if err != nil {
		return nil, fmt.Errorf("open root %s: %w", name, err)
	}
	t, err := scanTarball(r)
	if err != nil {
		return nil, fmt.Errorf("open root %s: %w", name, err)
	}
	return &Root{
		path: name, fsys: t.facts, kind: kindOf(t.facts, machine.KindArchive),
		logs: t.logs, prefix: t.top, refused: t.refused, damage: t.damage,
	}, nil
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

// folderLogs lists the kernel logs in a folder.
func folderLogs(fsys fs.FS) []string {
	var logs []string
	for _, g := range logGlobs {
		if !strings.Contains(g, "*") {
			if info, err := fs.Stat(fsys, g); err == nil && info.Mode().IsRegular() {
				logs = append(logs, g)
			}
			continue
		}
		for _, name := range listDir(fsys, path.Dir(g), maxDirEntries) {
			full := path.Join(path.Dir(g), name)
			if ok, _ := path.Match(g, full); !ok {
				continue
			}
			if info, err := fs.Stat(fsys, full); err == nil && info.Mode().IsRegular() {
				logs = append(logs, full)
			}
		}
	}
	sortLogs(logs)
	return logs
}

// listDir returns up to limit names of a folder, sorted; none if it cannot be read.
func listDir(fsys fs.FS, name string, limit int) []string {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	entries, _ := d.ReadDir(limit) // what could be read counts
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// Path returns the path as it was given.
func (r *Root) Path() string { return r.path }

// Kind returns one of the Kind constants of package machine.
func (r *Root) Kind() string { return r.kind }

// FS returns the tree: the root itself, without the top folder of a sosreport.
// Of a tarball it holds only what Collect reads.
func (r *Root) FS() fs.FS { return r.fsys }

// Refused tells what a tarball holds and should not.
func (r *Root) Refused() Refused { return r.refused }

// Damage tells why a tarball could not be read to its end; nil if it could. What
// came before the damage counts.
func (r *Root) Damage() error { return r.damage }

// Close releases the folder.
func (r *Root) Close() error {
	if r.folder == nil {
		return nil
	}
	return r.folder.Close()
}

// Collect takes the snapshot. For the running machine it asks the kernel, too;
// the damage of a tarball is listed among what could not be read.
func (r *Root) Collect() (*machine.Snapshot, error) {
	opt := Options{Root: r.path, Kind: r.kind}
	if r.kind == machine.KindLive {
		opt = LiveOptions()
	}
	snap, err := Collect(r.fsys, opt)
	if err == nil && r.damage != nil {
		snap.Unreadable = append(snap.Unreadable, machine.Unreadable{
			What: r.path, Reason: r.damage.Error(), HowTo: "copy or make the archive again: what is behind the damage is missing",
		})
	}
	return snap, err
}

// Logs lists the kernel logs in the root, best first: what the kernel kept,
// then the journal, then the files of a log daemon, where rotated ones follow
// the current one.
func (r *Root) Logs() []string { return slices.Clone(r.logs) }

// OpenLog streams one of the Logs, decompressed. It ends with a *LimitError
// after 64 MiB.
func (r *Root) OpenLog(name string) (io.ReadCloser, error) {
	if !slices.Contains(r.logs, name) {
		return nil, fmt.Errorf("open log %.200q of %s: it is not one of its kernel logs", name, r.path)
	}
	var raw io.Reader
	var file io.Closer
	if r.folder != nil {
		f, err := r.fsys.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open log of %s: %w", r.path, err)
		}
		raw, file = f, f
	} else {
		f, err := os.Open(r.path)
		if err != nil {
			return nil, fmt.Errorf("open log of %s: %w", r.path, err)
		}
		file = f
		if raw, err = seekEntry(f, r.path, path.Join(r.prefix, name)); err != nil {
			f.Close()
			return nil, fmt.Errorf("open log %s of %s: %w", name, r.path, err)
		}
	}
	text, _, err := unpack.Reader(raw, name)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open log %s of %s: %w", name, r.path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{&limitReader{r: text, left: maxLog, name: name}, file}, nil
}

// seekEntry reads a tarball up to an entry.
func seekEntry(f io.Reader, tarName, entry string) (io.Reader, error) {
	r, _, err := unpack.Reader(f, tarName)
	if err != nil {
		return nil, err
	}
	tr := tar.NewReader(r)
	for n := 0; n < maxEntries; n++ {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, err
		}
		if name, ok := cleanEntry(h.Name); ok && name == entry && h.Typeflag == tar.TypeReg {
			return tr, nil
		}
	}
	return nil, errors.New("it is no longer in the tarball")
}

// LimitError says that a log is longer than is read of it. What came before it is good.
type LimitError struct {
	Name  string
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("log %s: longer than %d MiB, the rest was not read", e.Name, e.Limit>>20)
}

type limitReader struct {
	r    io.Reader
	left int64
	name string
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.left == 0 {
		// The end exactly at the limit is an end.
		var one [1]byte
		for range 100 {
			n, err := l.r.Read(one[:])
			if n > 0 {
				break
			}
			if err != nil {
				return 0, err
			}
		}
		return 0, &LimitError{l.name, maxLog}
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}
