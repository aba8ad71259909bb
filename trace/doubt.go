package trace

import (
	"fmt"
	"strings"
)

// Doubt is why an answer is not exact: any of these together, 0 for exact.
type Doubt uint16

// The doubts. doc.go tells when which one applies.
const (
	// DoubtAttempts: the era makes more attempts than were recorded. The missing
	// ones are taken to be as slow as the last.
	DoubtAttempts Doubt = 1 << iota
	// DoubtPattern: the read-backs were taken in another order than the era's, or hold fewer reads.
	DoubtPattern
	// DoubtTimer: the era's timer would have run at another time than the recorded tick.
	DoubtTimer
	// DoubtGap: ticks of the era are missing in the recording before this one.
	DoubtGap
	// DoubtCPU: the era would have read on another CPU.
	DoubtCPU
	// DoubtExchange: the comparison between CPUs was not recorded, or was made otherwise.
	DoubtExchange
	// DoubtEarlier: the answer itself has the data that it needs, but follows an
	// answer that was approximate, from which the saved pair or a condemnation may come.
	DoubtEarlier
	// DoubtUserSpace: the recorder read in user space, where its thread can be
	// interrupted and lose its CPU, and something was late that need not be in a kernel.
	DoubtUserSpace
)

func doubtNames() [8]string {
	return [...]string{"attempts", "pattern", "timer", "gap", "cpu", "exchange", "earlier", "user-space"}
}

// Names returns the stable names of the doubts.
func (d Doubt) Names() []string {
	var names []string
	for i, name := range doubtNames() {
		if d&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names with commas between them, "" for none.
func (d Doubt) String() string { return strings.Join(d.Names(), ",") }

// reasons collects doubts and the sentence about them. The zero value is no doubt.
type reasons struct {
	doubt Doubt
	why   string
}

// add notes a doubt, once each.
func (r *reasons) add(d Doubt, format string, args ...any) {
	if r.doubt&d != 0 {
		return
	}
	r.doubt |= d
	if r.why != "" {
		r.why += "; "
	}
	r.why += fmt.Sprintf(format, args...)
}

// join adds what another collection holds.
func (r *reasons) join(other reasons) {
	if other.doubt == 0 {
		return
	}
	r.doubt |= other.doubt
	if r.why != "" {
		r.why += "; "
	}
	r.why += other.why
}
