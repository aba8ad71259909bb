package watchdog

import "github.com/cswatch/cswatch/clocksource"

// Machine is what stands behind the watchdog: live counters, a simulated
// machine, a recording, a script. Values are raw, as the counters give them.
type Machine interface {
	// ReadBack reads the reference and the clock with that index once, in the
	// order of the pattern, on the CPU of the tick. Fields that the pattern has
	// not are ignored. Under ReadSharedReference only Clock is read.
	ReadBack(clock int, p ReadPattern) ReadBack
	// ReadReference reads the reference alone (eras E0 and E1, once a tick).
	ReadReference() clocksource.Cycles
	// Exchange lets the CPU of the tick and another alternate time stamps of the
	// clock (E12). It is not called in other eras.
	Exchange(clock, cpu int, r RemoteRule) Exchange
}

// ReadBack is one attempt: raw values in the order in which they were read.
type ReadBack struct {
	Before clocksource.Cycles `json:"before"` // first read of the reference; the only one under cs,wd, where it comes after Clock
	Clock  clocksource.Cycles `json:"clock"`
	After  clocksource.Cycles `json:"after"` // second read of the reference
	Again  clocksource.Cycles `json:"again"` // third, at once behind the second
}

// maxExchange is how many stamps the two sides of an exchange take together.
const maxExchange = 10

// Exchange is E12's comparison of a clock between two CPUs: stamps in the
// order in which they were taken, the control CPU's first, then in turn.
type Exchange struct {
	Stamps   [maxExchange]clocksource.Cycles `json:"stamps"`
	Count    int                             `json:"count"`
	TimedOut bool                            `json:"timed_out"` // the other side did not answer in time
	Busy     bool                            `json:"busy"`      // it still had an earlier request
}

// Tick is one expiry of the watchdog's timer.
type Tick struct {
	Now    clocksource.Nanos // when it runs, which may be later than it was due
	CPU    int               // where it runs
	Online CPUs              // the CPUs that are online
}

// CPUs tells which CPUs are online.
type CPUs interface {
	Count() int
	// Next returns the next online CPU after cpu, cyclic; cpu itself if it is the only one.
	Next(cpu int) int
	// First returns the lowest online CPU: the boot CPU of a machine that has all of them.
	First() int
}

// AllCPUs are the CPUs 0 to n-1.
type AllCPUs int

// Count returns n.
func (n AllCPUs) Count() int { return int(n) }

// Next returns the CPU behind cpu, 0 behind the last one.
func (n AllCPUs) Next(cpu int) int {
	if cpu+1 >= int(n) {
		return 0
	}
	return cpu + 1
}

// First returns 0.
func (n AllCPUs) First() int { return 0 }
