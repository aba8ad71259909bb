package watchdog

import (
	"cmp"
	"slices"
	"strings"
)

// ByAge returns every era of [Eras], the oldest behaviour first. A variant of a
// long-term series took changes of mainline one by one; its age is that of the
// newest change that it has, and it stands before the mainline era that brought
// the change, because it lacks others of that era. So 6.1.78, which skips long
// intervals as 6.8 does, stands before E8, and 5.15.224, which counts attempts
// by the CPUs as 6.9 does, behind both. Of variants with the same newest change
// the younger series comes later.
//
// Neither the order of Eras nor that of the releases would do: the first puts
// every variant behind 7.1, the second puts 5.15.224 of 2026 before 6.1.78 of 2024.
func ByAge() []Era {
	return []Era{
		E0, E1, E2, E3, E4,
		LTS51050,           // retries, 5.14
		E5,                 //
		LTS51094, LTS51517, // the skip of a busy reference, 5.17
		E6,                              //
		LTS510173, LTS515Pause, LTS6116, // the pause of five minutes, 6.3
		E7,                             //
		LTS510223, LTS515Long, LTS6178, // long intervals are skipped, 6.8
		E8,                  //
		LTS515224, LTS61192, // attempts by the CPUs, 6.9
		E9, E10, E11, E12,
	}
}

// Compare returns -1, 0 or +1 as the behaviour of e is older than, as old as or
// newer than that of o, in the order of [ByAge]. What no released kernel has is
// older than all.
func (e Era) Compare(o Era) int {
	order := ByAge()
	return cmp.Compare(slices.Index(order, e), slices.Index(order, o))
}

// variant reports an era of a long-term series.
func (e Era) variant() bool { return strings.HasPrefix(string(e), "LTS-") }

// Newest returns the candidate with the newest behaviour, the first of equal
// ones, and false where there is none.
func Newest(all []Candidate) (Candidate, bool) {
	if len(all) == 0 {
		return Candidate{}, false
	}
	return slices.MaxFunc(all, func(a, b Candidate) int { return a.Era.Compare(b.Era) }), true
}
