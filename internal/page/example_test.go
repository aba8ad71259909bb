package page_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/page"
)

func Example() {
	p := page.New("Our hosts")
	err := p.Add("db01.json", strings.NewReader(`{"schema": "cswatch.doctor/v1", "status": "warning", "host": "db01", "summary": "hpet is in use"}`))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(p.Add("notes.json", strings.NewReader(`{"shopping": ["bread"]}`)))
	var html bytes.Buffer
	if err := p.Write(&html); err != nil {
		fmt.Println(err)
	}
	fmt.Println(p.Documents(), strings.Contains(html.String(), "hpet is in use"))
	// Output:
	// no JSON document of this program: want an object with a "schema" such as cswatch.doctor/v1
	// 1 true
}
