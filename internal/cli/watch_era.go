package cli

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// chosenEra is the era of a watch and how it was found.
type chosenEra struct {
	profile watchdog.Profile
	release string // "" where the era was named, or the release is not known
	why     string
	doubt   string // why it may be another one, "" where it is certain or was named
	notes   []string
}

// chooseEra reads --era, or finds out the era of the running kernel.
func (f *watchFlags) chooseEra(s *machine.Snapshot) (chosenEra, error) {
	var candidates []watchdog.Candidate
	var pick watchdog.Candidate
	var chosen chosenEra
	if f.era != "" {
		var err error
		if candidates, err = watchdog.Resolve(f.era); err != nil {
			return chosen, usagef("--era: %w", err)
		}
		pick = candidates[0] // the likeliest
		chosen.why = "as asked"
		if len(candidates) > 1 {
			chosen.notes = append(chosen.notes, fmt.Sprintf("%s may have the watchdog of %s; %s is run, name another by its id",
				f.era, eraNames(candidates), pick.Era))
		}
	} else {
		found := watchdog.Detect(watchdog.IdentityOf(s))
		candidates = found.Candidates
		if len(candidates) == 0 {
			candidates = []watchdog.Candidate{{Era: watchdog.E12}}
			chosen.doubt = fmt.Sprintf("the era of this kernel could not be told (%s): the newest, %s, is run", found.Why, watchdog.E12)
		}
		pick, _ = watchdog.Newest(candidates) // there is one
		chosen.why = "of this kernel: " + found.Why
		if len(candidates) > 1 {
			chosen.doubt = fmt.Sprintf("this kernel may have the watchdog of %s (%s): the newest, %s, is run", eraNames(candidates), found.Why, pick.Era)
		}
		if len(candidates) == 1 && candidates[0].Guess {
			chosen.doubt = found.Why
		}
		if chosen.doubt != "" {
			chosen.notes = append(chosen.notes, chosen.doubt+"; --era names another")
		}
	}
	var ok bool
	if chosen.profile, ok = pick.Profile(); !ok {
		return chosen, fmt.Errorf("there is no profile of era %s", pick.Era)
	}
	chosen.release = pick.Release
	if f.retries >= 0 && !chosen.profile.RetriesParameter {
		chosen.notes = append(chosen.notes, fmt.Sprintf("--retries does not count for %s: it has no such parameter", pick.Era))
	}
	return chosen, nil
}

func eraNames(all []watchdog.Candidate) string {
	var names []string
	for _, c := range all {
		names = append(names, string(c.Era))
	}
	return report.Either(names)
}
