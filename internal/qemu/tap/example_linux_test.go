package tap_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/qemu/tap"
)

// A tap that makes three attempts of ten slow.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "tap")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	model := campaign.Delay{In: 0.3, Out: 0.7, Low: 100 * time.Microsecond, High: 200 * time.Microsecond}.Chain(1)
	t, err := tap.New(dir, &tap.Hold{Address: 0xffffffff8106c460, Attempt: 3, Model: model}, func(r tap.Read) { fmt.Println(r.CPU, r.Value) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model)
	fmt.Println(strings.ReplaceAll(strings.Join(t.Args(), " "), dir, "DIR"))
	if _, err := t.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// iid p=0.3 100us..200us, seed 1
	// -msg timestamp=on -trace memory_region_ops_read -D DIR/tap -d exec,cpu,fpu -dfilter 0xffffffff8106c460+1
}
