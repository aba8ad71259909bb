package campaign

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// FaultKind is what is wrong with the TSC of a trial.
type FaultKind string

// The faults.
const (
	Sound   FaultKind = ""        // nothing
	Restore FaultKind = "restore" // nothing, but the machine goes on from a saved state: the control of the steps
	Step    FaultKind = "step"    // the TSC of all CPUs, or of one, jumps by a time
	Rate    FaultKind = "rate"    // the kernel takes its frequency for another than it is
)

// AllCPUs is the CPU of a step that all make together.
const AllCPUs = -1

// Fault is something that is really wrong with the TSC. The zero value is nothing.
type Fault struct {
	Kind FaultKind
	CPU  int           // of a step; AllCPUs otherwise, 0 where there is no fault
	By   time.Duration // of a step
	PPM  float64       // of a rate
}

// None reports that nothing is wrong and the machine boots: the ordinary trial.
func (f Fault) None() bool { return f.Kind == Sound }

// Restored reports that the machine goes on from a saved state.
func (f Fault) Restored() bool { return f.Kind == Restore || f.Kind == Step }

// ParseFault reads a fault:
//
//	none
//	step +1ms         the TSC of all CPUs jumps
//	cpu1 +300us       that of one CPU does
//	rate +50000ppm    the kernel is told a wrong frequency (also in %)
//	restore           nothing is wrong, in a machine that goes on from a saved state
func ParseFault(text string) (Fault, error) {
	f, err := parseFault(strings.Fields(text))
	if err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return f, nil
}

// Bounds of a fault: a step must be shorter than the HPET's 32 bits are long at
// 100 MHz, and the kernel corrects a rate itself that is less than 1 % wrong.
const (
	longestStep = 20 * time.Second
	highestPPM  = 500_000
)

func parseFault(words []string) (Fault, error) {
	switch {
	case len(words) == 0 || len(words) == 1 && words[0] == noneText:
		return Fault{}, nil
	case len(words) == 1 && words[0] == string(Restore):
		return Fault{Kind: Restore, CPU: AllCPUs}, nil
	case len(words) != 2:
		return Fault{}, errFaultForm
	}
	where, amount := words[0], words[1]
	if where == string(Rate) {
		return parseRate(amount)
	}
	kind, cpu, err := parseWhere(where)
	if err != nil {
		return Fault{}, err
	}
	by, err := time.ParseDuration(amount)
	if err != nil || by == 0 || by.Abs() > longestStep || amount[0] != '+' && amount[0] != '-' {
		return Fault{}, fmt.Errorf("%q: want a time with its sign, such as +300us, up to %v", amount, longestStep)
	}
	return Fault{Kind: kind, CPU: cpu, By: by}, nil
}

var errFaultForm = fmt.Errorf("want %s, step +TIME, cpuN +TIME, rate +NUMBERppm, or %s", noneText, Restore)

// parseWhere reads what makes a step: "step" for all CPUs, "cpu1" for one.
func parseWhere(text string) (FaultKind, int, error) {
	if text == string(Step) {
		return Step, AllCPUs, nil
	}
	digits, ok := strings.CutPrefix(text, "cpu")
	cpu, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil {
		return Sound, 0, errFaultForm
	}
	return Step, int(cpu), nil
}

func parseRate(text string) (Fault, error) {
	digits, unit := strings.TrimSuffix(text, "ppm"), 1.0
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		digits, unit = percent, 1e4
	} else if digits == text {
		digits = ""
	}
	v, err := strconv.ParseFloat(digits, 64)
	ppm := v * unit
	if err != nil || ppm == 0 || !(math.Abs(ppm) <= highestPPM) || digits[0] != '+' && digits[0] != '-' {
		return Fault{}, fmt.Errorf("%q: want a share with its sign, such as +50000ppm or -5%%, up to %d ppm", text, highestPPM)
	}
	return Fault{Kind: Rate, CPU: AllCPUs, PPM: ppm}, nil
}

// String writes the fault as ParseFault reads it.
func (f Fault) String() string {
	switch f.Kind {
	case Step:
		return f.where() + " " + signed(f.By)
	case Rate:
		return fmt.Sprintf("%s %+gppm", Rate, f.PPM)
	case Restore:
		return string(Restore)
	}
	return noneText
}

// where is what a step befalls.
func (f Fault) where() string {
	if f.CPU == AllCPUs {
		return string(Step)
	}
	return fmt.Sprintf("cpu%d", f.CPU)
}

func signed(t time.Duration) string {
	if t < 0 {
		return shortTime(t)
	}
	return "+" + shortTime(t)
}

// UnmarshalText reads a fault; see ParseFault.
func (f *Fault) UnmarshalText(b []byte) (err error) {
	*f, err = ParseFault(string(b))
	return err
}

// MarshalText writes it.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
