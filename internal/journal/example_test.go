package journal_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cswatch/cswatch/internal/journal"
)

func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "lines")
	// What a process left that was killed while it wrote its second line.
	if err := os.WriteFile(name, []byte("{\"n\":1}\n{\"n\""), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("lock:", journal.Lock(f))
	whole, err := journal.Read(f, func(n int, text []byte) error {
		fmt.Printf("%d: %s\n", n, text)
		return nil
	})
	fmt.Printf("then %q, %v\n", whole.Rest, err)
	w, err := journal.Continue(f, whole)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Append(map[string]int{"n": 2}, true), w.Close())
	text, _ := os.ReadFile(name)
	fmt.Print(string(text))
	// Output:
	// lock: <nil>
	// 1: {"n":1}
	// then "{\"n\"", <nil>
	// <nil> <nil>
	// {"n":1}
	// {"n":2}
}
