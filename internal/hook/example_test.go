package hook_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cswatch/cswatch/internal/hook"
)

// teller is a hook that prints.
type teller struct{}

func (teller) Tell(_ context.Context, e hook.Event) (hook.Outcome, error) {
	fmt.Println(e.ID(), e.Text())
	return hook.OK, nil
}

// Events are added whenever there are some, and told one after the other.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	q, err := hook.NewQueue(hook.QueueConfig{
		Hook: teller{},
		Delivered: func(number uint64) {
			if number == 4 {
				cancel()
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := hook.Event{BootID: "0f1f7c4a", Number: 3, Kind: hook.Switched, Host: "db01", At: time.Now(), Summary: "the kernel went from tsc to hpet"}
	q.Add(e)
	q.Add(e) // once more does no harm
	e.Number, e.Kind, e.Summary = 4, hook.StatusChanged, "the status went from ok to warning"
	q.Add(e)
	var owner sync.WaitGroup
	owner.Go(func() { q.Run(ctx) })
	owner.Wait()
	fmt.Println(q.Count(hook.OK), "told,", q.Length(), "waiting")
	// Output:
	// 0f1f7c4a:3 db01: the kernel went from tsc to hpet
	// 0f1f7c4a:4 db01: the status went from ok to warning
	// 2 told, 0 waiting
}
