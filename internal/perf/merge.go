package perf

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// mergeStacks makes one of stacks that have got the same names, and sorts them: the
// heaviest first, and equals by what they are, so that the same samples give the same profile.
func mergeStacks(list []Stack) []Stack {
	type entry struct {
		key   string
		stack Stack
	}
	merged := map[string]*entry{}
	var key []byte
	for _, s := range list {
		key = binary.BigEndian.AppendUint32(key[:0], uint32(s.PID))
		key = appendText(key, s.Command)
		key = binary.BigEndian.AppendUint32(key, s.CPU)
		for _, f := range s.Frames {
			key = appendText(key, f.Object)
			key = appendText(key, f.Symbol)
			key = appendText(key, f.Why)
			if f.Kernel {
				key = append(key, 1)
			}
		}
		if e := merged[string(key)]; e != nil {
			e.stack.Weight.add(s.Weight)
			continue
		}
		k := string(key)
		merged[k] = &entry{k, s}
	}
	entries := make([]*entry, 0, len(merged))
	for _, e := range merged {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(b.stack.Weight.Sum, a.stack.Weight.Sum), cmp.Compare(a.key, b.key))
	})
	out := make([]Stack, len(entries))
	for i, e := range entries {
		out[i] = e.stack
	}
	return out
}

// appendText appends a text so that no other sequence of texts gives the same bytes.
func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}
