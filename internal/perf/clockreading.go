package perf

import (
	"cmp"
	"slices"
)

// ClockReading says how much of a profile, or of one process of it, was spent
// reading clocks. The parts add up to the whole, and each is a share of the samples of the process.
type ClockReading struct {
	PID     int32  `json:"pid"`     // -1 for all processes
	Command string `json:"command"` // the name that most of its samples have, "" for all
	Samples int64  `json:"samples"` // of the process, whatever it did

	Whole   Share `json:"whole"`
	Counter Share `json:"counter"` // reading the counter
	Inlined Share `json:"inlined"` // in functions that read it and compute the time, such as the vDSO's
	Around  Share `json:"around"`  // around the counter
	OfAll   Share `json:"of_all"`  // the whole, as a share of the samples of all processes
}

// ClockRow is how much was seen in one function that reads clocks.
type ClockRow struct {
	Share         // of all samples
	Object string `json:"object"`
	Symbol string `json:"symbol"`
	Part   Part   `json:"part"`
	Why    string `json:"why"` // why it counts
}

// ClockOnCPU is how much of the samples of a CPU was spent reading clocks.
type ClockOnCPU struct {
	CPU     uint32 `json:"cpu"`
	Samples int64  `json:"samples"` // of the CPU
	Whole   Share  `json:"whole"`
	Counter Share  `json:"counter"` // reading the counter
}

// Clocks is the answer to: is clock reading hot in this workload?
type Clocks struct {
	All       ClockReading   `json:"all"`
	Processes []ClockReading `json:"processes"` // with samples in clocks, by their share of all samples, the largest first
	Functions []ClockRow     `json:"functions"` // the largest share first
	OnCPUs    []ClockOnCPU   `json:"on_cpus"`   // by number
	// Unnamed is the share of the samples in code without a name, which may read clocks
	// unseen, and UserOnly a profile without the kernel, where slow clocks are read. With
	// either, little that was seen is no proof of little.
	Unnamed  Share `json:"unnamed"`
	UserOnly bool  `json:"user_only"`
	// Chains is set where call chains were sampled: then what runs beneath a function
	// that reads clocks counts as around it, too, such as the entry into a system call. Without them only the innermost function counts.
	Chains bool `json:"chains"`
}

// Clocks answers whether reading clocks is hot: which part of the samples was
// taken in functions of [ClockSymbols]. Idle CPUs count like others: see Busy.
func (p *Profile) Clocks() Clocks {
	type sums struct {
		total, counter, inlined, around Weight
		names                           map[string]int64
	}
	index := newClockIndex()
	processes := map[int32]*sums{}
	cpus := map[uint32]*sums{}
	functions := map[ClockRow]*Weight{}
	all := &sums{}
	answer := Clocks{UserOnly: p.UserOnly}
	var unnamed Weight
	for i := range p.Stacks {
		s := &p.Stacks[i]
		if len(s.Frames) > 1 {
			answer.Chains = true
		}
		one := processes[s.PID]
		if one == nil {
			one = &sums{names: map[string]int64{}}
			processes[s.PID] = one
		}
		one.names[s.Command] += s.Weight.Samples
		cpu := cpus[s.CPU]
		if cpu == nil {
			cpu = &sums{}
			cpus[s.CPU] = cpu
		}
		part, at, frame := index.part(s)
		if part == NoClock && s.leaf().Why != "" {
			unnamed.add(s.Weight)
		}
		for _, to := range []*sums{one, all, cpu} {
			to.total.add(s.Weight)
			switch part {
			case Counter:
				to.counter.add(s.Weight)
			case Inlined:
				to.inlined.add(s.Weight)
			case Around:
				to.around.add(s.Weight)
			}
		}
		if part != NoClock {
			addTo(functions, ClockRow{Object: frame.Object, Symbol: frame.Symbol, Part: part, Why: at.Why}, s.Weight)
		}
	}
	reading := func(pid int32, command string, s *sums) ClockReading {
		var whole Weight
		whole.add(s.counter)
		whole.add(s.inlined)
		whole.add(s.around)
		return ClockReading{
			PID: pid, Command: command, Samples: s.total.Samples,
			Whole: ShareOf(whole, s.total), Counter: ShareOf(s.counter, s.total),
			Inlined: ShareOf(s.inlined, s.total), Around: ShareOf(s.around, s.total),
			OfAll: ShareOf(whole, all.total),
		}
	}
	answer.All = reading(-1, "", all)
	answer.Unnamed = ShareOf(unnamed, all.total)
	for pid, s := range processes {
		if r := reading(pid, commonest(s.names), s); r.Whole.Samples > 0 {
			answer.Processes = append(answer.Processes, r)
		}
	}
	slices.SortFunc(answer.Processes, func(a, b ClockReading) int {
		return cmp.Or(cmp.Compare(b.OfAll.Ratio, a.OfAll.Ratio), cmp.Compare(a.PID, b.PID))
	})
	for n, s := range cpus {
		r := reading(-1, "", s)
		answer.OnCPUs = append(answer.OnCPUs, ClockOnCPU{CPU: n, Samples: r.Samples, Whole: r.Whole, Counter: r.Counter})
	}
	slices.SortFunc(answer.OnCPUs, func(a, b ClockOnCPU) int { return cmp.Compare(a.CPU, b.CPU) })
	for row, w := range functions {
		row.Share = ShareOf(*w, all.total)
		answer.Functions = append(answer.Functions, row)
	}
	slices.SortFunc(answer.Functions, func(a, b ClockRow) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Symbol, b.Symbol), cmp.Compare(a.Part, b.Part))
	})
	return answer
}

// part tells which part of reading a clock a stack was seen in, and the frame that
// says so: the innermost, or the next one out that reads clocks with no interrupt in between.
func (x clockIndex) part(s *Stack) (Part, *ClockSymbol, Frame) {
	for i, f := range s.Frames {
		if c := x.of(f); c != nil {
			if i == 0 {
				return c.Part, c, f
			}
			return Around, c, f
		}
		if interrupts(f) {
			break
		}
	}
	return NoClock, nil, Frame{}
}

// commonest returns the name with the most samples, of equals the first by the alphabet.
func commonest(names map[string]int64) string {
	best, most := "", int64(-1)
	for name, n := range names {
		if n > most || n == most && name < best {
			best, most = name, n
		}
	}
	return best
}
