package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// hangs is when a browser is given up that does not answer.
const hangs = 5 * time.Minute

// Start starts a browser that ends with the test, and skips the test where there is none.
func Start(t testing.TB) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium here (package chromium), in which to look at the page")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to have one as root
	}
	limited, stop := context.WithTimeout(context.Background(), hangs) // that of the test ends before the browser is closed
	t.Cleanup(stop)
	allocated, cancel := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(cancel)
	ctx, closed := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close the browser: %v", err)
		}
		closed()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return ctx
}

// Tab is a page in a browser, with everything that the browser said of it.
type Tab struct {
	context.Context
	URL string

	t        testing.TB
	lock     sync.Mutex
	said     []string
	requests []string
}

// Open opens a page in a tab of its own, and follows what it does from before its first request on.
func Open(t testing.TB, browser context.Context, url string, before ...chromedp.Action[chromedp.Void]) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	tb := &Tab{Context: ctx, t: t, URL: url}
	tb.Do() // opens it
	if err := chromedp.Listen(ctx, tb.hear); err != nil {
		t.Fatal(err)
	}
	Call(tb, log.Enable, cdp.Empty{})
	Call(tb, network.Enable, network.EnableParams{})
	tb.Do(append(before, chromedp.Navigate(tb.URL))...)
	return tb
}

// hear keeps what the browser tells.
func (tb *Tab) hear(event any) {
	tb.lock.Lock()
	defer tb.lock.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		tb.said = append(tb.said, fmt.Sprintf("console %s with %d arguments", e.Type, len(e.Args)))
	case *runtime.EventExceptionThrown:
		tb.said = append(tb.said, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		tb.said = append(tb.said, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		tb.requests = append(tb.requests, e.Request.URL)
	}
}

// Said is what the browser said on its console so far: calls, errors of a script, refusals of a policy.
func (tb *Tab) Said() []string {
	tb.lock.Lock()
	defer tb.lock.Unlock()
	return slices.Clone(tb.said)
}

// Requests are the addresses that were requested so far.
func (tb *Tab) Requests() []string {
	tb.lock.Lock()
	defer tb.lock.Unlock()
	return slices.Clone(tb.requests)
}

// Quiet fails if the page said anything on the console, or requested anything but itself and the addresses given.
func (tb *Tab) Quiet(besides ...string) {
	tb.t.Helper()
	for _, s := range tb.Said() {
		tb.t.Errorf("the browser says: %s", s)
	}
	requests := tb.Requests()
	for _, r := range requests {
		if r != tb.URL && !slices.Contains(besides, r) {
			tb.t.Errorf("the page requests %s", r)
		}
	}
	if len(requests) == 0 {
		tb.t.Error("not even the request of the page itself was seen")
	}
}

// Call sends a command of the protocol.
func Call[P, R any](tb *Tab, command cdp.Command[P, R], parameters P) R {
	tb.t.Helper()
	r, err := chromedp.Call(tb, command, parameters)
	if err != nil {
		tb.t.Fatal(err)
	}
	return r
}

// Do carries actions out.
func (tb *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// Await waits until an expression is true in the page: until the browser is given up, at most.
func (tb *Tab) Await(expression string) {
	tb.t.Helper()
	tb.Do(chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0)))
}

// Ask carries an action out that has a result.
func Ask[T any](tb *Tab, action chromedp.Action[T]) T {
	tb.t.Helper()
	v, err := chromedp.Run(tb, action)
	if err != nil {
		tb.t.Fatal(err)
	}
	return v
}

// Eval evaluates an expression in the page.
func Eval[T any](tb *Tab, expression string) T {
	tb.t.Helper()
	return Ask(tb, chromedp.Evaluate[T](expression))
}
