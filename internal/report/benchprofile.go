package report

import (
	"cmp"
	"io"

	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/machine"
)

// ProfileBenchSchema is the schema id of the document about what a machine spends its time on.
const ProfileBenchSchema = "cswatch.bench-profile/v1"

// How the sampling ended, besides [BenchDone], [BenchSignal], [BenchChanged] and [BenchFailed].
const (
	ProfileCommand   = "command-ended"
	ProfileProcesses = "processes-ended"
)

// ProfileBench is what CPUs were seen to do, and how much of it is reading clocks.
type ProfileBench struct {
	Schema           string        `json:"schema"`
	Inputs           ProfileInputs `json:"inputs"`
	CPUModel         string        `json:"cpu_model"` // "" if not known, as the next three
	Kernel           string        `json:"kernel"`
	Clocksource      string        `json:"clocksource"` // current at the beginning
	ClocksourceAfter string        `json:"clocksource_after"`
	Ended            string        `json:"ended"`
	// Why is why nothing was sampled, "" where something was. A profile alone that is
	// refused is an error; one beside a benchmark is not.
	Why     string           `json:"why,omitempty"`
	Command *ProfiledCommand `json:"command,omitempty"` // that was started for the profile

	Event     perf.Event     `json:"event"` // that was sampled
	Got       string         `json:"event_why"`
	Attempts  []perf.Attempt `json:"attempts"`
	Frequency int            `json:"frequency_hz"` // of samples, on each busy CPU; less than asked for where the kernel allows no more
	Seconds   float64        `json:"seconds"`
	CPUs      int            `json:"cpus"`
	Samples   int64          `json:"samples"`      // of busy CPUs: all shares are of these
	Idle      int64          `json:"idle_samples"` // left out, as the next
	Own       int64          `json:"own_samples"`  // of this program, where that is not what was to be profiled
	Lost      int64          `json:"lost"`
	Throttled int64          `json:"throttled"`

	Rows         []perf.Row         `json:"rows"`
	RowsLeftOut  int                `json:"rows_left_out"`
	Reading      ProfileReading     `json:"clock_reading"`
	Nameless     []perf.Nameless    `json:"nameless"`
	Restrictions []perf.Restriction `json:"restrictions"`
	Notes        []perf.Note        `json:"notes"`
}

// ProfileInputs is what was asked for.
type ProfileInputs struct {
	All       bool     `json:"all"`
	PIDs      []int    `json:"pids"`
	Command   []string `json:"command"`
	Duration  float64  `json:"duration_seconds"` // 0: until what is profiled ends
	Event     string   `json:"event"`            // auto: the best that can be had
	Frequency int      `json:"frequency_hz"`
	Chains    bool     `json:"chains"`
	PerCPU    bool     `json:"per_cpu"`
	Top       int      `json:"top"` // 0: all rows
	Folded    string   `json:"folded"`
}

// ProfiledCommand is what became of a command that was started for the profile.
type ProfiledCommand struct {
	PID      int     `json:"pid"`
	ExitCode int     `json:"exit_code"`        // -1 where a signal ended it
	Signal   string  `json:"signal,omitempty"` // that ended it
	Stopped  bool    `json:"stopped"`          // it was told to end, since the profile had ended
	Seconds  float64 `json:"seconds"`
}

// ProfileReading answers whether reading clocks is hot.
type ProfileReading struct {
	// Hot is yes where the share is HotFrom or more for certain, as far as chance
	// goes, and no where it is less and nothing is hidden.
	Hot      machine.Answer `json:"hot"`
	Sentence string         `json:"hot_why"`
	HotFrom  float64        `json:"hot_from_ratio"`
	perf.Clocks
}

// Sampled fills in a profile: idle CPUs are left out, and the process own if that is not 0.
func (d *ProfileBench) Sampled(p *perf.Profile, own int) {
	d.Event, d.Got, d.Attempts = p.Event, perf.Got(p.Attempts), p.Attempts
	d.Frequency, d.Seconds, d.CPUs = p.Frequency, p.Seconds, p.CPUs
	d.Lost, d.Throttled, d.Notes = p.Lost, p.Throttled, p.Notes
	busy, idle := p.Busy()
	d.Idle = idle.Samples
	if own != 0 {
		all := busy.Total().Samples
		busy = busy.Without(own)
		d.Own = all - busy.Total().Samples
	}
	d.Samples = busy.Total().Samples
	d.Rows = busy.Table(d.Inputs.PerCPU)
	if top := d.Inputs.Top; top > 0 && len(d.Rows) > top {
		d.RowsLeftOut = len(d.Rows) - top
		d.Rows = d.Rows[:top]
	}
	d.Nameless = busy.Nameless()
	d.Reading = readingOf(busy.Clocks(), d)
}

// NotSampled fills in why there is no profile.
func (d *ProfileBench) NotSampled(why string) {
	d.Ended, d.Why = BenchFailed, why
	d.Reading = ProfileReading{Hot: machine.Unknown, Sentence: "Could not tell, because nothing could be sampled.", HotFrom: HotFrom, Clocks: new(perf.Profile).Clocks()}
}

// ProfileBenchJSON writes the document.
func ProfileBenchJSON(w io.Writer, d *ProfileBench) error {
	return writeJSON(w, d.whole(), "the profile")
}

// whole returns a copy in which no list is null.
func (d *ProfileBench) whole() *ProfileBench {
	c := *d
	c.Schema = ProfileBenchSchema
	c.Inputs.PIDs, c.Inputs.Command = list(c.Inputs.PIDs), list(c.Inputs.Command)
	c.Attempts, c.Rows, c.Nameless = list(c.Attempts), list(c.Rows), list(c.Nameless)
	c.Restrictions, c.Notes = list(c.Restrictions), list(c.Notes)
	c.Reading.Processes, c.Reading.Functions = list(c.Reading.Processes), list(c.Reading.Functions)
	c.Reading.OnCPUs = list(c.Reading.OnCPUs)
	c.Reading.Hot = cmp.Or(c.Reading.Hot, machine.Unknown)
	return &c
}
