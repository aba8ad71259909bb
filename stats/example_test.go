package stats_test

import (
	"fmt"

	"github.com/cswatch/cswatch/stats"
)

func Example() {
	few, many := stats.Count{Events: 42, Trials: 400}, stats.Count{Events: 1, Trials: 400}
	w := stats.Wilson(few, 0.95)
	fmt.Printf("%.1f %% (%.1f to %.1f)\n", 100*few.Rate(), 100*w.Low, 100*w.High)
	d := stats.NewcombeDifference(few, many, 0.95)
	fmt.Printf("%.1f to %.1f points more, mid-p %.1g\n", 100*d.Low, 100*d.High, stats.FisherMidP(few, many))
	// Output:
	// 10.5 % (7.9 to 13.9)
	// 7.4 to 13.6 points more, mid-p 3e-12
}

// The campaign of 2021: does the rate of boots that lose their TSC fall with the retries?
func ExampleCochranArmitage() {
	retries := []float64{3, 5, 10, 50}
	boots := []stats.Count{{Events: 42, Trials: 400}, {Events: 5, Trials: 100}, {Events: 6, Trials: 100}, {Events: 1, Trials: 400}}
	t := stats.CochranArmitage(retries, boots)
	fmt.Printf("z = %.2f, it falls: p = %.1g, exact %.1g\n", t.Z, t.Falls, t.ExactFalls)
	// Output:
	// z = -6.03, it falls: p = 8e-10, exact 1e-12
}
