package loopback_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/loopback"
)

func ExampleRun() {
	o, err := loopback.Run(context.Background(), loopback.Plan{
		Tests: []loopback.Test{loopback.RR}, Round: 100 * time.Millisecond, Most: 5 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range o.Results {
		fmt.Println(r.Clocksource, r.Test, r.Low <= r.Value, r.Value <= r.High, r.Unit)
	}
}

func ExampleSummarise() {
	var rounds []loopback.Round
	for block, x := range []float64{13.1e9, 12.9e9, 13.0e9} {
		for _, source := range []string{"tsc", "hpet", "hpet", "tsc"} {
			r := loopback.Round{Test: loopback.Stream, Clocksource: source, Block: block, Seconds: 1, Value: x}
			if source == "hpet" {
				r.Value *= 0.12
			}
			rounds = append(rounds, r)
		}
	}
	_, verdicts := loopback.Summarise(loopback.Plan{}, loopback.Stream, rounds)
	for _, v := range verdicts {
		fmt.Printf("%s: %s, %.2f of %s\n", v.Clocksource, v.Verdict, v.Ratio, v.Best)
	}
	// Output: hpet: slower, 0.12 of tsc
}
