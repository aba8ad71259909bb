package dispatch_test

import (
	"context"
	"fmt"

	"github.com/cswatch/cswatch/internal/dispatch"
)

func Example() {
	square := func() dispatch.Work[int] {
		return func(_ context.Context, n int) (int, error) { return n * n, nil }
	}
	err := dispatch.Run(context.Background(), 5, 2, square, func(n, result int) error {
		fmt.Println(n, result)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 0 0
	// 1 1
	// 2 4
	// 3 9
	// 4 16
	// <nil>
}
