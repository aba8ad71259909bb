package doctor

import (
	"cmp"
	"slices"

	"github.com/cswatch/cswatch/event"
)

// keepPerKind bounds how many events of one kind are kept at the beginning and
// again at the end of a log: a log may repeat a line for years.
const keepPerKind = 256

// Recorder keeps the events that matter of a log of any length in bounded
// memory: the first and the last ones of each kind.
type Recorder struct {
	// Keep bounds how many events of a kind are kept at the beginning and again at the end; 0 is 256.
	Keep int

	seen  int
	kinds map[event.Kind]*kept
}

// kept is what is kept of one kind.
type kept struct {
	count  int
	first  []numbered
	recent []numbered // ring
}

type numbered struct {
	number int // place in the log, over all files
	event  event.Event
}

// Add takes the next event.
func (r *Recorder) Add(e event.Event) {
	if r.kinds == nil {
		r.kinds = map[event.Kind]*kept{}
	}
	k := r.kinds[e.Kind]
	if k == nil {
		k = &kept{}
		r.kinds[e.Kind] = k
	}
	keep := cmp.Or(r.Keep, keepPerKind)
	n := numbered{r.seen, e}
	r.seen++
	switch {
	case k.count < keep:
		k.first = append(k.first, n)
	case len(k.recent) < keep:
		k.recent = append(k.recent, n)
	default:
		k.recent[k.count%keep] = n
	}
	k.count++
}

// Events returns what was kept, in the order of the log, and how many of each
// kind were left out.
func (r *Recorder) Events() ([]event.Event, map[event.Kind]int) {
	var all []numbered
	left := map[event.Kind]int{}
	for kind, k := range r.kinds {
		all = append(append(all, k.first...), k.recent...)
		if over := k.count - len(k.first) - len(k.recent); over > 0 {
			left[kind] = over
		}
	}
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	events := make([]event.Event, len(all))
	for i, n := range all {
		events[i] = n.event
	}
	return events, left
}
