package page

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a page in a headless browser, with everything that the browser said of it.
type tab struct {
	context.Context
	t   testing.TB
	url string

	lock     sync.Mutex
	said     []string // on its console, errors of its script, refusals of its policy
	requests []string
}

// hangs is when a browser is given up that does not answer. No test is about how fast one is.
const hangs = 5 * time.Minute

// browser starts a browser, and skips the test where there is none.
func browser(t testing.TB) context.Context {
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

// openTab opens a page of its own, and follows what it does.
func openTab(t testing.TB, browser context.Context, text string, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	tb := &tab{Context: ctx, t: t, url: "file://" + file}
	tb.do() // opens it
	if err := chromedp.Listen(ctx, func(event any) {
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
	}); err != nil {
		t.Fatal(err)
	}
	call(tb, log.Enable, cdp.Empty{})
	call(tb, network.Enable, network.EnableParams{})
	tb.do(append(before, chromedp.Navigate(tb.url))...)
	return tb
}

// call sends a command of the protocol.
func call[P, R any](tb *tab, command cdp.Command[P, R], parameters P) R {
	tb.t.Helper()
	r, err := chromedp.Call(tb, command, parameters)
	if err != nil {
		tb.t.Fatal(err)
	}
	return r
}

// do carries actions out.
func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// await waits until something is true in the page: until the browser is given up, at most.
func (tb *tab) await(expression string) {
	tb.t.Helper()
	tb.do(chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0)))
}

// ask carries an action out that has a result.
func ask[T any](tb *tab, action chromedp.Action[T]) T {
	tb.t.Helper()
	v, err := chromedp.Run(tb, action)
	if err != nil {
		tb.t.Fatal(err)
	}
	return v
}

// eval evaluates an expression in the page.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	return ask(tb, chromedp.Evaluate[T](expression))
}

// quiet fails if the page said anything on the console, or asked for anything but itself.
func (tb *tab) quiet() {
	tb.t.Helper()
	tb.lock.Lock()
	defer tb.lock.Unlock()
	for _, s := range tb.said {
		tb.t.Errorf("the browser says: %s", s)
	}
	for _, r := range tb.requests {
		if r != tb.url {
			tb.t.Errorf("the page requests %s", r)
		}
	}
	if len(tb.requests) == 0 {
		tb.t.Error("not even the request of the page itself was seen")
	}
}

// setPage is the page of the golden set of documents.
func setPage(t testing.TB) string {
	t.Helper()
	p := New("")
	all := documents(t)
	for _, name := range sortedKeys(all) {
		if err := p.Add(strings.TrimPrefix(name, "testdata/set/"), strings.NewReader(all[name])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// prefers makes a tab that follows a reader who prefers dark or light.
func prefers(tb *tab, theme string) {
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
	tb.await(`matchMedia('(prefers-color-scheme: ` + theme + `)').matches`)
}

// disableScripts keeps the script of the page from running.
func disableScripts(ctx context.Context, _ *chromedp.Target) error {
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
}
