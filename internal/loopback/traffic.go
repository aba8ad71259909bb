package loopback

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Test is a kind of traffic.
type Test string

// The tests, as netperf has them.
const (
	Stream Test = "stream" // the client sends without a pause (TCP_STREAM)
	RR     Test = "rr"     // a request and its answer, in turn, over one connection (TCP_RR)
	CRR    Test = "crr"    // the same with a connection for each request (TCP_CRR)
)

// Tests returns all tests, in the order in which they run.
func Tests() []Test { return []Test{Stream, RR, CRR} }

// Units of results.
const (
	BitPerSecond          = "bit_per_second"
	TransactionsPerSecond = "transactions_per_second"
)

// Unit is that of the test's result.
func (t Test) Unit() string {
	if t == Stream {
		return BitPerSecond
	}
	return TransactionsPerSecond
}

// DefaultSize is the size of a message in bytes where none is given: that of iperf3 for
// streams and of netperf for requests.
func (t Test) DefaultSize() int {
	if t == Stream {
		return 128 << 10
	}
	return 1
}

// Limits of traffic.
const (
	MaxSize  = 16 << 20 // bytes of a message
	MaxFlows = 256
)

// Names of the threads, for profiles.
const (
	ClientThread = "cswatch-send" // the side that connects; in a stream it sends
	ServerThread = "cswatch-recv" // the side that accepts
)

// Placement is the CPU of each side.
type Placement struct {
	Client int `json:"client_cpu"`
	Server int `json:"server_cpu"`
}

// Traffic says what runs over loopback.
type Traffic struct {
	Test  Test
	Size  int        // bytes of a message; 0: that of the test
	Flows int        // connections at once, each with a thread on either side; 0: one
	Pin   *Placement // nil: the threads run where the system puts them
}

func (t Traffic) filled() (Traffic, error) {
	if !slices.Contains(Tests(), t.Test) {
		words := make([]string, len(Tests()))
		for i, k := range Tests() {
			words[i] = string(k)
		}
		return t, fmt.Errorf("there is no test %q: want %s", t.Test, strings.Join(words, ", "))
	}
	if t.Size == 0 {
		t.Size = t.Test.DefaultSize()
	}
	if t.Flows == 0 {
		t.Flows = 1
	}
	if t.Size < 1 || t.Size > MaxSize {
		return t, fmt.Errorf("messages of %d bytes: want 1 to %d", t.Size, MaxSize)
	}
	if t.Flows < 1 || t.Flows > MaxFlows {
		return t, fmt.Errorf("%d flows: want 1 to %d", t.Flows, MaxFlows)
	}
	return t, nil
}

// Sample is how far traffic is. Two of them are a window.
type Sample struct {
	At time.Duration // since the traffic began
	// SentBytes have been handed to the kernel and ReceivedBytes fetched from it: of a
	// stream by client and server. Transactions are complete for the client and Served for the server. What does not apply is 0.
	SentBytes, ReceivedBytes uint64
	Transactions, Served     uint64
	Client, Server           SideSample
	// SegmentsKnown: the kernel has told the segments of both sides. Those of crr are of all
	// TCP of the network namespace and stand at the client, since its connections are gone.
	SegmentsKnown bool
}

// SideSample is what one side has used.
type SideSample struct {
	CPUTime      time.Duration // of its threads
	Segments     uint64        // sent, acknowledgements included
	DataSegments uint64        // sent with data in them
	Retransmits  uint64        // segments sent again
	CPU          CPUTicks      // of the CPU that it is bound to
}

// CPUTicks is what a CPU has done since the machine started, in ticks of /proc/stat.
type CPUTicks struct {
	Busy, Stolen, All uint64
}
