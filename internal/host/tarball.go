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
)

// Refused counts what a tarball holds and a root cannot hold: names that are
// absolute or climb out of it, and links that do.
type Refused struct {
	Count int    `json:"count"`
	First string `json:"first,omitempty"` // the first such name, quoted and cut
}

func (r *Refused) add(name string) {
	if r.Count++; r.Count == 1 {
		r.First = fmt.Sprintf("%.80q", name)
	}
}

// tarball is what one pass over a tarball keeps.
type tarball struct {
	facts   *memFS
	top     string   // the folder that is the root, "" if the tarball is
	logs    []string // names within the root, best first
	refused Refused
	damage  error // why reading stopped before the end; nil if it did not
}

// tarScan is the state of that pass.
type tarScan struct {
	fs      *memFS
	tops    map[string]int  // candidate root to number of its facts
	dirs    map[string]bool // folders whose presence is a fact, by full name
	logs    []string        // full names
	bytes   int             // kept, names included
	refused Refused
}

// scanTarball reads an uncompressed tarball to its end and keeps the facts of
// its one root. Facts before a damaged place or a cut are kept.
func scanTarball(r io.Reader) (*tarball, error) {
	s := tarScan{fs: newMemFS(), tops: make(map[string]int), dirs: make(map[string]bool)}
	tr := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		// archive/tar may be set to report such names itself; they are counted below.
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			if n == 0 {
				return s.damaged(fmt.Errorf("read its first entry: %w: it is no tarball; a log goes to --log", err))
			}
			return s.damaged(fmt.Errorf("read entry %d of the tarball: %w", n+1, err))
		}
		if n == maxEntries {
			return nil, fmt.Errorf("the tarball holds more than %d entries: pack only what doctor needs with cswatch collect", maxEntries)
		}
		if err := s.entry(h, tr); errors.Is(err, errTooMuch) {
			return nil, err
		} else if err != nil {
			return s.damaged(err)
		}
	}
	return s.finish()
}

// damaged ends the pass early. Without a single fact there is nothing to keep.
func (s *tarScan) damaged(err error) (*tarball, error) {
	if len(s.tops) == 0 {
		return nil, err
	}
	t, rootErr := s.finish()
	if rootErr != nil {
		return nil, rootErr
	}
	t.damage = err
	return t, nil
}

// cleanEntry returns an entry's name as an fs path, or false for a hostile one.
func cleanEntry(name string) (string, bool) {
	if strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) || len(name) > maxLinkText {
		return "", false
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", false
	}
	name = path.Clean(name)
	return name, fs.ValidPath(name)
}

func (s *tarScan) entry(h *tar.Header, r io.Reader) error {
	name, ok := cleanEntry(h.Name)
	if !ok {
		s.refused.add(h.Name)
		return nil
	}
	// The root is the tarball itself or one folder in it.
	first, below, _ := strings.Cut(name, "/")
	s.existence("", name)
	s.existence(first, below)
	top, rest := "", name
	if !wanted(name) {
		if top, rest = first, below; !wanted(rest) {
			return nil
		}
	}
	// Names count: 200 000 long ones would be a lot.
	if s.bytes += 2 * (len(name) + len(h.Linkname) + 128); s.bytes > maxFacts {
		return errTooMuch
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return s.file(h, name, top, rest, r)
	case tar.TypeSymlink, tar.TypeLink:
		s.link(h, name, top, rest)
	case tar.TypeDir:
		s.fs.put(name, &memNode{mode: fs.ModeDir | 0o755})
	case tar.TypeChar, tar.TypeBlock:
		// dev/hpet: that it exists is the fact.
		if isFact(rest) && s.fs.put(name, &memNode{mode: 0o644}) {
			s.tops[top]++
		}
	}
	return nil
}

var errTooMuch = fmt.Errorf("the tarball holds more than %d MiB of facts, a machine has less: pack it again with cswatch collect", maxFacts>>20)

// wanted says whether an entry of this name within a root is looked at.
func wanted(name string) bool {
	_, log := logRank(name)
	return log || isFact(name) || factParents[name] || name == "var/log" || name == "var"
}

// presentDirs are the folders whose presence alone is a fact.
var presentDirs = [...]string{moduleDir, "dev", cpuDir, nodeDir, "sos_commands"}

// existence notes the folders whose presence is a fact, from any entry in them.
func (s *tarScan) existence(top, rest string) {
	for _, dir := range presentDirs {
		if strings.HasPrefix(rest, dir+"/") {
			s.dirs[path.Join(top, dir)] = true
		}
	}
}

func (s *tarScan) file(h *tar.Header, name, top, rest string, r io.Reader) error {
	if _, ok := logRank(rest); ok {
		if !slices.Contains(s.logs, name) && len(s.logs) < maxDirEntries {
			s.logs = append(s.logs, name)
		}
		return nil
	}
	if !isFact(rest) {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFact+1))
	if err != nil {
		return fmt.Errorf("read %.200q in the tarball: %w", h.Name, err)
	}
	if s.bytes += len(data); s.bytes > maxFacts {
		return errTooMuch
	}
	if s.fs.put(name, &memNode{mode: 0o644, data: data}) {
		s.tops[top]++
	}
	return nil
}

// link keeps a symbolic link that stays in the tarball. A hard link becomes an
// absolute one, which is what its target means.
func (s *tarScan) link(h *tar.Header, name, top, rest string) {
	target := h.Linkname
	if h.Typeflag == tar.TypeLink {
		clean, ok := cleanEntry(target)
		if ok && top != "" {
			clean, ok = strings.CutPrefix(clean, top+"/")
		}
		if !ok {
			s.refused.add(h.Name)
			return
		}
		target = "/" + clean
	}
	if !strings.HasPrefix(target, "/") && climbs(path.Dir(rest), target) || len(target) > maxLinkText {
		s.refused.add(h.Name)
		return
	}
	if _, isLog := logRank(rest); isLog {
		return // the file that it names is listed under its own name
	}
	s.fs.put(name, &memNode{mode: fs.ModeSymlink | 0o777, link: target})
}

// climbs says whether a relative target, seen from a folder within the root, leads above the root.
func climbs(dir, target string) bool {
	depth := 0
	if dir != "." {
		depth = strings.Count(dir, "/") + 1
	}
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// finish decides which folder is the root.
func (s *tarScan) finish() (*tarball, error) {
	top, err := s.root()
	if err != nil {
		return nil, err
	}
	for _, dir := range presentDirs {
		if full := path.Join(top, dir); s.dirs[full] {
			s.fs.mkdirs(full)
		}
	}
	t := &tarball{facts: s.fs.sub(top), top: top, refused: s.refused}
	for _, full := range s.logs {
		rest := full
		if top != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(full, top+"/"); !ok {
				continue
			}
		}
		if _, ok := logRank(rest); ok {
			t.logs = append(t.logs, rest)
		}
	}
	sortLogs(t.logs)
	return t, nil
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
		if _, ok := logRank(s.logs[0]); ok {
			return "", nil
		}
		top, _, _ := strings.Cut(s.logs[0], "/")
		return top, nil
	}
	return "", fmt.Errorf("the tarball holds several machines (%.40q, %.40q and %d more): give one tarball for each", tops[0], tops[1], len(tops)-2)
}

// sortLogs puts the best log first and keeps the order of names within a kind.
func sortLogs(logs []string) {
	slices.SortFunc(logs, func(a, b string) int {
		ra, _ := logRank(a)
		rb, _ := logRank(b)
		if ra != rb {
			return ra - rb
		}
		return strings.Compare(a, b)
	})
}
