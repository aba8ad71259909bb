package watchdog

import (
	"fmt"
	"strings"
)

// Era names a range of kernel releases with the same watchdog behaviour.
type Era string

// The eras of mainline releases.
const (
	E0  Era = "E0"  // 2.6.18 to 2.6.30
	E1  Era = "E1"  // 2.6.31 to 2.6.39
	E2  Era = "E2"  // 3.0 to 4.0
	E3  Era = "E3"  // 4.1 to about 4.12
	E4  Era = "E4"  // about 4.13 to 5.13
	E5  Era = "E5"  // 5.14 to 5.16
	E6  Era = "E6"  // 5.17 to 6.2
	E7  Era = "E7"  // 6.3 to 6.7
	E8  Era = "E8"  // 6.8
	E9  Era = "E9"  // 6.9 to 6.11
	E10 Era = "E10" // 6.12 to 6.17 and 6.12.0 to 6.12.67
	E11 Era = "E11" // 7.0 and 6.12.68 and later
	E12 Era = "E12" // 7.1 and later
)

// The variants of long-term series, named after a release that has them.
const (
	LTS51050  Era = "LTS-5.10.50"  // 5.10.50 to 5.10.93
	LTS51094  Era = "LTS-5.10.94"  // 5.10.94 to 5.10.172
	LTS510173 Era = "LTS-5.10.173" // 5.10.173 to 5.10.209
	LTS510223 Era = "LTS-5.10.223" // 5.10.210 and later
	LTS51517  Era = "LTS-5.15.17"  // 5.15.17 and later, until an unknown release
	// 5.15 took the pause and the limit on long intervals, too. Whether it still
	// had three retries then is not known: these are what it was if so, and have no release to be named after.
	LTS515Pause Era = "LTS-5.15-pause"
	LTS515Long  Era = "LTS-5.15-long"
	LTS515224   Era = "LTS-5.15.224" // 5.15.224; since about 5.15.165
	LTS6116     Era = "LTS-6.1.16"   // 6.1.16 to 6.1.77 and Ubuntu's 6.2.16
	LTS6178     Era = "LTS-6.1.78"   // 6.1.78 to 6.1.104
	LTS61192    Era = "LTS-6.1.192"  // 6.1.105 and later
)

// Eras returns every era that a released kernel has, oldest first; the variants
// of long-term series follow the mainline eras.
func Eras() []Era {
	return []Era{
		E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12,
		LTS51050, LTS51094, LTS510173, LTS510223, LTS51517, LTS515Pause, LTS515Long, LTS515224, LTS6116, LTS6178, LTS61192,
	}
}

// ParseEra reads the id of an era or of one of the [Designs] in any case, such as "e9" or "LTS-6.1.192".
func ParseEra(s string) (Era, error) {
	for _, e := range append(Eras(), Designs()...) {
		if strings.EqualFold(string(e), strings.TrimSpace(s)) {
			return e, nil
		}
	}
	return "", fmt.Errorf("era %q: want E0 to E12, one of %s, or a design that was never released: %s", s, join(Eras()[13:]), join(Designs()))
}

// Candidate is an era that a kernel may have, and why.
type Candidate struct {
	Era     Era    `json:"era"`
	Release string `json:"release,omitempty"` // upstream release, "" if it is not known
	Reason  string `json:"reason"`
	// Vendor is who adds patches to the release, or takes changes into an older
	// one, in a way that is not known; "" for upstream and distributions that follow it.
	Vendor string `json:"vendor,omitempty"`
	// Guess says that the release is newer than every kernel that is described:
	// the era is the newest one, and nothing tells whether it still holds.
	Guess bool `json:"guess,omitzero"`
}

// Profile returns the profile of the candidate's era as its release has it.
func (c Candidate) Profile() (Profile, bool) {
	if r, err := ParseRelease(c.Release); err == nil {
		return ProfileAt(c.Era, r)
	}
	return ProfileOf(c.Era)
}

// span is a range of releases, both ends included, that may have an era. A
// span without doubt is the answer of the table; one with a doubt is a
// neighbour that cannot be ruled out.
type span struct {
	from, to string
	era      Era
	doubt    string
}

// EraOf returns the eras that an upstream release may have, the likeliest
// first. There is more than one where the boundary is not known exactly, and
// none for releases older than 2.6.18, which no profile describes.
func EraOf(r Release) []Candidate {
	at := r.final()
	var found []Candidate
	for _, s := range spans() {
		from, to := bounds(s)
		if at.Compare(from) < 0 || at.Compare(to) > 0 {
			continue
		}
		reason := fmt.Sprintf("%s lies in %s", r, s.text())
		if s.doubt != "" {
			reason = s.doubt
		}
		c := Candidate{Era: s.era, Release: r.String(), Reason: reason}
		if c.Guess = at.Compare(release(newestRead)) > 0; c.Guess {
			c.Reason += fmt.Sprintf("; a guess, because %s is newer than %s, the newest kernel that was read", r, newestRead)
		} else if doubt := detailDoubt(s.era, at); doubt != "" {
			c.Reason += "; " + doubt
		}
		found = append(found, c)
	}
	return found
}

// newestRead is the newest release whose watchdog is described.
const newestRead = "7.3.4"

// detailDoubt says which details of an era are not known of a stable release,
// and what [ProfileAt] takes them for; "" where there is nothing to say.
func detailDoubt(e Era, r Release) string {
	const later = "whether it has the message rule for retries of 6.11, the conversion of 6.10 that cannot overflow and the choice of CPUs of 6.16 is not known: it is taken to have none of them"
	switch {
	case e == E9 && r.In("6.6.40"):
		return later
	case e == LTS515224 && r.In("5.15.150") && !r.In("5.15.224"):
		return later + ", though 5.15.224 has all"
	case e == E12 && r.In("7.2.14"):
		return "whether it counts the next check from now on, as 7.3.4 does, is not known: it is taken not to"
	}
	return ""
}

// SeriesEras returns the eras that any release of a series (5.15, or 2.6.32)
// may have. It answers for distribution kernels that hide their stable number.
func SeriesEras(r Release) []Candidate {
	first, last := r.seriesBounds()
	var found []Candidate
	seen := map[Era]bool{}
	for _, s := range spans() {
		from, to := bounds(s)
		if to.Compare(first) < 0 || from.Compare(last) > 0 || seen[s.era] {
			continue
		}
		seen[s.era] = true
		found = append(found, Candidate{Era: s.era, Reason: fmt.Sprintf("some releases of %s have it: %s", r.Series(), s.text())})
	}
	return found
}

// Resolve reads what a user gave as an era: an era's id, or a release, where
// "5.15" means 5.15.0 and "5.15.224" that stable release.
func Resolve(s string) ([]Candidate, error) {
	if e, err := ParseEra(s); err == nil {
		return []Candidate{{Era: e, Reason: "named by its id"}}, nil
	}
	r, err := ParseRelease(s)
	if err != nil {
		return nil, fmt.Errorf("era or release %q: want an era such as E9 or LTS-6.1.192, a release such as 5.15 or 5.15.224, or a design that was never released (%s)", s, join(Designs()))
	}
	found := EraOf(r)
	if len(found) == 0 {
		return nil, fmt.Errorf("release %s: no era describes kernels before 2.6.18", r)
	}
	return found, nil
}

func (s span) text() string {
	switch {
	case s.to == "":
		return s.from + " and later"
	case s.from == s.to:
		return s.from
	}
	return s.from + " to " + s.to
}

// bounds returns the first and last release of a span. An end without a
// stable number means the whole series, an empty end every later release.
func bounds(s span) (from, to Release) {
	from = release(s.from)
	if s.to == "" {
		return from, Release{Major: 1 << 20}
	}
	to = release(s.to)
	if to.Major > 2 && strings.Count(s.to, ".") == 1 {
		to.Patch = maxPatch
	}
	return from, to
}

// release reads a release of the tables of this package.
func release(s string) Release {
	r, _ := ParseRelease(s) // a test reads every one of them
	return r
}

func join(eras []Era) string {
	words := make([]string, len(eras))
	for i, e := range eras {
		words[i] = string(e)
	}
	return strings.Join(words, ", ")
}
