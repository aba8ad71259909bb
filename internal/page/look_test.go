package page

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// openAll opens everything that is closed, so that all of it is looked at.
const openAll = `document.querySelectorAll('details').forEach(d => { d.open = true; }), true`

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
	eval[bool](tb, openAll)
	tb.quiet()
	var took []float64
	for range 9 {
		tb.do(chromedp.Navigate(tb.url))
		tb.await(loadEnd + " > 0")
		took = append(took, eval[float64](tb, loadEnd))
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
	opensQuietly(t, browser(t), string(text))
}

func TestThePageInABrowser(t *testing.T) {
	text := setPage(t)
	b := browser(t)

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
		eval[bool](tb, openAll)
		tb.quiet()
	})

	t.Run("refuses a script that is not its own", func(t *testing.T) {
		tb := openTab(t, b, strings.Replace(text, "</main>", "<script>document.title = 'taken over'</script></main>", 1))
		if title := eval[string](tb, `document.title`); title == "taken over" {
			t.Error("it ran")
		}
		if !slices.ContainsFunc(tb.said, func(s string) bool { return strings.Contains(s, "Content Security Policy") }) {
			t.Errorf("the policy did not refuse it: %q", tb.said)
		}
	})

	t.Run("sorts by click and by keyboard", func(t *testing.T) {
		tb := openTab(t, b, text)
		before := eval[[]string](tb, fleetHosts)
		head := chromedp.CSS(`#fleet-table thead th:first-child button`)
		eval[bool](tb, layOut)
		tb.do(chromedp.Click(head))
		ascending := eval[[]string](tb, fleetHosts)
		want := slices.Clone(before)
		slices.Sort(want)
		got := slices.Clone(ascending)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || slices.Equal(before, ascending) {
			t.Errorf("sorting lost rows or changed nothing: %s", diff)
		}
		if sorted := eval[bool](tb, `(h => h.every((x, i) => i === 0 || h[i - 1].localeCompare(x, 'en', {numeric: true}) <= 0))(`+fleetHosts+`)`); !sorted {
			t.Errorf("not ascending: %q", ascending)
		}
		tb.do(chromedp.Focus(head), chromedp.KeyEvent("\r"))
		descending := eval[[]string](tb, fleetHosts)
		slices.Reverse(descending)
		if diff := cmp.Diff(ascending, descending); diff != "" {
			t.Errorf("Enter does not turn the order (-ascending +descending, reversed):\n%s", diff)
		}
		if state := eval[[]string](tb, `[...document.querySelectorAll('#fleet-table th[aria-sort]')].map(h => h.getAttribute('aria-sort') + ' ' + h.textContent)`); !slices.Equal(state, []string{"descending Host"}) {
			t.Errorf("aria-sort: %q", state)
		}
		if said := eval[string](tb, `document.getElementById('said').textContent`); said != "Sorted by Host, descending" {
			t.Errorf("a screen reader hears %q", said)
		}
		tb.quiet()
	})

	t.Run("filters by status", func(t *testing.T) {
		tb := openTab(t, b, text)
		all := eval[int](tb, `document.querySelectorAll('#fleet-table tbody tr').length`)
		eval[bool](tb, `(s => { s.value = 'warning'; s.dispatchEvent(new Event('change')); return true; })(document.querySelector('.filter select'))`)
		shown := eval[[]string](tb, `[...document.querySelectorAll('#fleet-table tbody tr:not([hidden])')].map(r => r.dataset.status)`)
		if len(shown) == 0 || len(shown) == all || slices.ContainsFunc(shown, func(s string) bool { return s != "warning" }) {
			t.Errorf("%d rows of %d: %q", len(shown), all, shown)
		}
		tb.quiet()
	})

	for _, way := range []struct{ name, prepare, result string }{
		{"by the clipboard", `Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}}), true`, `window.copied`},
		{"by selecting where there is no clipboard", `Object.defineProperty(navigator, 'clipboard', {value: undefined}), document.execCommand = () => false, true`,
			`(a => a === document.activeElement && a.selectionEnd === a.value.length ? a.value : 'not selected')(document.querySelector('#fleet-table').closest('.table').querySelector('textarea'))`},
	} {
		t.Run("copies a table as CSV "+way.name, func(t *testing.T) {
			tb := openTab(t, b, text)
			eval[bool](tb, way.prepare)
			tb.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#fleet-table').closest('.table').querySelector('.copy').click()`))
			tb.do(chromedp.Evaluate[chromedp.Void](`new Promise(r => setTimeout(r, 0))`, chromedp.EvalAwaitPromise))
			rows, err := csv.NewReader(strings.NewReader(eval[string](tb, way.result))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantedCSV(t), rows); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			tb.quiet()
		})
	}

	t.Run("copies no formula", func(t *testing.T) {
		tb := openTab(t, b, made(t, "", `{"schema":"cswatch.doctor/v1","status":"ok","host":"=HYPERLINK(\"x\")","summary":"x","current_clocksource":"tsc, \"quoted\"","cost":{"read_ns":21.5}}`))
		eval[bool](tb, `Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}}), document.querySelector('#fleet-table').closest('.table').querySelector('.copy').click(), true`)
		want := "Host,Status,Clock,\"Read, ns\"\n\"'=HYPERLINK(\"\"x\"\")\",3,\"tsc, \"\"quoted\"\"\",21.5\n"
		if got := eval[string](tb, `window.copied`); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})

	t.Run("does not scroll sideways at 360 pixels", func(t *testing.T) {
		tb := openTab(t, b, text, chromedp.EmulateViewport(360, 740))
		eval[bool](tb, layOut)
		for _, open := range []string{"true", openAll} {
			eval[bool](tb, open)
			if width := eval[int](tb, `document.documentElement.scrollWidth`); width > 360 {
				t.Errorf("the page is %d pixels wide; beyond the edge: %q", width, eval[[]string](tb,
					`[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, pre, svg') && e.getBoundingClientRect().right > 360).slice(0, 5).map(e => e.outerHTML.slice(0, 120))`))
			}
		}
		if n := eval[int](tb, `[...document.querySelectorAll('svg.plot')].filter(s => s.getClientRects().length && s.classList.contains('wide')).length`); n > 0 {
			t.Errorf("%d charts are those of wide screens", n)
		}
	})

	for _, theme := range []string{"light", "dark"} {
		t.Run("has text of a contrast of 4.5 in "+theme+" colours", func(t *testing.T) {
			tb := openTab(t, b, text)
			prefers(tb, theme)
			eval[bool](tb, openAll)
			looked := eval[map[string]float64](tb, contrastOfTexts)
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
		prefers(tb, "light")
		const ground = `getComputedStyle(document.body).backgroundColor`
		light := eval[string](tb, ground)
		tb.do(chromedp.Focus(chromedp.CSS(`#theme`)), chromedp.KeyEvent(" "))
		dark, pressed := eval[string](tb, ground), eval[string](tb, `document.getElementById('theme').getAttribute('aria-pressed')`)
		tb.do(chromedp.KeyEvent(" "))
		if again := eval[string](tb, ground); light == dark || again != light || pressed != "true" {
			t.Errorf("ground %s, then %s (pressed: %s), then %s", light, dark, pressed, again)
		}
		tb.quiet()
	})

	t.Run("begins with a link to its content", func(t *testing.T) {
		tb := openTab(t, b, text)
		tb.do(chromedp.KeyEvent("\t"))
		if first := eval[string](tb, `document.activeElement.className + ' ' + document.activeElement.getAttribute('href')`); first != "skip #main" {
			t.Errorf("Tab leads to %q first", first)
		}
		if style := eval[string](tb, `getComputedStyle(document.activeElement).outlineStyle`); style == "none" {
			t.Error("where the focus is cannot be seen")
		}
	})

	t.Run("opens what a link leads to", func(t *testing.T) {
		tb := openTab(t, b, text)
		eval[bool](tb, `document.querySelector('#fleet-table tbody a').click(), true`)
		tb.await(`document.querySelector(location.hash).open`)
		tb.quiet()
	})

	t.Run("tells what a point is", func(t *testing.T) {
		tb := openTab(t, b, text)
		tip := eval[string](tb, `(p => { p.scrollIntoView(); p.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})); const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent; })(document.querySelector('#fit .hint .spot, .hint .spot'))`)
		if !strings.ContainsAny(tip, "0123456789") {
			t.Errorf("it shows %q", tip)
		}
		tb.quiet()
	})

	t.Run("prints everything and no buttons", func(t *testing.T) {
		tb := openTab(t, b, text)
		call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		// The browser has the printer first, and lays out what was closed a moment later.
		const closed = `[...document.querySelectorAll('details .inside')].filter(e => !e.checkVisibility({contentVisibilityAuto: true}) || e.getBoundingClientRect().height === 0).length`
		tb.await(`matchMedia('print').matches && document.querySelectorAll('details .inside').length > 20 && ` + closed + ` === 0`)
		if n := eval[int](tb, `[...document.querySelectorAll('button:not(th button), select')].filter(e => e.checkVisibility()).length`); n > 0 {
			t.Errorf("%d buttons are shown", n)
		}
		if pdf := ask(tb, chromedp.PrintToPDF()); !strings.HasPrefix(string(pdf), "%PDF") {
			t.Error("it does not print")
		}
		tb.quiet()
	})

	t.Run("works without JavaScript", func(t *testing.T) {
		tb := openTab(t, b, text, chromedp.Func(disableScripts))
		got := eval[string](tb, `[document.documentElement.className, document.querySelectorAll('th button').length, [...document.querySelectorAll('.script')].filter(e => e.checkVisibility()).length, document.querySelectorAll('#fleet-table tbody tr').length > 9, document.querySelector('svg .hint title') !== null].join(' ')`)
		if want := " 0 0 true true"; got != want {
			t.Errorf("class, buttons, things for scripts, table, hints: %q, want %q", got, want)
		}
		tb.quiet()
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

// contrastOfTexts gives the contrast of each pair of a colour of text and its ground,
// by WCAG 2.1, with an element that has it.
const contrastOfTexts = `(() => {
  const numbers = color => (color.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => { const f = v => (v /= 255, v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c.length === 4 && c[3] === 1) return c;
      if (c.length === 4 && c[3] > 0) return [255, 0, 255]; // no ground may be half transparent: it would have to be worked out
    }
    return [255, 255, 255];
  };
  const found = {};
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('script, style, title, desc, [hidden]') || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const style = getComputedStyle(e);
    const color = e.closest('svg') ? style.fill : style.color;
    const a = light(numbers(color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const key = (e.closest('svg') ? 'svg ' : '') + e.localName + '.' + (e.getAttribute('class') || '') + ' ' + color + ' on ' + ground(e);
    found[key] = Math.min(found[key] ?? 99, ratio);
  }
  return found;
})()`
