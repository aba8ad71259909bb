package explain

import (
	"cmp"
	"slices"
	"strings"
)

// Class is what an entry explains.
type Class string

const (
	Finding   Class = "finding"   // a cause or state that doctor reports
	Advice    Class = "advice"    // something that doctor recommends
	Missing   Class = "missing"   // something that would decide an open question
	Parameter Class = "parameter" // a kernel command line, module or build option
	Message   Class = "message"   // a kind of line in a kernel log
)

// Risk is what following an advice can cost.
type Risk string

const (
	NoRisk      Risk = "none"         // nothing changes on the machine
	Reversible  Risk = "reversible"   // undone by undoing it
	UntilReboot Risk = "until-reboot" // lasts, or needs, a reboot
	Unsafe      Risk = "unsafe"       // can give wrong time, or hide a fault that does
)

// Harm says whether a log line is a reason to act.
type Harm string

const (
	Harmless Harm = "harmless" // information; nothing is wrong because of it
	Depends  Harm = "depends"  // on its numbers or on the lines around it
	Serious  Harm = "serious"  // something was condemned, is faulty or was lost
)

// Entry explains one id, parameter or kind of message.
type Entry struct {
	ID       string `json:"id"`
	Class    Class  `json:"class"`
	Title    string `json:"title"`
	What     string `json:"what"`               // what it means
	Evidence string `json:"evidence,omitempty"` // how it is recognised, or when an advice applies
	Action   string `json:"action,omitempty"`   // what to do
	Risk     Risk   `json:"risk,omitempty"`     // advice
	Command  string `json:"command,omitempty"`  // template; words in capitals are to be replaced
	Harm     Harm   `json:"harm,omitempty"`     // message
	Releases string `json:"releases,omitempty"` // message: which kernels print it
	Spans    []Span `json:"spans,omitempty"`    // parameter: which releases have it
}

// All returns every entry: findings, advice, missing, parameters, messages,
// each class in the order of its subject.
func All() []Entry { return slices.Clone(entries) }

// entries is what All returns. Nothing writes to it.
var entries = slices.Concat(logFindings(), liveFindings(), advice(), missing(),
	clocksourceParameters(), tscParameters(), otherParameters(),
	frameworkMessages(), watchdogMessages(), tscMessages(), machineMessages())

// Lookup returns the entries for an id, a kernel parameter with or without a
// value, or an event kind. One word may have several: "hpet-pc10" is a finding
// and a kind of line. False means that there is none; see [Suggest].
func Lookup(query string) ([]Entry, bool) {
	q := strings.TrimSpace(query)
	if q == "" {
		return nil, false
	}
	if found := filter(entries, func(e Entry) bool { return strings.EqualFold(e.ID, q) }); len(found) > 0 {
		return found, true
	}
	for _, names := range spellings(q) {
		found := filter(entries, func(e Entry) bool {
			return e.Class == Parameter && slices.ContainsFunc(names, func(n string) bool { return parameterMatches(e.ID, n) })
		})
		if len(found) > 0 {
			return found, true
		}
	}
	return nil, false
}

func filter(all []Entry, keep func(Entry) bool) []Entry {
	var found []Entry
	for _, e := range all {
		if keep(e) {
			found = append(found, e)
		}
	}
	return found
}

// spellings returns under which names a parameter is looked for, the most exact
// ones first: as given, with each value of a list, and without the value.
func spellings(q string) [][]string {
	name, value, has := strings.Cut(q, "=")
	if !has {
		return [][]string{{q}}
	}
	var single []string
	for v := range strings.SplitSeq(value, ",") {
		single = append(single, name+"="+v)
	}
	return [][]string{{q}, single, {name}}
}

// parameterMatches compares as the kernel does: dashes and underscores are the
// same. "tsc" finds every "tsc=...", and the bare name of a module parameter
// finds it, as it stands in sysfs.
func parameterMatches(id, want string) bool {
	a, b := plain(id), plain(want)
	if a == b || strings.HasPrefix(a, b+"=") {
		return true
	}
	_, bare, dotted := strings.Cut(a, ".")
	return dotted && bare == b
}

func plain(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }

// Suggest returns the known ids closest to a query, at most n, the closest
// first; none where nothing resembles it.
func Suggest(query string, n int) []string {
	q := plain(strings.TrimSpace(query))
	if q == "" || len(q) > 64 || n <= 0 {
		return nil
	}
	type scored struct {
		id    string
		score int
	}
	var near []scored
	for _, e := range entries {
		id := plain(e.ID)
		d := distance(q, id)
		if strings.Contains(id, q) || len(id) > 3 && strings.Contains(q, id) {
			d = min(d, 1)
		}
		if d > max(2, len(q)/3) || slices.ContainsFunc(near, func(s scored) bool { return s.id == e.ID }) {
			continue
		}
		near = append(near, scored{e.ID, d})
	}
	slices.SortStableFunc(near, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	ids := make([]string, 0, n)
	for _, s := range near[:min(n, len(near))] {
		ids = append(ids, s.id)
	}
	return ids
}

// distance is the number of single-byte insertions, deletions and changes from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
