package house_test

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/house"
)

// A core package that asks for the time breaks a rule.
func ExampleCheckPure() {
	p, err := house.ParsePackage(house.Module+"/watchdog", map[string]string{
		"step.go": "package watchdog\n\nimport \"time\"\n\nfunc now() time.Time { return time.Now() }\n",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range house.CheckPure(p) {
		fmt.Println(v.Where, v.What)
	}
	// Output: step.go:5:31 uses time.Now
}
