package perf_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/cswatch/cswatch/internal/perf"
)

func Example() {
	kernel := func(symbol string) []perf.Frame {
		return []perf.Frame{{Object: "[kernel]", Symbol: symbol, Kernel: true}}
	}
	samples := func(n int64) perf.Weight {
		return perf.Weight{Samples: n, Sum: float64(n), Squares: float64(n)}
	}
	p := perf.Profile{Event: perf.BusCycles, Stacks: []perf.Stack{
		{PID: 12, Command: "client", CPU: 1, Frames: kernel("read_hpet"), Weight: samples(440)},
		{PID: 11, Command: "server", CPU: 0, Frames: kernel("read_hpet"), Weight: samples(410)},
		{PID: 12, Command: "client", CPU: 1, Frames: kernel("tcp_sendmsg_locked"), Weight: samples(150)},
	}}
	for _, r := range p.Table(true) {
		fmt.Printf("%5.1f%%  %s  %s  %s  %d\n", 100*r.Ratio, r.Command, r.Object, r.Symbol, r.CPU)
	}
	c := p.Clocks().All
	fmt.Printf("reading clocks: %.0f%% (%.1f to %.1f), the counter itself %.0f%%\n",
		100*c.Whole.Ratio, 100*c.Whole.Within.Low, 100*c.Whole.Within.High, 100*c.Counter.Ratio)
	p.WriteFolded(os.Stdout)
	// Output:
	//  44.0%  client  [kernel]  read_hpet  1
	//  41.0%  server  [kernel]  read_hpet  0
	//  15.0%  client  [kernel]  tcp_sendmsg_locked  1
	// reading clocks: 85% (82.7 to 87.1), the counter itself 85%
	// client;read_hpet_[k] 440
	// client;tcp_sendmsg_locked_[k] 150
	// server;read_hpet_[k] 410
}

// Two seconds of everything that runs.
func ExampleTake() {
	ctx, end := context.WithTimeout(context.Background(), 2*time.Second)
	defer end()
	p, err := perf.Take(ctx, perf.Config{Target: perf.Target{All: true}}, nil)
	if err != nil {
		fmt.Println(err) // with what to do
		return
	}
	busy, idle := p.Busy()
	fmt.Println(perf.Got(p.Attempts), len(busy.Stacks), idle.Samples)
}

// Which CPU reads the clock how often, in a second of whatever runs.
func ExampleCountCalls() {
	counter, err := perf.CountCalls(perf.ClockReadSymbols("hpet"), nil)
	if err != nil {
		fmt.Println(err) // with what would allow it
		return
	}
	defer counter.Close()
	before, _ := counter.Read()
	time.Sleep(time.Second)
	after, _ := counter.Read()
	for _, c := range perf.CallsSince(before, after) {
		fmt.Printf("CPU %d: %d reads by %s\n", c.CPU, c.Count, c.Symbol)
	}
}
