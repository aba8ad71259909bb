package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
)

// tooLong is a price in ns that no read of a clock can have: a quarter of an hour.
const tooLong = 1e12

// price writes what a read costs, for people.
func price(ns float64) string {
	switch {
	case math.IsNaN(ns) || ns <= 0 || ns > tooLong:
		return "not known"
	case ns < 9.95:
		return strconv.FormatFloat(ns, 'f', 1, 64) + " ns"
	case ns < 9999.5:
		return strconv.FormatFloat(ns, 'f', 0, 64) + " ns"
	case ns < 9_999_500:
		return strconv.FormatFloat(ns/1e3, 'f', 1, 64) + " µs"
	}
	return strconv.FormatFloat(ns/1e6, 'f', 1, 64) + " ms"
}

// exact writes nanoseconds in the unit that suits them, with every digit.
func exact(ns int64) string {
	sign, n := "", uint64(ns)
	if ns < 0 {
		sign, n = "-", -n
	}
	unit, digits, scale := "ns", 0, uint64(1)
	switch {
	case n >= 1_000_000_000:
		unit, digits, scale = "s", 9, 1_000_000_000
	case n >= 1_000_000:
		unit, digits, scale = "ms", 6, 1_000_000
	case n >= 1_000:
		unit, digits, scale = "µs", 3, 1_000
	}
	s := sign + strconv.FormatUint(n/scale, 10)
	if part := strings.TrimRight(fmt.Sprintf("%0*d", digits, n%scale), "0"); digits > 0 && part != "" {
		s += "." + part
	}
	return s + " " + unit
}

// stamp writes the kernel's own time stamp as dmesg does, in seconds.
func stamp(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 6, 64) + " s" }

// plural writes a count with its noun.
func plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Either joins words as "a, b or c".
func Either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// statusWord is the status as the first word of a text.
func statusWord(s doctor.Status) (string, style) {
	switch s {
	case doctor.StatusOK:
		return "OK", green
	case doctor.StatusWarning:
		return "WARNING", yellow
	case doctor.StatusCritical:
		return "CRITICAL", red
	}
	return "CANNOT TELL", blue
}

// verdictWord says in one word what the evidence says of an accused clock.
func verdictWord(v doctor.Verdict) string {
	switch v {
	case doctor.Good:
		return "cleared"
	case doctor.Bad:
		return "convicted"
	case doctor.Undecided:
		return "undecided"
	}
	return "not accused"
}

// riskWords says what following an advice may cost.
func riskWords(r doctor.Risk) string {
	switch r {
	case doctor.RiskNone:
		return "changes nothing"
	case doctor.RiskReversible:
		return "can be undone"
	case doctor.RiskUntilReboot:
		return "needs a reboot"
	case doctor.RiskUnsafe:
		return "unsafe: can give wrong time"
	}
	return "risk not known"
}

// megahertz writes a frequency in MHz with every digit.
func megahertz(v event.Opt[int64]) string {
	hz, ok := v.Get()
	if !ok {
		return "(not said)"
	}
	s := strconv.FormatInt(hz/1_000_000, 10)
	if part := strings.TrimRight(fmt.Sprintf("%06d", max(hz%1_000_000, 0)), "0"); part != "" {
		s += "." + part
	}
	return s + " MHz"
}
