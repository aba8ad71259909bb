package perf

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/stats"
)

// Confidence is that of the intervals of all shares.
const Confidence = 0.95

// Frame is a function in which a sample was taken, or through which it came there.
type Frame struct {
	// Object is the file without its folder, [kernel], a module in brackets, or
	// [vdso], [vsyscall], [anon], [unknown], [hypervisor], [guest], [others].
	Object string `json:"object"`
	Symbol string `json:"symbol"` // an address in hexadecimal, or [unknown], where Why says why
	Kernel bool   `json:"kernel"`
	Why    string `json:"why,omitempty"` // why there is no name
}

// Stack is how often one process was seen at one place on one CPU.
type Stack struct {
	PID     int32   `json:"pid"`
	Command string  `json:"command"` // the name of the thread
	CPU     uint32  `json:"cpu"`
	Frames  []Frame `json:"frames"` // the innermost first; one alone without call chains
	Weight  Weight  `json:"weight"`
}

// leaf is the innermost frame.
func (s *Stack) leaf() Frame {
	if len(s.Frames) == 0 {
		return Frame{Object: "[unknown]", Symbol: "[unknown]"}
	}
	return s.Frames[0]
}

// Profile is what was sampled.
type Profile struct {
	Event     Event     `json:"event"`
	UserOnly  bool      `json:"user_only"`
	Attempts  []Attempt `json:"attempts"` // of events, in the order in which they were tried
	Frequency int       `json:"frequency_hz,omitempty"`
	Period    uint64    `json:"period,omitempty"`
	Seconds   float64   `json:"seconds"` // how long samples were taken
	CPUs      int       `json:"cpus"`

	Stacks    []Stack `json:"stacks"`
	Lost      int64   `json:"lost"`      // records that the kernel had no room for; most are samples
	Throttled int64   `json:"throttled"` // how often the kernel paused the sampling
	Notes     []Note  `json:"notes"`     // what makes the profile worth less than it looks
}

// Note is a doubt about a profile, with an id that stays the same.
type Note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Total returns the weight of all samples.
func (p *Profile) Total() Weight {
	var w Weight
	for i := range p.Stacks {
		w.add(p.Stacks[i].Weight)
	}
	return w
}

// Busy returns the profile without the samples of idle CPUs, and the weight of those. Events
// that count time see idle CPUs, and events that count cycles do not: shares of the
// busy samples can be compared.
func (p *Profile) Busy() (Profile, Weight) {
	busy, idle := *p, Weight{}
	busy.Stacks = nil
	for _, s := range p.Stacks {
		if s.Idle() {
			idle.add(s.Weight)
			continue
		}
		busy.Stacks = append(busy.Stacks, s)
	}
	return busy, idle
}

// Without returns the profile without the samples of one process, such as that of the profiler.
func (p *Profile) Without(pid int) Profile {
	rest := *p
	rest.Stacks = slices.DeleteFunc(slices.Clone(p.Stacks), func(s Stack) bool { return s.PID == int32(pid) })
	return rest
}

// Share is a part of a total, with the interval that the number of samples leaves
// it. The interval knows nothing of how samples hang together in time.
type Share struct {
	Samples int64          `json:"samples"`
	Ratio   float64        `json:"share_ratio"` // of the event, as the periods weigh the samples; NaN never: 0 of nothing is 0
	Within  stats.Interval `json:"interval"`
}

// ShareOf returns what part of a total a weight is. Where periods differ, as they
// do while the kernel seeks the period for a frequency, the interval is that of as many
// equal samples as would be as sure (Kish, Survey Sampling, 1965).
func ShareOf(part, total Weight) Share {
	s := Share{Samples: part.Samples, Within: stats.Interval{Low: 0, High: 1}}
	if total.Samples <= 0 || total.Sum <= 0 || total.Squares <= 0 {
		return s
	}
	s.Ratio = min(part.Sum/total.Sum, 1)
	n := math.Round(min(total.Sum/total.Squares*total.Sum, float64(total.Samples)))
	if !(n >= 1) { // also for sums beyond what a float holds
		return s
	}
	s.Within = stats.Wilson(stats.Count{Events: int(math.Round(s.Ratio * n)), Trials: int(n)}, Confidence)
	return s
}

// Row is a line of the table: the share of one function in one command on one CPU.
type Row struct {
	Share
	Command string `json:"command"`
	Object  string `json:"object"`
	Symbol  string `json:"symbol"`
	Kernel  bool   `json:"kernel"`
	CPU     int    `json:"cpu"` // -1 for all
	Why     string `json:"why,omitempty"`
}

// Table returns the rows, the largest first: those that perf report prints when it
// sorts by command, object, symbol and CPU, or without perCPU by the first three. The shares are of all samples of the profile.
func (p *Profile) Table(perCPU bool) []Row {
	sums := map[Row]*Weight{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		f := s.leaf()
		key := Row{Command: s.Command, Object: f.Object, Symbol: f.Symbol, Kernel: f.Kernel, CPU: -1, Why: f.Why}
		if perCPU {
			key.CPU = int(s.CPU)
		}
		addTo(sums, key, s.Weight)
	}
	total := p.Total()
	rows := make([]Row, 0, len(sums))
	for row, w := range sums {
		row.Share = ShareOf(*w, total)
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(a.Command, b.Command), cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Symbol, b.Symbol), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Why, b.Why))
	})
	return rows
}

func addTo[K comparable](sums map[K]*Weight, key K, w Weight) {
	if sums[key] == nil {
		sums[key] = &Weight{}
	}
	sums[key].add(w)
}

// Nameless is how much of a profile has no names, for one reason.
type Nameless struct {
	Share
	Object string `json:"object"`
	Why    string `json:"why"`
}

// Nameless returns where samples were taken that have no name, and why, the largest share first.
func (p *Profile) Nameless() []Nameless {
	sums := map[Nameless]*Weight{}
	for i := range p.Stacks {
		if f := p.Stacks[i].leaf(); f.Why != "" {
			addTo(sums, Nameless{Object: f.Object, Why: f.Why}, p.Stacks[i].Weight)
		}
	}
	total := p.Total()
	list := make([]Nameless, 0, len(sums))
	for n, w := range sums {
		n.Share = ShareOf(*w, total)
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b Nameless) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Why, b.Why))
	})
	return list
}

// WriteFolded writes the stacks as flame graph programs read them: a line for each
// with the command and the functions, outermost first, between semicolons, and the number of samples.
// Functions of the kernel end in _[k], as is the custom there.
func (p *Profile) WriteFolded(w io.Writer) error {
	lines := map[string]int64{}
	var b strings.Builder
	for i := range p.Stacks {
		s := &p.Stacks[i]
		b.Reset()
		b.WriteString(folded(s.Command))
		for _, f := range slices.Backward(s.Frames) {
			b.WriteByte(';')
			if f.Why != "" { // an address alone would make one function of many objects
				b.WriteString(folded(f.Object) + "+")
			}
			b.WriteString(folded(f.Symbol))
			if f.Kernel {
				b.WriteString("_[k]")
			}
		}
		lines[b.String()] += s.Weight.Samples
	}
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(out, "%s %d\n", line, lines[line])
	}
	return out.Flush()
}

// folded makes a name fit into a folded stack: semicolons part functions, and the
// last space the number. Names are a program's own choice.
func folded(name string) string {
	if name == "" {
		return "[unknown]"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case r < ' ' || r == 0x7f:
			return '_'
		}
		return r
	}, name)
}
