package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
)

// FaultKind is what is wrong with a TSC.
type FaultKind string

// The faults.
const (
	Frequency   FaultKind = "frequency"   // all TSCs run off by so many ppm
	Step        FaultKind = "step"        // all TSCs, or one, jump by a time
	Drift       FaultKind = "drift"       // the TSCs of one node run off by so many ppm
	Halt        FaultKind = "halt"        // one TSC loses so much of its time, as if it stood in deep idle, evenly spread
	Calibration FaultKind = "calibration" // the kernel takes the frequency for so many ppm higher than it is
)

// Fault is something that is really wrong with the TSC. The zero value is none.
type Fault struct {
	Kind FaultKind
	// PPM of frequency, drift, calibration, and of halt, as a share of time.
	PPM float64
	// By is what step adds.
	By clocksource.Nanos
	// On is the CPU of step and halt, the node of drift; -1 for all CPUs.
	On int
	// From is since when, in the time of the boot.
	From clocksource.Nanos
}

// None reports that nothing is wrong.
func (f Fault) None() bool { return f.Kind == "" }

// ParseFault reads a fault:
//
//	frequency:+800ppm  drift:node1:-50ppm  calibration:+5%
//	step:+1ms  step:cpu1:-300us  halt:cpu2:10%
//
// Behind @ stands since when, as in step:+1ms@10s; without it, 0s. A calibration is from the start. "" and none are no fault.
func ParseFault(text string) (Fault, error) {
	if text == "" || text == "none" {
		return Fault{}, nil
	}
	bad := func(want string) (Fault, error) {
		return Fault{}, fmt.Errorf("fault %q: want %s", text, want)
	}
	spec, from, dated := strings.Cut(text, "@")
	parts := strings.Split(spec, ":")
	f := Fault{Kind: FaultKind(parts[0]), On: -1}
	if dated {
		var err error
		if f.From, err = parseTime(from); err != nil {
			return bad("a time behind @")
		}
	}
	where := map[FaultKind]string{Step: "cpu", Halt: "cpu", Drift: "node"}[f.Kind]
	amount := parts[len(parts)-1]
	switch {
	case len(parts) == 3 && where != "":
		n, err := strconv.ParseUint(strings.TrimPrefix(parts[1], where), 10, 16)
		if err != nil || !strings.HasPrefix(parts[1], where) {
			return bad("a number behind " + where)
		}
		f.On = int(n)
	case len(parts) != 2:
		return bad("KIND:AMOUNT, or KIND:" + "cpuN:AMOUNT")
	case f.Kind == Halt || f.Kind == Drift:
		return bad("which " + where)
	}
	switch f.Kind {
	case Step:
		d, err := parseTime(strings.TrimLeft(amount, "+-"))
		if err != nil || d == 0 {
			return bad("a time with its sign")
		}
		f.By = d
		if strings.HasPrefix(amount, "-") {
			f.By = -d
		}
	case Frequency, Drift, Halt, Calibration:
		ppm, err := parsePPM(amount)
		if err != nil {
			return bad("a number with ppm or %")
		}
		if math.Abs(ppm) > 500_000 || f.Kind == Halt && ppm < 0 {
			return bad("at most half of the time")
		}
		f.PPM = ppm
	default:
		return bad("frequency, step, drift, halt or calibration")
	}
	if f.Kind == Calibration && dated {
		return bad("no @: what was calibrated wrongly is wrong from the start")
	}
	return f, nil
}

func parsePPM(text string) (float64, error) {
	number, factor := strings.TrimSuffix(text, "ppm"), 1.0
	if n, ok := strings.CutSuffix(text, "%"); ok {
		number, factor = n, 1e4
	} else if number == text {
		return 0, fmt.Errorf("no unit")
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is no amount", text)
	}
	return x * factor, nil
}

// String writes the fault as ParseFault reads it.
func (f Fault) String() string {
	if f.None() {
		return "none"
	}
	text := string(f.Kind)
	switch {
	case f.On >= 0 && f.Kind == Drift:
		text += fmt.Sprintf(":node%d", f.On)
	case f.On >= 0:
		text += fmt.Sprintf(":cpu%d", f.On)
	}
	switch {
	case f.Kind != Step:
		text += ":" + strconv.FormatFloat(f.PPM, 'f', -1, 64) + "ppm"
		if f.PPM > 0 {
			text = strings.Replace(text, ":"+strconv.FormatFloat(f.PPM, 'f', -1, 64), ":+"+strconv.FormatFloat(f.PPM, 'f', -1, 64), 1)
		}
	case f.By < 0:
		text += ":-" + formatTime(-f.By)
	default:
		text += ":+" + formatTime(f.By)
	}
	if f.From > 0 {
		text += "@" + formatTime(f.From)
	}
	return text
}

// ahead is by how much the TSC of a CPU is ahead at t because of the fault.
func (f *Fault) ahead(t clocksource.Nanos, cpu, node int) clocksource.Nanos {
	if t < f.From {
		return 0
	}
	rate := func(ppm float64) clocksource.Nanos {
		return clocksource.Nanos(math.Round(ppm * float64(t-f.From) / 1e6))
	}
	switch f.Kind {
	case Frequency:
		return rate(f.PPM)
	case Drift:
		if node == f.On {
			return rate(f.PPM)
		}
	case Halt:
		if cpu == f.On {
			return -rate(f.PPM)
		}
	case Step:
		if f.On < 0 || cpu == f.On {
			return f.By
		}
	}
	return 0
}
