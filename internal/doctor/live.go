package doctor

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/machine"
)

// Live is what the watchdog of one era found over the counters of the running
// machine in a few seconds. It ran in user space: its read-backs can be late for
// reasons that no kernel has, and those are told apart.
type Live struct {
	Era     string `json:"era"`
	Release string `json:"release,omitempty"` // upstream, where it is known
	EraWhy  string `json:"era_why"`
	Retries int    `json:"retries"` // attempts that may follow the first
	// Kernel is uname -r and Current the clocksource of the machine that was
	// measured, which is a guest or is not.
	Kernel  string         `json:"kernel_release,omitempty"`
	Current string         `json:"current_clocksource,omitempty"`
	Guest   machine.Answer `json:"guest"`

	Counter     string         `json:"clocksource"` // the counter under test
	CounterHz   clocksource.Hz `json:"clocksource_frequency_hz"`
	CounterFrom string         `json:"clocksource_frequency_source"`
	// Doubt is how far CounterHz may be from the kernel's idea of the rate.
	Doubt clocksource.PPM `json:"clocksource_frequency_doubt_ppm"`
	// Independent tells whether the reference is independent of the counter: one
	// that is computed from it agrees with it whatever it does.
	Reference      string         `json:"reference"`
	Independent    machine.Answer `json:"independent"`
	IndependentWhy string         `json:"independent_why"`
	CPUs           string         `json:"cpus"`

	Asked   float64           `json:"asked_seconds"`
	Elapsed clocksource.Nanos `json:"elapsed_ns"` // from the first tick to the last
	Ended   string            `json:"ended"`      // duration, signal or error
	Ticks   uint64            `json:"ticks"`
	Checks  uint64            `json:"checks"`   // ticks at which the era made one
	Kinds   map[string]uint64 `json:"verdicts"` // how many of each kind

	Delays    LiveDelays    `json:"readback_delays"`
	Latency   LiveLatency   `json:"latency"`
	Skew      LiveSkew      `json:"skew"`
	Exchanges LiveExchanges `json:"exchanges"`
}

// LiveDelays describes the read-back delays. Those whose thread is known to
// have lost its CPU are not in the distribution.
type LiveDelays struct {
	Count  uint64            `json:"count"`
	Min    clocksource.Nanos `json:"min_ns"`
	Median clocksource.Nanos `json:"median_ns"`
	P99    clocksource.Nanos `json:"p99_ns"`
	Max    clocksource.Nanos `json:"max_ns"`
	Limit  clocksource.Nanos `json:"limit_ns"` // above it a read-back is late
	// The late ones by cause. Without InterruptsCounted an interrupt may be
	// behind those that nothing explains.
	Preempted         uint64 `json:"late_preempted"`
	Interrupted       uint64 `json:"late_interrupted"`
	Unexplained       uint64 `json:"late_unexplained"`
	InterruptsCounted bool   `json:"interrupts_counted"`
}

// LiveLatency counts the decisions that the era took for slow reads alone. Only
// those count of which no attempt was late through what happens to programs and not
// to a kernel that reads with interrupts off.
type LiveLatency struct {
	Condemned uint64 `json:"condemned"`
	Skipped   uint64 `json:"skipped"`
	TimedOut  uint64 `json:"timed_out"`
	// Disturbed are the other ones: an attempt was preempted or interrupted, or that could not be told.
	Disturbed uint64 `json:"disturbed"`
}

// LiveSkew is what those comparisons found whose two read-backs came in time.
type LiveSkew struct {
	Compared uint64          `json:"compared"`
	LeftOut  uint64          `json:"left_out"` // a read-back was late, or the reference can have wrapped
	Least    clocksource.PPM `json:"least_ppm"`
	Greatest clocksource.PPM `json:"greatest_ppm"`
	Mean     clocksource.PPM `json:"mean_ppm"` // over the time that was compared
	// Noise is what two read-backs can make of one interval at most, Beyond the
	// largest skew, by size, of which its two read-backs explain nothing.
	Noise  clocksource.PPM `json:"noise_ppm"`
	Beyond clocksource.PPM `json:"beyond_ppm"`
	// Condemned counts the skews that the era condemned the counter for.
	Condemned uint64            `json:"condemned"`
	Largest   clocksource.Nanos `json:"largest_ns"` // by size
}

// LiveExchanges counts the comparisons of two CPUs' counters.
type LiveExchanges struct {
	Made      uint64 `json:"made"`
	Completed uint64 `json:"completed"`
	Failed    uint64 `json:"failed"`
	Why       string `json:"why_failed,omitempty"` // of the last one
	// Backwards is in how many time ran backwards, and Most by how many cycles at least.
	Backwards uint64             `json:"backwards"`
	Most      clocksource.Cycles `json:"backwards_cycles"`
	Between   string             `json:"backwards_between,omitempty"` // the CPUs of the worst one
}
