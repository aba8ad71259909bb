package report

import (
	"io"
	"strings"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/simulate"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

// Schemas of the documents about simulated boots.
const (
	SimulateSchema    = "cswatch.simulate/v1"
	SimulateLogSchema = "cswatch.simulate-log/v1"
)

// Simulation is what became of simulated boots.
type Simulation struct {
	Schema      string           `json:"schema"`
	Inputs      SimulationInputs `json:"inputs"`
	Interrupted bool             `json:"interrupted"` // some boots are missing
	Machines    []SimulatedModel `json:"machines"`
	Cells       []SimulatedCell  `json:"cells"`
	Smallest    []SmallestFault  `json:"smallest,omitempty"`
}

// SimulationInputs is what was asked for.
type SimulationInputs struct {
	Machines []string `json:"machines"` // names and files
	// Eras are as they were given, and empty for E0 to E12.
	Eras []string `json:"eras"`
	// Retries are as they were given, and empty for those of each era.
	Retries []int `json:"retries"`
	// CPUs are as they were given, and empty for those of each machine.
	CPUs     []int    `json:"cpus"`
	Boots    uint64   `json:"boots"` // of each cell
	Faults   []string `json:"faults"`
	Smallest string   `json:"smallest,omitempty"` // the kind of fault of which the smallest was looked for
	Curve    bool     `json:"curve"`
	Seed     uint64   `json:"seed"`
}

// SimulatedModel names a machine, and where its parameters come from.
type SimulatedModel struct {
	Machine       string  `json:"machine"`
	About         string  `json:"about"`
	WindowSeconds float64 `json:"window_seconds"` // how long each boot is followed
	Measured      int     `json:"parameters_measured"`
	Published     int     `json:"parameters_published"`
	Assumed       int     `json:"parameters_assumed"`
	Unsaid        int     `json:"parameters_unsaid"` // their text does not say
}

// SimulatedModelOf describes a machine.
func SimulatedModelOf(m *sim.Model) SimulatedModel {
	d := SimulatedModel{Machine: m.Name, About: m.About, WindowSeconds: inSeconds(m.Window)}
	for _, source := range m.Sources {
		switch {
		case strings.HasPrefix(source, "measured"):
			d.Measured++
		case strings.HasPrefix(source, "published"):
			d.Published++
		case strings.HasPrefix(source, "assumed"):
			d.Assumed++
		default:
			d.Unsaid++
		}
	}
	return d
}

// SimulatedDesign is which watchdog ran on which machine.
type SimulatedDesign struct {
	Machine   string       `json:"machine"`
	Era       watchdog.Era `json:"era"`
	Release   string       `json:"release,omitempty"`
	Retries   int          `json:"retries"` // one less than the attempts of a check
	RetriesBy string       `json:"retries_by"`
	CPUs      int          `json:"cpus"`
	Fault     string       `json:"fault"` // none, or as --fault takes it
}

func simulatedDesign(s *simulate.Spec) SimulatedDesign {
	by := RetriesDefault
	switch {
	case s.Profile.RetriesParameter && s.Retries >= 0:
		by = RetriesGiven
	case s.Profile.AutoRetries:
		by = RetriesCPUs
	}
	return SimulatedDesign{s.Model.Name, s.Profile.Era, s.Release, s.Attempts() - 1, by, s.Model.CPUs, s.Fault.String()}
}

// SimulatedCell is one combination and its boots. Rates have intervals of 95 %.
type SimulatedCell struct {
	SimulatedDesign
	Boots    uint64  `json:"boots"`
	Unstable uint64  `json:"unstable"`
	Rate     float64 `json:"rate"`
	RateLow  float64 `json:"rate_low"`
	RateHigh float64 `json:"rate_high"`

	Delay uint64 `json:"condemned_delay"` // of the unstable ones
	Skew  uint64 `json:"condemned_skew"`
	Order uint64 `json:"condemned_cpus"`
	Blind uint64 `json:"blind"` // checks were suspended until beyond the window, and nothing was found before

	// First is the unstable boot with the lowest number.
	First   *SimulatedFirst `json:"first,omitempty"`
	Message string          `json:"first_message,omitempty"` // with which its kernel condemned the TSC
	// When tells when the TSC was condemned, since the start of the kernel.
	When *SimulatedTimes `json:"condemned_seconds,omitempty"`

	Checks   uint64 `json:"checks"`
	Retried  uint64 `json:"checks_retried"`
	Skipped  uint64 `json:"checks_skipped"`
	TimedOut uint64 `json:"checks_timed_out"`
	Troubled uint64 `json:"troubled"` // boots with a retry, a skip or a time-out

	Detection *SimulatedDetection `json:"detection,omitempty"`
}

// SimulatedFirst is the first unstable boot of a cell.
type SimulatedFirst struct {
	Boot    uint64  `json:"boot"`
	Seconds float64 `json:"seconds"`
	Kind    string  `json:"kind"` // of the verdict
}

// SimulatedTimes are quantiles of a time.
type SimulatedTimes struct {
	P05    float64 `json:"p05"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
}

// SimulatedDetection is how well the fault of a cell is found.
type SimulatedDetection struct {
	Detected uint64  `json:"detected"`
	Eligible uint64  `json:"eligible"` // boots that were not condemned for latency, or before the fault
	Rate     float64 `json:"detected_rate"`
	RateLow  float64 `json:"detected_rate_low"`
	RateHigh float64 `json:"detected_rate_high"`
	// After are the times from the fault until it was found.
	After *SimulatedDelay `json:"after,omitempty"`
	// FalseAlarms is the same cell without the fault.
	FalseAlarms *SimulatedRate `json:"false_positives,omitempty"`
	// Unvisited is why the fault could not be detected, whatever its amount.
	Unvisited *SimulatedUnvisited `json:"unvisited,omitempty"`
}

// SimulatedUnvisited is what the watchdog never comes to within the window.
type SimulatedUnvisited struct {
	What   string  `json:"what"`
	CPUs   int     `json:"cpus_visited"`
	Window float64 `json:"window_needed_seconds,omitempty"` // 0: it comes there in none
}

// SimulatedDelay are quantiles with intervals.
type SimulatedDelay struct {
	Median     float64 `json:"median_seconds"`
	MedianLow  float64 `json:"median_low_seconds"`
	MedianHigh float64 `json:"median_high_seconds"`
	P95        float64 `json:"p95_seconds"`
	P95Low     float64 `json:"p95_low_seconds"`
	P95High    float64 `json:"p95_high_seconds"`
}

// SimulatedRate is a share of boots.
type SimulatedRate struct {
	Boots    uint64  `json:"boots"`
	Unstable uint64  `json:"unstable"`
	Rate     float64 `json:"rate"`
	RateLow  float64 `json:"rate_low"`
	RateHigh float64 `json:"rate_high"`
}

// SmallestFault is the smallest fault of a kind that is found in enough boots.
type SmallestFault struct {
	SimulatedDesign
	Wanted float64 `json:"wanted_rate"`
	// Reached says that the fault is the smallest one; otherwise no amount is found
	// often enough, and the fault is the one that is found most often.
	Reached   bool                `json:"reached"`
	Detection SimulatedDetection  `json:"detection"`
	Smaller   string              `json:"next_smaller,omitempty"` // the next one in two digits
	SmallerAt *SimulatedDetection `json:"next_smaller_detection,omitempty"`
	Tried     int                 `json:"tried"`
}

func inSeconds(n clocksource.Nanos) float64 { return float64(n) / 1e9 }

// SimulatedCellOf describes a result. healthy is the same cell without its fault, or nil.
func SimulatedCellOf(r *simulate.Result, seed uint64, healthy *simulate.Result) (SimulatedCell, error) {
	t := &r.Tally
	share := simulate.ShareOf(t.Unstable, t.Boots)
	c := SimulatedCell{
		SimulatedDesign: simulatedDesign(&r.Spec), Boots: t.Boots, Unstable: t.Unstable, Rate: share.Rate, RateLow: share.Low, RateHigh: share.High,
		Delay: t.Delay, Skew: t.Skew, Order: t.CPUs, Blind: t.Blind,
		Checks: t.Checks, Retried: t.Retried, Skipped: t.Skipped, TimedOut: t.TimedOut, Troubled: t.Troubled,
	}
	if t.Unstable > 0 {
		c.First = &SimulatedFirst{Boot: t.First, Seconds: inSeconds(t.Verdict.Time), Kind: t.Verdict.Kind.String()}
		line, ok, err := r.FirstMessage(seed)
		if err != nil {
			return c, err
		}
		if ok {
			c.Message = line.Line.Text
		}
	}
	if !r.Fault.None() {
		d := simulatedDetection(&r.Spec, t)
		if healthy != nil {
			h := simulate.ShareOf(healthy.Tally.Unstable, healthy.Tally.Boots)
			d.FalseAlarms = &SimulatedRate{h.Boots, h.Events, h.Rate, h.Low, h.High}
		}
		c.Detection = &d
	} else if median, ok := t.Quantile(0.5); ok {
		low, _ := t.Quantile(0.05)
		high, _ := t.Quantile(0.95)
		c.When = &SimulatedTimes{inSeconds(low), inSeconds(median), inSeconds(high)}
	}
	return c, nil
}

func simulatedDetection(s *simulate.Spec, t *sim.Tally) SimulatedDetection {
	d := simulate.DetectionOf(t)
	out := SimulatedDetection{Detected: d.Found.Events, Eligible: d.Found.Boots, Rate: d.Found.Rate, RateLow: d.Found.Low, RateHigh: d.Found.High}
	if d.Timed {
		out.After = &SimulatedDelay{inSeconds(d.Median.At), inSeconds(d.Median.Low), inSeconds(d.Median.High), inSeconds(d.P95.At), inSeconds(d.P95.Low), inSeconds(d.P95.High)}
	} else if u, ok := s.Unvisited(); ok {
		out.Unvisited = &SimulatedUnvisited{u.What, u.CPUs, inSeconds(u.Window)}
	}
	return out
}

// SmallestFaultOf describes what a search found.
func SmallestFaultOf(s *simulate.Smallest) SmallestFault {
	f := SmallestFault{SimulatedDesign: simulatedDesign(&s.Found.Spec), Wanted: simulate.Wanted, Reached: s.Reached, Detection: simulatedDetection(&s.Found.Spec, &s.Found.Tally), Tried: s.Tried}
	if s.Reached && s.Below.Tally.Boots > 0 {
		d := simulatedDetection(&s.Below.Spec, &s.Below.Tally)
		f.Smaller, f.SmallerAt = s.Below.Fault.String(), &d
	}
	return f
}

// SimulationJSON writes the document. Lists are [] where they are empty, never null.
func SimulationJSON(w io.Writer, s *Simulation) error {
	c := *s
	c.Schema = SimulateSchema
	in := &c.Inputs
	in.Machines, in.Eras, in.Retries, in.CPUs, in.Faults = list(in.Machines), list(in.Eras), list(in.Retries), list(in.CPUs), list(in.Faults)
	c.Machines, c.Cells = list(c.Machines), list(c.Cells)
	return writeJSON(w, &c, "the simulation")
}

// SimulatedLog is the kernel log of one boot.
type SimulatedLog struct {
	Schema string `json:"schema"`
	SimulatedDesign
	Seed          uint64          `json:"seed"`
	Boot          uint64          `json:"boot"`
	WindowSeconds float64         `json:"window_seconds"`
	Lines         []SimulatedLine `json:"lines"`
}

// SimulatedLine is a line of it.
type SimulatedLine struct {
	Seconds float64 `json:"seconds"`
	Level   int     `json:"level"`
	Text    string  `json:"text"`
	stamped string
}

// SimulatedLogOf describes the log of a boot.
func SimulatedLogOf(s *simulate.Spec, seed, boot uint64, lines []sim.LogLine) SimulatedLog {
	d := SimulatedLog{Schema: SimulateLogSchema, SimulatedDesign: simulatedDesign(s), Seed: seed, Boot: boot, WindowSeconds: inSeconds(s.Model.Window), Lines: []SimulatedLine{}}
	for _, l := range lines {
		d.Lines = append(d.Lines, SimulatedLine{float64(l.At/clocksource.Microsecond) / 1e6, l.Line.Level, l.Line.Text, l.String()})
	}
	return d
}

// SimulatedLogJSON writes the document.
func SimulatedLogJSON(w io.Writer, d *SimulatedLog) error {
	return writeJSON(w, d, "the simulated log")
}
