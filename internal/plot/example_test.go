package plot_test

import (
	"bytes"
	"fmt"

	"github.com/cswatch/cswatch/internal/plot"
)

func Example() {
	c := plot.Chart{
		Title: "Unstable boots",
		X:     plot.Axis{Label: "retries", Scale: plot.LogPlusOne},
		Y:     plot.Axis{Label: "rate", Scale: plot.Log, Percent: true},
		Series: []plot.Series{
			{Name: "observed", Points: []plot.Point{{X: 3, Y: 0.105, Low: 0.079, High: 0.139}, {X: 50, Y: 0.0025, Low: 0.0004, High: 0.014}}},
		},
	}
	var svg bytes.Buffer
	if err := c.SVG(&svg); err != nil {
		fmt.Println(err)
	}
	fmt.Println(bytes.Contains(svg.Bytes(), []byte(">Unstable boots</text>")))
	// Output: true
}
