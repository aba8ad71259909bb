package browser_test

import (
	"testing"

	"github.com/cswatch/cswatch/internal/browser"
)

// A test of a page that a server has.
func Example() {
	test := func(t *testing.T, server string) {
		b := browser.Start(t) // skipped where there is none
		tb := browser.Open(t, b, server+"/")
		tb.Prefers("dark")
		if title := browser.Eval[string](tb, `document.title`); title == "" {
			t.Error("the page has no title")
		}
		tb.Quiet(server + "/style.css")
	}
	_ = test
}
