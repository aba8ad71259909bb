package doctor

import "slices"

// summary says it in one sentence.
func (x *examination) summary(d *Diagnosis) string {
	clock := d.CurrentClock
	if clock == "" {
		clock = d.FinalClock
	}
	main := ""
	for _, f := range d.Findings {
		if !f.Suppressed && f.Severity != Info {
			main = f.ID
			break
		}
	}
	switch {
	case d.Status == StatusUnknown && len(x.ev.Incomplete) > 0:
		return "what could be read accuses no clock, but not everything could be read" + using(clock)
	case d.Status == StatusUnknown:
		return "nothing here tells about a clock"
	case x.verdict == Bad && x.liveBad:
		return "the TSC is not to be trusted, as measured now (" + main + ")" + using(clock)
	case x.verdict == Bad:
		return "the kernel was right: the TSC is not to be trusted (" + x.convicts(main) + ")" + using(clock)
	case x.verdict == Good && x.trust == TrustNo && x.lastCondemned():
		return "the kernel gave up a TSC that the evidence clears (" + x.firstCause() + ")" + using(clock)
	case x.verdict == Undecided && x.lastCondemned():
		return "the TSC stands accused, and the evidence does not decide (" + x.firstCause() + ")" + using(clock)
	case x.verdict == Undecided && x.trust == TrustNo:
		return "the kernel gave up the TSC, and what is here does not tell why" + using(clock)
	case x.verdict == Undecided:
		return "there are traces of trouble with the TSC, and they do not decide (" + x.firstCause() + ")" + using(clock)
	case main != "":
		return x.summaryOf(main)
	case clock != "" && slices.Contains(x.missing, "kernel-log"):
		return clock + " is in use and nothing here speaks against it; the kernel's log was not to be had"
	case clock != "":
		return clock + " is in use and nothing speaks against it"
	}
	return "no accusation against a clock"
}

// convicts is the cause of the incident that convicts the TSC, or another one where no incident does.
func (x *examination) convicts(other string) string {
	for i := range x.incidents {
		if w := &x.incidents[i]; w.condemns() && w.judged.verdict == Bad && len(w.judged.causes) > 0 {
			return w.judged.causes[0]
		}
	}
	if x.has("tsc-frequency-wrong") {
		return "tsc-frequency-wrong"
	}
	return other
}

func (x *examination) summaryOf(id string) string {
	for _, f := range x.findings {
		if f.ID == id {
			return f.Summary
		}
	}
	return id
}

// firstCause is the weightiest finding that says why, not what it costs.
func (x *examination) firstCause() string {
	for _, f := range x.findings {
		switch f.ID {
		case "clock-read-slow", "no-vdso-path", "better-source-available", "unexpected-clock", "clock-unsynchronised", "live-watch", "slow-read-backs":
			continue
		}
		if !f.Suppressed {
			return f.ID
		}
	}
	return "suppressed"
}

func (x *examination) lastCondemned() bool {
	for i := range x.incidents {
		if w := &x.incidents[i]; w.condemns() && w.judged.verdict != None {
			return true
		}
	}
	return false
}

func using(clock string) string {
	if clock == "" {
		return ""
	}
	return "; " + clock + " is in use"
}
