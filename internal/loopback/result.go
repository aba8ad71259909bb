package loopback

import "errors"

// ErrChanged is the error of a run under which the clocksource became another by itself.
var ErrChanged = errors.New("the clocksource changed under the run")

// Outcome is what was measured, and everything that shaped it.
type Outcome struct {
	Plan Plan `json:"plan"` // with everything filled in
	// Clocksource was current at the beginning and ClocksourceAfter at the end, "" if not known.
	Clocksource      string    `json:"clocksource"`
	ClocksourceAfter string    `json:"clocksource_after"`
	Seconds          float64   `json:"seconds"` // that all of it took
	Results          []Result  `json:"results"`
	Verdicts         []Verdict `json:"verdicts"`
	Rounds           []Round   `json:"rounds"` // as they came
	Warnings         []Warning `json:"warnings"`
}

// Result is what a test gave under a clocksource, over rounds. All but the first value are medians over rounds, too.
type Result struct {
	Clocksource string `json:"clocksource"` // "" if not known
	Test        Test   `json:"test"`
	Size        int    `json:"size_bytes"`
	Flows       int    `json:"flows"`
	// Value is the median, Low and High enclose it (order statistics). With fewer than six rounds
	// they are the ends of what was seen, which encloses it less often.
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// RatioToBest is the value in values of the best clocksource, by the ratios within blocks; the best is the one that
	// came to most in the blocks that are complete. RatioLow and RatioHigh enclose it and the ratios of all other pairs of
	// clocksources at once. All are 0 where no block is complete, the latter with one block, and 1 for the best itself.
	RatioToBest float64 `json:"ratio_to_best"`
	RatioLow    float64 `json:"ratio_low"`
	RatioHigh   float64 `json:"ratio_high"`
	// RepeatRatio is how far two rounds of this clocksource in one block are apart: the greater in
	// smaller ones, the median over blocks. With one clocksource the rounds are taken two by two. 0 if there is no pair.
	RepeatRatio  float64 `json:"repeat_ratio"`
	Rounds       int     `json:"rounds"`
	Stalled      int     `json:"stalled_rounds"` // in which nothing came
	ReachedWidth bool    `json:"reached_width"`

	SegmentsPerSecond float64 `json:"segments_per_second"` // of both sides, acknowledgements included; 0 if not known
	// DataSegmentsPerSecond carry data, of both sides, and BytesPerSegment is what they carry; 0 if not known, as of crr.
	DataSegmentsPerSecond float64 `json:"data_segments_per_second"`
	BytesPerSegment       float64 `json:"bytes_per_segment"`
	RetransmitsPerSecond  float64 `json:"retransmits_per_second"`
	Client                Use     `json:"client"`
	Server                Use     `json:"server"`
}

// Use is what a side took of CPUs. Shares are of the window.
type Use struct {
	CPU    int     `json:"cpu"`          // that it is bound to
	Thread float64 `json:"thread_ratio"` // of its threads: CPUs that they used
	Busy   float64 `json:"busy_ratio"`   // of the CPU, whoever ran; 0 also if not known
	Stolen float64 `json:"steal_ratio"`  // of the CPU, taken by the hypervisor
	// SegmentsPerSecond are those that it sent, DataSegmentsPerSecond those with data in them.
	SegmentsPerSecond     float64 `json:"segments_per_second"`
	DataSegmentsPerSecond float64 `json:"data_segments_per_second"`
}

// Round is one window.
type Round struct {
	Clocksource string  `json:"clocksource"`
	Test        Test    `json:"test"`
	Block       int     `json:"block"`         // from 0
	Start       float64 `json:"start_seconds"` // of the round, since the run began
	Seconds     float64 `json:"seconds"`       // of the window
	Value       float64 `json:"value"`         // in the unit of the test
	// SentBytes and ReceivedBytes are of a stream, Transactions and Served (at the server) of the other tests.
	SentBytes     uint64 `json:"sent_bytes"`
	ReceivedBytes uint64 `json:"received_bytes"`
	Transactions  uint64 `json:"transactions"`
	Served        uint64 `json:"served"`
	// Retransmits are segments that either side sent again: loopback drops some where a CPU falls behind. 0 for crr.
	Retransmits uint64 `json:"retransmits"`
	Client      Use    `json:"client"`
	Server      Use    `json:"server"`
}

// Verdict says whether a clocksource is slower than the best one in a test.
type Verdict struct {
	Test        Test   `json:"test"`
	Clocksource string `json:"clocksource"`
	Best        string `json:"best"`
	Verdict     string `json:"verdict"`
	// Ratio is the value in values of the best one, with its interval. RepeatRatio is how far two
	// rounds of one of the two in a block are apart, of the one with which it is more.
	Ratio       float64 `json:"ratio"`
	Low         float64 `json:"ratio_low"`
	High        float64 `json:"ratio_high"`
	RepeatRatio float64 `json:"repeat_ratio"`
}

// What verdicts say.
const (
	Slower       = "slower"
	NoDifference = "no-difference-found" // which does not mean that there is none: the interval says what there may be
	TooFewBlocks = "too-few-blocks"      // fewer than two are complete
)

// Warning is doubt about the result.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Codes of warnings.
const (
	WarnOneCPU  = "one-cpu"           // client and server share a CPU without having been asked to
	WarnOthers  = "other-work"        // something else ran on the CPUs
	WarnStolen  = "stolen-time"       // the hypervisor took a CPU away
	WarnStalled = "stalled"           // nothing came in a round: the threads did not get their CPUs
	WarnWidth   = "width-not-reached" // the time was up
	WarnPartial = "partial"           // the run ended early
)
