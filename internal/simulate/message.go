package simulate

import (
	"regexp"
	"strings"

	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

var releaseWords = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// release returns the release whose log a cell writes: the one that was named, or
// the first of the era. A design that was never released writes that of 5.15.
func (s *Spec) release() watchdog.Release {
	for _, text := range []string{s.Release, releaseWords.FindString(s.Profile.Releases), "5.15"} {
		if r, err := watchdog.ParseRelease(text); err == nil {
			return r
		}
	}
	return watchdog.Release{}
}

// Log returns what the kernel of a boot logs.
func (s *Spec) Log(seed, boot uint64) ([]sim.LogLine, error) {
	cell, err := s.Cell()
	if err != nil {
		return nil, err
	}
	return cell.Log(s.release(), seed, boot)
}

// FirstMessage returns the line with which the kernel condemned the clock in the
// first boot that ended so, and false where there was none.
func (r *Result) FirstMessage(seed uint64) (sim.LogLine, bool, error) {
	if r.Tally.Unstable == 0 {
		return sim.LogLine{}, false, nil
	}
	lines, err := r.Log(seed, r.Tally.First)
	if err != nil {
		return sim.LogLine{}, false, err
	}
	// A check is logged when it is over. Lines of its retries may come first.
	for _, l := range lines {
		if l.At >= r.Tally.Verdict.Time && strings.Contains(l.Line.Text, "nstable") {
			return l, true, nil
		}
	}
	return sim.LogLine{}, false, nil
}
