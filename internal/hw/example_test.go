package hw_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/hw"
)

func ExampleMeasureCost() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	cost, err := hw.MeasureCost(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cost.ReadNS > 0, cost.Path == "vdso" || cost.Path == "syscall")
	// Output: true true
}
