package host

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/unpack"
)

// refused counts what a tarball holds and a root cannot hold: names that are
// absolute or climb out of it, and hard links to such names.
type refused struct {
	count int
	first string // the first such name, quoted and cut
}

func (r *refused) add(name string) {
	if r.count++; r.count == 1 {
		r.first = fmt.Sprintf("%.80q", name)
	}
}

// tarSource is a tarball that can be read any number of times.
type tarSource struct {
	at   io.ReaderAt
	size int64
	name string
	// plain: it is not compressed, so that entries can be read where they are.
	plain bool
}

// newTarSource looks whether a tarball is compressed.
func newTarSource(at io.ReaderAt, size int64, name string) (tarSource, error) {
	s := tarSource{at: at, size: size, name: name}
	_, format, err := unpack.Reader(io.NewSectionReader(at, 0, size), name)
	s.plain = format == unpack.Plain
	return s, err
}

// open returns the tarball from its beginning and, if it is not compressed, a
// function that tells how far it was read.
func (s tarSource) open() (r io.Reader, offset func() int64, err error) {
	section := io.NewSectionReader(s.at, 0, s.size)
	if s.plain {
		return section, func() int64 {
			at, _ := section.Seek(0, io.SeekCurrent) // asks, and cannot fail
			return at
		}, nil
	}
	r, _, err = unpack.Reader(section, s.name)
	return r, nil, err
}

// tarball is what is kept of a tarball: the facts, and where the logs are.
type tarball struct {
	facts   *memFS
	top     string // the folder that is the root, "" if the tarball is
	refused refused
	damage  error // why reading stopped before the end; nil if it did not
	bytes   int   // kept, names included
}

// readTarball reads a tarball once, and again where links lead to what was not kept.
func readTarball(src tarSource) (*tarball, error) {
	r, offset, err := src.open()
	if err != nil {
		return nil, err
	}
	t, err := scanTarball(r, offset)
	if err != nil {
		return nil, err
	}
	return t, t.follow(src)
}

// errStop ends a walk before the end of the tarball.
var errStop = errors.New("stop")

// walk calls do for every entry of a tarball. Its error is that of do, or tells
// where the tarball is damaged.
func walk(r io.Reader, do func(n int, h *tar.Header, data io.Reader) error) error {
	tr := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		// archive/tar may be set to report such names itself; they are counted here.
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			if n == 0 {
				return fmt.Errorf("read its first entry: %w: it is no tarball; a log goes to --log", err)
			}
			return fmt.Errorf("read entry %d of the tarball: %w", n+1, err)
		}
		if n == maxEntries {
			return fmt.Errorf("%w: it holds more than %d entries", errTooMuch, maxEntries)
		}
		if err := do(n, h, tr); err != nil {
			return err
		}
	}
}

// errTooMuch: a machine has less.
var errTooMuch = errors.New("too much for one machine: pack only what doctor needs with cswatch collect")

// tarScan is the state of the first pass, in which the root is not known yet.
type tarScan struct {
	tarball
	offset func() int64
	fs     *memFS
	tops   map[string]int  // candidate root to number of its facts
	dirs   map[string]bool // candidate roots of which folders are kept
	logs   []string        // the first log of each candidate root
}

// scanTarball reads an uncompressed tarball to its end and keeps the facts of
// its one root. Facts before a damaged place or a cut are kept.
func scanTarball(r io.Reader, offset func() int64) (*tarball, error) {
	s := tarScan{fs: newMemFS(), offset: offset, tops: make(map[string]int), dirs: make(map[string]bool)}
	err := walk(r, s.entry)
	if errors.Is(err, errTooMuch) || err != nil && len(s.tops) == 0 {
		return nil, err
	}
	s.damage = err
	if err := s.finish(); err != nil {
		return nil, err
	}
	return &s.tarball, nil
}

// keep counts what a name and what goes with it take in memory.
func (t *tarball) keep(bytes int) error {
	const node = 256 // a node, its place in the map and in its folder
	if t.bytes += bytes + node; t.bytes > maxFacts {
		return fmt.Errorf("%w: it holds more than %d MiB of facts and their names", errTooMuch, maxFacts>>20)
	}
	return nil
}

// cleanEntry returns an entry's name as an fs path, or false for a hostile one.
func cleanEntry(name string) (string, bool) {
	if strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) || len(name) > maxLinkText {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || len(part) > maxNamePart {
			return "", false
		}
	}
	name = path.Clean(name)
	return name, fs.ValidPath(name)
}

func (s *tarScan) entry(n int, h *tar.Header, data io.Reader) error {
	name, ok := cleanEntry(h.Name)
	if !ok {
		s.refused.add(h.Name)
		return nil
	}
	// The root is the tarball itself or one folder in it.
	first, below, _ := strings.Cut(name, "/")
	if err := errors.Join(s.folders("", name), s.folders(first, below)); err != nil {
		return err
	}
	top, rest := "", name
	u := useOf(name)
	if u == 0 {
		if top, rest, u = first, below, useOf(below); u == 0 {
			return nil
		}
	}
	node, err := s.node(n, h, top, u, limitOf(rest), data, s.offset)
	if node == nil || err != nil {
		return err
	}
	if err := s.keep(2*len(name) + len(node.link) + len(node.data)); err != nil {
		return err
	}
	if !s.fs.put(name, node) || node.mode.IsDir() || node.link != "" {
		return nil
	}
	if u&asFact != 0 {
		s.tops[top]++
	} else if _, isLog := logRank(rest); isLog && s.logs == nil {
		s.logs = []string{top}
	}
	return nil
}

// maxTops is of how many candidate roots the folders are kept.
const maxTops = 64

// folders keeps the folders whose presence is a fact, from any entry in them.
func (s *tarScan) folders(top, rest string) error {
	if first, _, deep := strings.Cut(rest, "/"); !deep || !parents[first] {
		return nil
	}
	if !s.dirs[top] {
		if len(s.dirs) == maxTops {
			return nil
		}
		s.dirs[top] = true
	}
	for i, depth := 0, 0; depth < maxDepth; depth++ {
		k := strings.IndexByte(rest[i:], '/')
		if k < 0 {
			return nil
		}
		i += k
		if dir := rest[:i]; parents[dir] || exactFacts[dir] {
			if full := path.Join(top, dir); s.fs.nodes[full] == nil {
				if err := s.keep(2 * len(full)); err != nil {
					return err
				}
				s.fs.mkdirs(full)
			}
		}
		i++
	}
	return nil
}

// maxDepth is how deep names are looked at; facts lie less than 10 deep.
const maxDepth = 40

// logPlace is where a log is in a tarball.
type logPlace struct {
	entry  int
	size   int64
	offset int64 // -1 where it cannot be read by itself: in a compressed tarball, or with holes in it
	sparse bool
}

// node makes what is kept of an entry; nil if nothing is. Only the data of facts are read.
func (t *tarball) node(n int, h *tar.Header, top string, u use, limit int, data io.Reader, offset func() int64) (*memNode, error) {
	node := &memNode{mode: 0o644, entry: n}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		if u&asLog != 0 {
			node.log = &logPlace{entry: n, size: h.Size, offset: -1, sparse: isSparse(h)}
			if offset != nil && !node.log.sparse {
				node.log.offset = offset()
			}
		}
		if u&asFact != 0 {
			var err error
			if node.data, err = io.ReadAll(io.LimitReader(data, int64(limit)+1)); err != nil {
				return nil, fmt.Errorf("read %.200q in the tarball: %w", h.Name, err)
			}
		}
		if u&asProcess != 0 {
			var err error
			if node.data, err = io.ReadAll(io.LimitReader(data, maxComm)); err != nil {
				return nil, fmt.Errorf("read %.200q in the tarball: %w", h.Name, err)
			}
			if _, ok := isDaemon(strings.TrimSpace(string(node.data))); !ok {
				return nil, nil
			}
		}
		if u&^asFolder == 0 {
			return nil, nil
		}
	case tar.TypeSymlink:
		node.mode, node.link = fs.ModeSymlink|0o777, h.Linkname
	case tar.TypeLink:
		// A hard link means its target from the root of the tarball.
		target, ok := cleanEntry(h.Linkname)
		if ok && top != "" {
			target, ok = strings.CutPrefix(target, top+"/")
		}
		if !ok {
			t.refused.add(h.Name)
			return nil, nil
		}
		node.mode, node.link = fs.ModeSymlink|0o777, "/"+target
	case tar.TypeDir:
		node.mode = fs.ModeDir | 0o755
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		node.mode = fs.ModeDevice | 0o644 // dev/hpet: that it exists is the fact
	default:
		return nil, nil
	}
	if len(node.link) > maxLinkText {
		t.refused.add(h.Name)
		return nil, nil
	}
	return node, nil
}

// isSparse says that an entry has holes, so that its data are not as they lie in the tarball.
func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// finish decides which folder is the root.
func (s *tarScan) finish() error {
	top, err := s.root()
	if err != nil {
		return err
	}
	s.top, s.facts = top, s.fs.sub(top)
	return nil
}

func (s *tarScan) root() (string, error) {
	if s.tops[""] > 0 {
		return "", nil
	}
	var tops []string
	for t := range s.tops {
		tops = append(tops, t)
	}
	slices.Sort(tops)
	switch len(tops) {
	case 1:
		return tops[0], nil
	case 0:
		// No facts, but perhaps logs: their folder is the root.
		if len(s.logs) == 0 {
			return "", nil
		}
		return s.logs[0], nil
	}
	return "", fmt.Errorf("the tarball holds several machines (%.40q, %.40q and %d more): give one tarball for each", tops[0], tops[1], len(tops)-2)
}
