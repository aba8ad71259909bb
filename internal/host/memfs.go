package host

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// memFS is a small read-only file system in memory: the allow-listed part of a tarball.
type memFS struct {
	nodes map[string]*memNode
}

type memNode struct {
	name string
	mode fs.FileMode
	data []byte
	link string   // target, if mode says symlink
	kids []string // base names, if mode says folder

	// Of a tarball: the number of the entry, and where its data are if it is a log.
	entry int
	log   *logPlace
}

func newMemFS() *memFS {
	return &memFS{nodes: map[string]*memNode{".": {name: ".", mode: fs.ModeDir | 0o755}}}
}

// put adds a node and the folders above it. A later node of the same name
// replaces the earlier one, as it would when a tarball is unpacked. It reports
// false where a file stands in the way.
func (m *memFS) put(name string, n *memNode) bool {
	old := m.nodes[name]
	if old != nil && old.mode.IsDir() {
		return n.mode.IsDir()
	}
	if !m.mkdirs(path.Dir(name)) {
		return false
	}
	n.name = path.Base(name)
	m.nodes[name] = n
	if old == nil {
		dir := m.nodes[path.Dir(name)]
		dir.kids = append(dir.kids, n.name)
	}
	return true
}

func (m *memFS) mkdirs(name string) bool {
	if n := m.nodes[name]; n != nil {
		return n.mode.IsDir()
	}
	return m.put(name, &memNode{mode: fs.ModeDir | 0o755})
}

// sub returns the part below a folder as a file system of its own, so that
// absolute links start there.
func (m *memFS) sub(top string) *memFS {
	if top == "" || top == "." {
		return m
	}
	s := newMemFS()
	for name, n := range m.nodes {
		if rest, ok := strings.CutPrefix(name, top+"/"); ok {
			s.nodes[rest] = n
		} else if name == top {
			s.nodes["."] = n
		}
	}
	return s
}

var errLog = errors.New("a log of a tarball, which is read with OpenLog")

// find returns the node that a name resolves to, and the resolved name.
func (m *memFS) find(op, name string) (*memNode, string, error) {
	if !fs.ValidPath(name) {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	resolved, err := resolve(name, func(p string) (string, bool, error) {
		n := m.nodes[p]
		if n == nil {
			return "", false, fs.ErrNotExist
		}
		return n.link, n.mode&fs.ModeSymlink != 0, nil
	})
	if err != nil {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return m.nodes[resolved], resolved, nil
}

func (m *memFS) Open(name string) (fs.File, error) {
	n, resolved, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.log != nil && n.data == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errLog}
	}
	if !n.mode.IsDir() && !n.mode.IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errSpecial}
	}
	if !n.mode.IsDir() {
		return &memFile{node: n, Reader: bytes.NewReader(n.data)}, nil
	}
	kids := slices.Sorted(slices.Values(n.kids))
	d := &memDir{node: n}
	for _, k := range kids {
		d.rest = append(d.rest, fs.FileInfoToDirEntry(memInfo{m.nodes[path.Join(resolved, k)]}))
	}
	return d, nil
}

func (m *memFS) Stat(name string) (fs.FileInfo, error) {
	n, _, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return memInfo{n}, nil
}

type memFile struct {
	node *memNode
	*bytes.Reader
}

func (f *memFile) Stat() (fs.FileInfo, error) { return memInfo{f.node}, nil }
func (f *memFile) Close() error               { return nil }

type memDir struct {
	node *memNode
	rest []fs.DirEntry
}

func (d *memDir) Stat() (fs.FileInfo, error) { return memInfo{d.node}, nil }
func (d *memDir) Close() error               { return nil }

func (d *memDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.node.name, Err: syscall.EISDIR}
}

func (d *memDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		all := d.rest
		d.rest = nil
		return all, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	some := d.rest[:n]
	d.rest = d.rest[n:]
	return some, nil
}

type memInfo struct{ n *memNode }

func (i memInfo) Name() string { return i.n.name }
func (i memInfo) Size() int64 {
	if i.n.log != nil {
		return i.n.log.size
	}
	return int64(len(i.n.data))
}
func (i memInfo) Mode() fs.FileMode  { return i.n.mode }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.n.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
