package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cswatch/cswatch/internal/store"
)

func Example() {
	parent, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "campaign")
	s, err := store.Create(dir, "plan.txt", []byte("boot twice\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Begin("boot-1"), s.Begin("boot-2"))
	fmt.Println(s.End("boot-1", []store.File{{Name: "console", Data: []byte("...")}}, map[string]int{"checks": 7}, "good"))
	fmt.Println(s.Close()) // boot-2 still runs

	s, found, err := store.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println("interrupted:", found.Interrupted)
	for _, id := range found.Interrupted {
		fmt.Println(s.Lose(id, "the program was stopped", nil))
	}
	fmt.Println("again:", errors.Is(s.Begin("boot-2"), store.ErrTaken))
	for _, e := range s.Entries() {
		fmt.Println(e.Trial, e.State, e.Why, string(e.Summary))
	}
	var result struct{ Checks int }
	fmt.Println(s.Result("boot-1", &result), result.Checks)
	fmt.Println(store.Verify(dir, nil))
	// Output:
	// <nil> <nil>
	// <nil>
	// <nil>
	// interrupted: [boot-2]
	// <nil>
	// again: true
	// boot-1 ended  "good"
	// boot-2 lost the program was stopped null
	// <nil> 7
	// [] <nil>
}
