package report

import (
	"cmp"
	"fmt"
	"strings"
)

// Switching is what a run did that made other clocksources current, and how it left the machine.
type Switching struct {
	From string `json:"from"` // current before
	// Sources are those that were chosen, in the order in which they were first made current.
	Sources []string `json:"clocksources"`
	// Ignored are those that the kernel accepted without taking them.
	Ignored []IgnoredSource `json:"ignored"`
	// GivenBack: the first one is current again, which After names.
	GivenBack bool   `json:"given_back"`
	After     string `json:"after"`
	// Condemned is the kernel's line, or the reason without one, where it gave up its TSC under the run; "" if it did not.
	Condemned string `json:"condemned"`
	// Lines are what the kernel's watchdog logged of late reads where they cannot cost the TSC.
	Lines []string `json:"watchdog_lines"`
}

// IgnoredSource is a clocksource that the kernel accepted and did not take.
type IgnoredSource struct {
	Clocksource string `json:"clocksource"`
	Instead     string `json:"stayed_with"`
}

// whole returns a copy without a list that is null.
func (s *Switching) whole() *Switching {
	if s == nil {
		return nil
	}
	c := *s
	c.Sources, c.Ignored, c.Lines = list(c.Sources), list(c.Ignored), list(c.Lines)
	return &c
}

// words follow the name of the clocksource that was current before.
func (s *Switching) words() string {
	if s == nil {
		return ""
	}
	var others []string
	for _, name := range s.Sources {
		if name != s.From {
			others = append(others, name)
		}
	}
	switch {
	case len(others) == 0 && s.GivenBack:
		return ""
	case len(others) == 0:
		return ", then " + cmp.Or(s.After, "not known")
	}
	text := ", switched to " + strings.Join(others, ", ")
	if s.GivenBack {
		return text + " and back"
	}
	return text + "; it could not be given back, and is now " + cmp.Or(s.After, "not known")
}

// mostLogged is how many lines of the kernel are shown.
const mostLogged = 5

// switching writes what a reader must know of a run that switched.
func (p *page) switching(s *Switching) {
	if s == nil {
		return
	}
	if s.Condemned != "" {
		p.heading("The TSC was condemned")
		p.say("  ! ", fmt.Sprintf("the kernel gave up its TSC under this run (%s). The clocksource is now %s. The kernel does not take the TSC back before the next boot.",
			s.Condemned, cmp.Or(s.After, "not known")))
	}
	if len(s.Ignored) > 0 {
		p.heading("Not switched to")
	}
	for _, i := range s.Ignored {
		p.say("  - ", fmt.Sprintf("%s was not measured: the kernel accepted it and stayed with %s", i.Clocksource, i.Instead))
	}
	if len(s.Lines) > 0 {
		p.heading("What the kernel's watchdog logged meanwhile")
		for i, line := range s.Lines {
			if i == mostLogged {
				p.say("  - ", fmt.Sprintf("and %d lines more", len(s.Lines)-i))
				break
			}
			p.say("  - ", line)
		}
		p.say("", "Latency cannot condemn the TSC of this kernel: these lines are no verdict.")
	}
}
