package bench_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/bench"
)

func ExampleRun() {
	r, err := bench.Run(context.Background(), bench.Plan{
		Parts: []bench.Part{bench.Costs}, Clocks: []string{"realtime"}, Batches: 21, BatchTime: 50 * time.Microsecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Costs {
		if c.Path == bench.PathVDSO {
			fmt.Println(c.Name(), c.Low <= c.Median, c.Median <= c.High) // ns a read with its interval
		}
	}
}

func ExampleRouteOf() {
	vdso := bench.Cost{Median: 1410, Low: 1400, High: 1420, Batches: 201}
	call := bench.Cost{Median: 1390, Low: 1380, High: 1400, Batches: 201}
	r := bench.RouteOf("monotonic", vdso, call, "", "hpet")
	fmt.Println(r.Path)
	fmt.Println(r.Why)
	// Output:
	// syscall
	// it costs as much as the system call: 1410.0 ns by the vDSO (1400.0 to 1420.0), 1390.0 ns by system call (1380.0 to 1400.0); no kernel of today reads hpet in user space
}
