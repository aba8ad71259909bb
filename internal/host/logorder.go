package host

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sortLogs puts logs into the order in which they are read: by kind as in
// logGlobs, and within a kind the oldest first.
func sortLogs(logs []string) {
	type aged struct {
		name string
		rank int
		age  age
	}
	all := make([]aged, 0, len(logs))
	for _, l := range logs {
		rank, _ := logRank(l)
		all = append(all, aged{l, rank, ageOf(l, rank)})
	}
	slices.SortFunc(all, func(a, b aged) int {
		if a.rank != b.rank {
			return cmp.Compare(a.rank, b.rank)
		}
		if c := a.age.compare(b.age); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	for i, l := range all {
		logs[i] = l.name
	}
}

// age is what the name of a rotated log tells of its age.
type age struct {
	class ageClass
	date  string // digits: the longer the finer
	turns int    // how often it was rotated since
}

// ageClass orders the ways to name a rotated log, oldest first. Names that are
// not understood (messages.bak) come before all, so that they have the last word
// on nothing. Where numbers and dates are mixed the numbers come first: they are
// what is left of the time before the names got dates, today's default.
type ageClass int

const (
	ageUnknown ageClass = iota
	ageNumbered
	ageDated
	ageCurrent
)

func (a age) compare(b age) int {
	return cmp.Or(cmp.Compare(a.class, b.class), strings.Compare(a.date, b.date), cmp.Compare(b.turns, a.turns))
}

var (
	packedEnd   = regexp.MustCompile(`\.(?:gz|xz|bz2|zst|zstd|lz4|lz|lzma|Z|zip)$`)
	turnsEnd    = regexp.MustCompile(`^\.([0-9]{1,5})$`) // as logrotate numbers; .2024 is no year
	datedEnd    = regexp.MustCompile(`^[-._]((?:19|20)[0-9]{2})(?:[-._]?(0[1-9]|1[0-2])(?:[-._]?(0[1-9]|[12][0-9]|3[01])(?:[-._T]?([0-9]{2}[0-9:._-]*?))?)?)?(?:\.([0-9]{1,3}))?$`)
	secondsEnd  = regexp.MustCompile(`^[-._](1[0-9]{9})$`) // since 1970, until 2033
	numberedEnd = regexp.MustCompile(`^[-._]([0-9]{1,9})$`)
	journalEnd  = regexp.MustCompile(`_--boot(?:_-([0-9]{1,6}))?$`)
)

// ageOf reads the age off a log's name.
func ageOf(name string, rank int) age {
	stem, _, _ := strings.Cut(logGlobs[rank], "*")
	end := packedEnd.ReplaceAllString(strings.TrimPrefix(name, stem), "")
	if strings.HasPrefix(path.Base(stem), "journalctl") {
		// The journal of all boots, then boot by boot.
		m := journalEnd.FindStringSubmatch(end)
		if m == nil {
			return age{}
		}
		return age{class: ageNumbered, turns: turnsOf(m[1])}
	}
	switch end {
	case "":
		return age{class: ageCurrent}
	case ".old":
		return age{class: ageNumbered, turns: 1}
	}
	if m := turnsEnd.FindStringSubmatch(end); m != nil {
		return age{class: ageNumbered, turns: turnsOf(m[1])}
	}
	if m := datedEnd.FindStringSubmatch(end); m != nil {
		return age{class: ageDated, date: m[1] + m[2] + m[3] + digits(m[4]), turns: turnsOf(m[5])}
	}
	if m := secondsEnd.FindStringSubmatch(end); m != nil {
		return age{class: ageDated, date: time.Unix(int64(turnsOf(m[1])), 0).UTC().Format("20060102150405")}
	}
	if m := numberedEnd.FindStringSubmatch(end); m != nil {
		return age{class: ageNumbered, turns: turnsOf(m[1])}
	}
	return age{}
}

// turnsOf reads a decimal number that fits, 0 for "".
func turnsOf(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}
