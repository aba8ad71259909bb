package burst_test

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/burst"
)

func Example() {
	rows, err := burst.Parse("counts.csv", strings.NewReader("retries,boots,unstable\n3,400,42\n5,100,5\n10,100,6\n50,400,1\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := burst.Examine(rows, burst.Options{Rate: 0.001})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := result.Models[0]
	fmt.Printf("%s: %.3f episodes met per boot, %.1f attempts long, deviance %.2f on %d\n",
		m.Family, m.EpisodesPerBoot, *m.MeanLength, m.Deviance, m.DF)
	fmt.Printf("%d retries (%d to %d)\n", *m.Needed.Retries, *m.Needed.Low, *m.Needed.High)
	// Output:
	// exponential: 0.142 episodes met per boot, 12.3 attempts long, deviance 1.98 on 2
	// 61 retries (37 to 98)
}
