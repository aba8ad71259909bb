package watchdog

import (
	"regexp"
	"strings"
)

// observation is something seen of a kernel that only some eras have.
type observation struct {
	source string // parameters or messages
	what   string
	fits   func(Profile) bool
}

// observations lists what the parameters and the messages of a kernel tell.
func observations(id Identity) []observation {
	found := parameterFacts(id.Parameters)
	for _, t := range texts() {
		for _, line := range id.Messages {
			if t.matches(line) {
				found = append(found, observation{"messages", "the log holds " + t.what, t.fits})
				break
			}
		}
	}
	return found
}

func parameterFacts(parameters map[string]string) []observation {
	if parameters == nil {
		return nil
	}
	_, retries := parameters["max_cswd_read_retries"]
	_, verify := parameters["verify_n_cpus"]
	what := "the clocksource module has neither max_cswd_read_retries nor verify_n_cpus"
	switch {
	case retries && verify:
		what = "the clocksource module has max_cswd_read_retries and verify_n_cpus"
	case retries:
		what = "the clocksource module has max_cswd_read_retries but not verify_n_cpus"
	case verify:
		what = "the clocksource module has verify_n_cpus but no longer max_cswd_read_retries"
	}
	return []observation{{"parameters", what, func(p Profile) bool {
		return p.RetriesParameter == retries && p.VerifyParameter == verify
	}}}
}

// messageText is a text that only some eras print.
type messageText struct {
	what    string
	matches func(line string) bool
	fits    func(Profile) bool
}

var (
	peerless   = regexp.MustCompile(`Checking clocksource \S+ synchronization from CPU \d+\.`)
	hexOnly    = regexp.MustCompile(`'\S+' (wd|cs)_now: [0-9a-f]+`)
	timedOut   = regexp.MustCompile(`Watchdog (remote CPU \d+|\S+) read timed out`)
	registered = regexp.MustCompile(`clocksource:? \S+: mask: 0x[0-9a-f]+ max_cycles: 0x`)
)

func has(parts ...string) func(string) bool {
	return func(line string) bool {
		for _, p := range parts {
			if !strings.Contains(line, p) {
				return false
			}
		}
		return true
	}
}

func texts() []messageText {
	delay := func(form string) func(Profile) bool {
		return func(p Profile) bool { return p.Text.Delay == form }
	}
	rewrite := func(p Profile) bool { return p.Text.Skew == "frequency" }
	return []messageText{
		{"a verdict of frequency skew", has("Marking clocksource", "due to frequency skew"), rewrite},
		{"a verdict of inter CPU skew", has("Marking clocksource", "due to inter CPU skew"), rewrite},
		{"a timed-out read of the watchdog", timedOut.MatchString, rewrite},
		{"an excessive read-back delay", has("excessive read-back delay"), delay("excessive")},
		{"a read-back delay of the older form", func(l string) bool {
			return has("read-back delay of", "attempt", "marking unstable")(l) && !strings.Contains(l, "excessive")
		}, delay("attempt")},
		{"a retry that succeeded", has("timekeeping watchdog", "retried", "before success"), func(p Profile) bool { return p.Text.Delay != "" }},
		{"a skipped clock-skew test", has("clock-skew test skipped"), func(p Profile) bool { return p.SkipLimit.Set() }},
		{"a long readout interval", has("Long readout interval"), func(p Profile) bool { return p.LongInterval > 0 }},
		{"a skew in ns and ms", has("skewed", "over watchdog"), func(p Profile) bool { return p.Text.SkewedLine }},
		{"intervals in ns", func(l string) bool { return strings.Contains(l, "wd_nsec:") && strings.Contains(l, "wd_last:") }, func(p Profile) bool { return p.Text.Nanoseconds }},
		{"counter values without intervals", hexOnly.MatchString, func(p Profile) bool {
			return strings.HasPrefix(p.Text.Skew, "header") && !p.Text.Nanoseconds
		}},
		{"a verdict without a CPU", has("timekeeping watchdog: Marking clocksource"), func(p Profile) bool { return p.Text.Skew == "header" }},
		{"a verdict with a CPU", has("timekeeping watchdog on CPU", "Marking clocksource", "skew is too large"), func(p Profile) bool { return p.Text.Skew == "header-cpu" }},
		{"a verdict with a delta", has("Clocksource", "unstable (delta ="), func(p Profile) bool { return p.Text.Skew == "delta" }},
		{"a cross-CPU check without a list of CPUs", peerless.MatchString, func(p Profile) bool { return p.Verify.CPUs == "all" }},
		{"a cross-CPU check with a list of CPUs", has("Checking clocksource", "synchronization from CPU", "to CPUs"), func(p Profile) bool { return p.Verify.CPUs == "chosen" }},
		{"a registration line", registered.MatchString, func(p Profile) bool { return p.Text.Skew != "delta" }},
	}
}
