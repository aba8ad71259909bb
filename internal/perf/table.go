package perf

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// symbol is a named range of code.
type symbol struct {
	start, end uint64 // end is 0 where the symbol tells no size
	limit      uint64 // where it must have ended then, 0 if that is not known
	name       string
	object     string // the kernel module, "" for the rest
	rank       int8   // of two names of one place the lower is shown
}

// symbols are those of one object, by address, one for each start.
type symbols struct {
	list []symbol
	size int64  // bytes held, roughly
	lack string // why names may be lacking, for places without one
}

const symbolBytes = 64

// newSymbols sorts symbols, keeps one name for each start and gives those without an
// end the start of the next, but at most extent bytes. heed, which may be nil, says whether a symbol may be given at all;
// one that may not still ends the one before.
func newSymbols(list []symbol, extent uint64, heed func(*symbol) bool) *symbols {
	slices.SortFunc(list, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.rank, b.rank), better(a.name, b.name))
	})
	list = slices.CompactFunc(list, func(a, b symbol) bool { return a.start == b.start })
	t := &symbols{list: list}
	for i := range list {
		s := &list[i]
		if s.end != 0 {
			continue
		}
		s.end = s.start + extent
		if s.end < s.start {
			s.end = ^uint64(0)
		}
		if i+1 < len(list) {
			s.end = min(s.end, list[i+1].start)
		}
		if s.limit > s.start {
			s.end = min(s.end, s.limit)
		}
	}
	if heed != nil {
		t.list = slices.DeleteFunc(list, func(s symbol) bool { return !heed(&s) })
	}
	for _, s := range t.list {
		t.size += symbolBytes + int64(len(s.name))
	}
	return t
}

// better prefers, of two names for one place, the one that people call.
func better(a, b string) int {
	lead := func(s string) int { return len(s) - len(strings.TrimLeft(s, "_")) }
	return cmp.Or(cmp.Compare(lead(a), lead(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// maxNesting is how many symbols that begin before an address are asked whether
// they reach it: one range may lie within another.
const maxNesting = 16

// find returns the symbol at an address.
func (t *symbols) find(address uint64) (symbol, bool) {
	i := sort.Search(len(t.list), func(i int) bool { return t.list[i].start > address })
	for n := 0; n < maxNesting && i > 0; n++ {
		i--
		if address < t.list[i].end {
			return t.list[i], true
		}
	}
	return symbol{}, false
}
