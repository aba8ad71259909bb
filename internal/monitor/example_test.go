package monitor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/monitor"
	"github.com/cswatch/cswatch/machine"
)

// A monitor runs until its context ends, whatever the machine lets it read.
func Example() {
	m, err := monitor.New(monitor.Config{
		Sources: monitor.ThisMachine(),
		Watch: func(*machine.Snapshot) (monitor.WatchPlan, error) {
			return monitor.WatchPlan{}, fmt.Errorf("no live watch in this example")
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	m.Run(ctx)
	fmt.Println(m.View().Boot != "")
	// Output: true
}
