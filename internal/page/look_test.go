package page

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/browser"
)

// layOut lays out what is out of sight, too, which a screen waits with: nothing moves
// from then on when the page is scrolled.
const layOut = `document.querySelectorAll('main > section').forEach(s => { s.style.contentVisibility = 'visible'; }), true`

// loadEnd is when the load event of the page was over, in ms since the navigation began.
const loadEnd = `performance.getEntriesByType('navigation')[0].loadEventEnd`

// fleetHosts is the texts of the first column of the fleet.
const fleetHosts = `[...document.querySelectorAll('#fleet-table tbody tr:not([hidden])')].map(r => r.cells[0].textContent)`

// opensQuietly fails where a page says something on the console or requests anything. It
// logs how long it takes to open, which is a figure of docs/report.md.
func opensQuietly(t *testing.T, b context.Context, text string) {
	t.Helper()
	tb := openTab(t, b, text)
	tb.OpenAll()
	tb.Quiet()
	var took []float64
	for range 9 {
		tb.Do(chromedp.Navigate(tb.URL))
		tb.Await(loadEnd + " > 0")
		took = append(took, browser.Eval[float64](tb, loadEnd))
	}
	slices.Sort(took)
	t.Logf("%d bytes; from the start of the navigation to the end of the load event: median %.0f ms, from %.0f to %.0f", len(text), took[4], took[0], took[8])
}

func TestAPageOfYoursInABrowser(t *testing.T) {
	name := os.Getenv("CSWATCH_PAGE")
	if name == "" {
		t.Skip("looks at the page that CSWATCH_PAGE names")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	opensQuietly(t, browser.Start(t), string(text))
}

func TestThePageInABrowser(t *testing.T) {
	text := setPage(t)
	b := browser.Start(t)

	t.Run("says nothing on the console and requests nothing but itself", func(t *testing.T) {
		opensQuietly(t, b, text)
	})

	t.Run("runs nothing that a hostile document says", func(t *testing.T) {
		p := New("title " + evil)
		for name, d := range documents(t) {
			if err := p.Add(name+evil, strings.NewReader(poisoned(t, d))); err != nil {
				t.Log(err)
			}
		}
		tb := openTab(t, b, written(t, p))
		tb.OpenAll()
		tb.Quiet()
	})

	t.Run("refuses a script that is not its own", func(t *testing.T) {
		tb := openTab(t, b, strings.Replace(text, "</main>", "<script>document.title = 'taken over'</script></main>", 1))
		if title := browser.Eval[string](tb, `document.title`); title == "taken over" {
			t.Error("it ran")
		}
		if !slices.ContainsFunc(tb.Said(), func(s string) bool { return strings.Contains(s, "Content Security Policy") }) {
			t.Errorf("the policy did not refuse it: %q", tb.Said())
		}
	})

	t.Run("sorts by click and by keyboard", func(t *testing.T) {
		tb := openTab(t, b, text)
		before := browser.Eval[[]string](tb, fleetHosts)
		head := chromedp.CSS(`#fleet-table thead th:first-child button`)
		browser.Eval[bool](tb, layOut)
		tb.Do(chromedp.Click(head))
		ascending := browser.Eval[[]string](tb, fleetHosts)
		want := slices.Clone(before)
		slices.Sort(want)
		got := slices.Clone(ascending)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || slices.Equal(before, ascending) {
			t.Errorf("sorting lost rows or changed nothing: %s", diff)
		}
		if sorted := browser.Eval[bool](tb, `(h => h.every((x, i) => i === 0 || h[i - 1].localeCompare(x, 'en', {numeric: true}) <= 0))(`+fleetHosts+`)`); !sorted {
			t.Errorf("not ascending: %q", ascending)
		}
		tb.Do(chromedp.Focus(head), chromedp.KeyEvent("\r"))
		descending := browser.Eval[[]string](tb, fleetHosts)
		slices.Reverse(descending)
		if diff := cmp.Diff(ascending, descending); diff != "" {
			t.Errorf("Enter does not turn the order (-ascending +descending, reversed):\n%s", diff)
		}
		if state := browser.Eval[[]string](tb, `[...document.querySelectorAll('#fleet-table th[aria-sort]')].map(h => h.getAttribute('aria-sort') + ' ' + h.textContent)`); !slices.Equal(state, []string{"descending Host"}) {
			t.Errorf("aria-sort: %q", state)
		}
		if said := browser.Eval[string](tb, `document.getElementById('said').textContent`); said != "Sorted by Host, descending" {
			t.Errorf("a screen reader hears %q", said)
		}
		tb.Quiet()
	})

	t.Run("filters by status", func(t *testing.T) {
		tb := openTab(t, b, text)
		all := browser.Eval[int](tb, `document.querySelectorAll('#fleet-table tbody tr').length`)
		browser.Eval[bool](tb, `(s => { s.value = 'warning'; s.dispatchEvent(new Event('change')); return true; })(document.querySelector('.filter select'))`)
		shown := browser.Eval[[]string](tb, `[...document.querySelectorAll('#fleet-table tbody tr:not([hidden])')].map(r => r.dataset.status)`)
		if len(shown) == 0 || len(shown) == all || slices.ContainsFunc(shown, func(s string) bool { return s != "warning" }) {
			t.Errorf("%d rows of %d: %q", len(shown), all, shown)
		}
		tb.Quiet()
	})

	for _, way := range []struct{ name, prepare, result string }{
		{"by the clipboard", `Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}}), true`, `window.copied`},
		{"by selecting where there is no clipboard", `Object.defineProperty(navigator, 'clipboard', {value: undefined}), document.execCommand = () => false, true`,
			`(a => a === document.activeElement && a.selectionEnd === a.value.length ? a.value : 'not selected')(document.querySelector('#fleet-table').closest('.table').querySelector('textarea'))`},
	} {
		t.Run("copies a table as CSV "+way.name, func(t *testing.T) {
			tb := openTab(t, b, text)
			browser.Eval[bool](tb, way.prepare)
			tb.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#fleet-table').closest('.table').querySelector('.copy').click()`))
			tb.Do(chromedp.Evaluate[chromedp.Void](`new Promise(r => setTimeout(r, 0))`, chromedp.EvalAwaitPromise))
			rows, err := csv.NewReader(strings.NewReader(browser.Eval[string](tb, way.result))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantedCSV(t), rows); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			tb.Quiet()
		})
	}

	t.Run("copies no formula", func(t *testing.T) {
		tb := openTab(t, b, made(t, "", `{"schema":"cswatch.doctor/v1","status":"ok","host":"=HYPERLINK(\"x\")","summary":"x","current_clocksource":"tsc, \"quoted\"","cost":{"read_ns":21.5}}`))
		browser.Eval[bool](tb, `Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}}), document.querySelector('#fleet-table').closest('.table').querySelector('.copy').click(), true`)
		want := "Host,Status,Clock,\"Read, ns\"\n\"'=HYPERLINK(\"\"x\"\")\",3,\"tsc, \"\"quoted\"\"\",21.5\n"
		if got := browser.Eval[string](tb, `window.copied`); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})

	t.Run("does not scroll sideways at 360 pixels", func(t *testing.T) {
		tb := openTab(t, b, text, chromedp.EmulateViewport(360, 740))
		browser.Eval[bool](tb, layOut)
		for range 2 {
			if out := tb.Beyond(360); len(out) > 0 {
				t.Errorf("it does: %q", out)
			}
			tb.OpenAll()
		}
		if n := browser.Eval[int](tb, `[...document.querySelectorAll('svg.plot')].filter(s => s.getClientRects().length && s.classList.contains('wide')).length`); n > 0 {
			t.Errorf("%d charts are those of wide screens", n)
		}
	})

	for _, theme := range []string{"light", "dark"} {
		t.Run("has text of a contrast of 4.5 in "+theme+" colours", func(t *testing.T) {
			tb := openTab(t, b, text)
			tb.Prefers(theme)
			tb.OpenAll()
			looked := tb.Contrasts()
			if len(looked) < 12 {
				t.Errorf("only %d colours were looked at", len(looked))
			}
			for what, ratio := range looked {
				if ratio < 4.5 {
					t.Errorf("%s: %.2f", what, ratio)
				}
			}
		})
	}

	t.Run("changes its colours by keyboard", func(t *testing.T) {
		tb := openTab(t, b, text)
		tb.Prefers("light")
		const ground = `getComputedStyle(document.body).backgroundColor`
		light := browser.Eval[string](tb, ground)
		tb.Do(chromedp.Focus(chromedp.CSS(`#theme`)), chromedp.KeyEvent(" "))
		dark, pressed := browser.Eval[string](tb, ground), browser.Eval[string](tb, `document.getElementById('theme').getAttribute('aria-pressed')`)
		tb.Do(chromedp.KeyEvent(" "))
		if again := browser.Eval[string](tb, ground); light == dark || again != light || pressed != "true" {
			t.Errorf("ground %s, then %s (pressed: %s), then %s", light, dark, pressed, again)
		}
		tb.Quiet()
	})

	t.Run("begins with a link to its content", func(t *testing.T) {
		tb := openTab(t, b, text)
		tb.Do(chromedp.KeyEvent("\t"))
		if first := browser.Eval[string](tb, `document.activeElement.className + ' ' + document.activeElement.getAttribute('href')`); first != "skip #main" {
			t.Errorf("Tab leads to %q first", first)
		}
		if style := browser.Eval[string](tb, `getComputedStyle(document.activeElement).outlineStyle`); style == "none" {
			t.Error("where the focus is cannot be seen")
		}
	})

	t.Run("opens what a link leads to", func(t *testing.T) {
		tb := openTab(t, b, text)
		browser.Eval[bool](tb, `document.querySelector('#fleet-table tbody a').click(), true`)
		tb.Await(`document.querySelector(location.hash).open`)
		tb.Quiet()
	})

	t.Run("tells what a point is", func(t *testing.T) {
		tb := openTab(t, b, text)
		tip := browser.Eval[string](tb, `(p => { p.scrollIntoView(); p.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})); const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent; })(document.querySelector('#fit .hint .spot, .hint .spot'))`)
		if !strings.ContainsAny(tip, "0123456789") {
			t.Errorf("it shows %q", tip)
		}
		tb.Quiet()
	})

	t.Run("prints everything and no buttons", func(t *testing.T) {
		tb := openTab(t, b, text)
		tb.ForPrint()
		// The browser has the printer first, and lays out what was closed a moment later.
		const closed = `[...document.querySelectorAll('details .inside')].filter(e => !e.checkVisibility({contentVisibilityAuto: true}) || e.getBoundingClientRect().height === 0).length`
		tb.Await(`document.querySelectorAll('details .inside').length > 20 && ` + closed + ` === 0`)
		if n := browser.Eval[int](tb, `[...document.querySelectorAll('button:not(th button), select')].filter(e => e.checkVisibility()).length`); n > 0 {
			t.Errorf("%d buttons are shown", n)
		}
		if pdf := browser.Ask(tb, chromedp.PrintToPDF()); !strings.HasPrefix(string(pdf), "%PDF") {
			t.Error("it does not print")
		}
		tb.Quiet()
	})

	t.Run("works without JavaScript", func(t *testing.T) {
		tb := openTab(t, b, text, browser.WithoutScripts())
		got := browser.Eval[string](tb, `[document.documentElement.className, document.querySelectorAll('th button').length, [...document.querySelectorAll('.script')].filter(e => e.checkVisibility()).length, document.querySelectorAll('#fleet-table tbody tr').length > 9, document.querySelector('svg .hint title') !== null].join(' ')`)
		if want := " 0 0 true true"; got != want {
			t.Errorf("class, buttons, things for scripts, table, hints: %q, want %q", got, want)
		}
		tb.Quiet()
	})
}

// wantedCSV is the table of the fleet of the golden set as CSV should have it.
func wantedCSV(t *testing.T) [][]string {
	t.Helper()
	p := New("")
	all := documents(t)
	for _, name := range sortedKeys(all) {
		if err := p.Add(name, strings.NewReader(all[name])); err != nil {
			t.Error(err)
		}
	}
	table := fleet(p.kinds[0].(*doctors).worst())
	var rows [][]string
	var head []string
	for _, c := range table.Columns {
		head = append(head, c.Name)
	}
	rows = append(rows, head)
	for _, cells := range table.Rows {
		var row []string
		for _, c := range cells {
			row = append(row, or(c.Value, c.Text))
		}
		rows = append(rows, row)
	}
	if len(rows) < 10 {
		t.Fatalf("only %d rows: %s", len(rows), fmt.Sprint(rows))
	}
	return rows
}
