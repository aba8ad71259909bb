package host

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Limits on following links in a tarball. A link may come before its target,
// and the target need not be on the allow-list: then the tarball is read again.
const (
	maxPasses  = 6
	maxAliases = 256
)

// aliases holds, for a name in the tarball, the names within the root that lead
// to it: data/log is var/log where var/log is a link to it.
type aliases map[string][]string

// follow reads the tarball again as long as links of the root lead to what was not kept.
func (t *tarball) follow(src tarSource) error {
	known := aliases{}
	for range maxPasses {
		more := t.findAliases(known)
		if maps.EqualFunc(more, known, slices.Equal) {
			return nil
		}
		known = more
		r, offset, err := src.open()
		if err != nil {
			return err
		}
		err = walk(r, func(n int, h *tar.Header, data io.Reader) error {
			return t.aliased(known, n, h, data, offset)
		})
		if errors.Is(err, errTooMuch) {
			return err
		}
		// Other damage is known from the first pass.
	}
	return nil
}

// findAliases looks where the links lead that matter, by themselves or by way of other aliases.
func (t *tarball) findAliases(known aliases) aliases {
	found := aliases{}
	count := 0
	for _, name := range slices.Sorted(maps.Keys(t.facts.nodes)) {
		if t.facts.nodes[name].link == "" {
			continue
		}
		for _, want := range known.names(name) {
			if count == maxAliases {
				return found
			}
			target, err := resolve(name, t.readlink)
			if err != nil || target == want || t.covers(target, want) || slices.Contains(found[target], want) {
				continue
			}
			found[target] = append(found[target], want)
			count++
		}
	}
	return found
}

// readlink takes what is not there for a file: links lead on through it.
func (t *tarball) readlink(name string) (string, bool, error) {
	n := t.facts.nodes[name]
	if n == nil {
		return "", false, nil
	}
	return n.link, n.mode&fs.ModeSymlink != 0, nil
}

// names returns the names that matter and that lead to a name: itself, or what
// it stands for, or what a folder above it stands for.
func (a aliases) names(name string) []string {
	var names []string
	if useOf(name) != 0 {
		names = append(names, name)
	}
	rest := ""
	for dir, depth := name, 0; depth < maxDepth; depth++ {
		for _, want := range a[dir] {
			if full := path.Join(want, rest); useOf(full) != 0 {
				names = append(names, full)
			}
		}
		if dir == "." {
			break
		}
		rest = path.Join(path.Base(dir), rest)
		dir = path.Dir(dir)
	}
	return names
}

// covers says that whatever of a wanted name lies at its target is kept anyway.
func (t *tarball) covers(target, want string) bool {
	if useOf(want)&^asFolder&^useOf(target) != 0 {
		return false
	}
	if useOf(want)&asFolder == 0 {
		return true
	}
	for name := range exactFacts {
		if rest, below := strings.CutPrefix(name, want+"/"); below && !isFact(path.Join(target, rest)) {
			return false
		}
	}
	for _, globs := range [][]string{globFacts, logGlobs} {
		for _, g := range globs {
			if rest, below := strings.CutPrefix(g, want+"/"); below && !slices.Contains(globs, path.Join(target, rest)) {
				return false
			}
		}
	}
	return true
}

// aliased keeps an entry that matters only by way of aliases.
func (t *tarball) aliased(known aliases, n int, h *tar.Header, data io.Reader, offset func() int64) error {
	name, ok := cleanEntry(h.Name)
	if !ok {
		return nil // counted in the first pass
	}
	if t.top != "" {
		if name, ok = strings.CutPrefix(name, t.top+"/"); !ok {
			return nil
		}
	}
	var u use
	limit := 0
	for _, want := range known.names(name) {
		u |= useOf(want)
		limit = max(limit, limitOf(want))
	}
	if err := t.aliasFolders(known, name); err != nil {
		return err
	}
	link := h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink
	own := useOf(name)
	if u&^own == 0 && (own != 0 || !link || !known.leadThrough(name)) {
		return nil // nothing, or seen in the first pass
	}
	node, err := t.node(n, h, t.top, u, limit, data, offset)
	if node == nil || err != nil {
		return ignoreDamage(err)
	}
	if err := t.keep(2*len(name) + len(node.link) + len(node.data)); err != nil {
		return err
	}
	t.facts.put(name, node)
	return nil
}

// ignoreDamage ends the pass quietly: the first pass has noted the damage.
func ignoreDamage(err error) error {
	if err == nil || errors.Is(err, errTooMuch) {
		return err
	}
	return errStop
}

// aliasFolders keeps the folders above a name that matter by way of aliases.
func (t *tarball) aliasFolders(known aliases, name string) error {
	for i, depth := 0, 0; depth < maxDepth; depth++ {
		k := strings.IndexByte(name[i:], '/')
		if k < 0 {
			return nil
		}
		i += k
		dir := name[:i]
		i++
		if t.facts.nodes[dir] != nil || len(known.names(dir)) == 0 {
			continue
		}
		if err := t.keep(2 * len(dir)); err != nil {
			return err
		}
		t.facts.mkdirs(dir)
	}
	return nil
}

// leadThrough says that the way to an alias's target leads through a name.
func (a aliases) leadThrough(name string) bool {
	for target := range a {
		if strings.HasPrefix(target, name+"/") {
			return true
		}
	}
	return false
}
