package explain

import (
	"strings"

	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// Span is a range of releases that have a parameter. An empty From means
// "older than what is described here", an empty To "still there". An end such
// as "6.8" means the whole series.
type Span struct {
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Default string `json:"default,omitempty"`
	Note    string `json:"note,omitempty"`
	// Doubt says that it is not known whether these releases have it; Note says why.
	Doubt bool `json:"doubt,omitzero"`
}

// At is what is known of a parameter in one release.
type At struct {
	Exists  machine.Answer `json:"exists"`
	Default string         `json:"default,omitempty"`
	Note    string         `json:"note,omitempty"`
}

// ParameterAt tells whether an upstream release has a parameter, and with which
// default. For a name that is not described the answer is unknown.
func ParameterAt(name string, r watchdog.Release) At {
	found, ok := Lookup(name)
	if !ok {
		return At{Exists: machine.Unknown, Note: "the parameter " + name + " is not described"}
	}
	for _, e := range found {
		if e.Class != Parameter {
			continue
		}
		for _, s := range e.Spans {
			if !s.holds(r) {
				continue
			}
			if s.Doubt {
				return At{Exists: machine.Unknown, Default: s.Default, Note: s.Note}
			}
			return At{Exists: machine.Yes, Default: s.Default, Note: s.Note}
		}
		return At{Exists: machine.No}
	}
	return At{Exists: machine.Unknown, Note: name + " is not a parameter"}
}

func (s Span) holds(r watchdog.Release) bool {
	r.RC, r.Suffix = 0, "" // a release candidate counts as its release
	if from, err := watchdog.ParseRelease(s.From); err == nil && r.Compare(from) < 0 {
		return false
	}
	to, err := watchdog.ParseRelease(s.To)
	if err != nil {
		return true
	}
	if strings.Count(s.To, ".") == 1 {
		to.Patch = max(r.Patch, to.Patch) // the whole series
	}
	return r.Compare(to) <= 0
}
