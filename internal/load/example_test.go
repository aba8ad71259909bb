package load_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/load"
)

func Example() {
	for _, k := range load.Kinds() {
		fmt.Printf("%-4s  %s\n", k, k.Sentence())
	}
	// Output:
	// none  nothing runs but what is there anyway
	// cpu   every CPU runs a busy loop
	// hpet  every CPU reads the main counter of the HPET in a loop
	// both  every second CPU runs a busy loop and the others read the HPET; a single CPU does both
	// net   a TCP stream runs over the loopback interface
}

// A load beside a measurement of ten seconds.
func ExampleDriver() {
	ctx, end := context.WithTimeout(context.Background(), 10*time.Second)
	defer end()
	running, err := load.Driver{Kind: load.CPU}.Start(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Measure here.
	work, err := running.Wait()
	fmt.Println(work.Loops, work.Idle(), err)
}
