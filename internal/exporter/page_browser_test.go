package exporter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/browser"
)

// What is looked at does not renew itself meanwhile.
const still = "?still"

func TestTheStatusPageInABrowser(t *testing.T) {
	b := browser.Start(t)
	states := statesOf(t)
	states["hostile"] = state{hostileView(t), aboutTest()}
	states["large"] = state{largeView(t), aboutTest()}
	sites := map[string]string{}
	for name, s := range states {
		sites[name] = serve(t, s.view, s.about)
	}
	for name, site := range sites {
		t.Run(name, func(t *testing.T) {
			tb := browser.Open(t, b, site+still)
			if n := browser.Eval[int](tb, `document.styleSheets.length + document.scripts.length`); n != 1 {
				t.Errorf("%d style sheets and scripts, want one style sheet", n)
			}
			for _, theme := range []string{"light", "dark"} {
				tb.Prefers(theme)
				tb.OpenAll()
				looked := tb.Contrasts()
				if len(looked) < 10 {
					t.Errorf("only %d colours were looked at", len(looked))
				}
				for what, ratio := range looked {
					if ratio < 4.5 {
						t.Errorf("contrast in %s colours: %s: %.2f", theme, what, ratio)
					}
				}
			}
			tb.Do(chromedp.EmulateViewport(360, 740))
			tb.Await(`innerWidth === 360`)
			if out := tb.Beyond(360); len(out) > 0 {
				t.Errorf("it scrolls sideways at 360 pixels: %q", out)
			}
			if n := browser.Eval[int](tb, `[...document.querySelectorAll('svg.plot.wide')].filter(s => s.getClientRects().length).length`); n > 0 {
				t.Errorf("%d charts are those of wide screens", n)
			}
			tb.Quiet(site + "style.css")
			if diff := cmp.Diff([]string{site + still, site + "style.css"}, tb.Requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("is the same without JavaScript", func(t *testing.T) {
		tb := browser.Open(t, b, sites["condemned"]+still, browser.WithoutScripts())
		if got := browser.Eval[string](tb, `[document.querySelectorAll('h2').length, document.querySelectorAll('svg').length, document.querySelectorAll('table').length].join(' ')`); got != "6 4 4" {
			t.Errorf("headings, charts, tables: %q", got)
		}
		tb.Quiet(sites["condemned"] + "style.css")
	})

	t.Run("shows what a log says as text", func(t *testing.T) {
		tb := browser.Open(t, b, sites["hostile"]+still)
		tb.OpenAll()
		if lines := browser.Eval[[]string](tb, `[...document.querySelectorAll('.timeline pre')].map(p => p.textContent).filter(x => x.includes('<script>alert(1)</script>'))`); len(lines) < 4 {
			t.Errorf("%d lines are shown as they are", len(lines))
		}
		if n := browser.Eval[int](tb, `document.querySelectorAll('script, img, iframe, [onload], a[href^="javascript"]').length`); n > 0 {
			t.Errorf("%d elements are of the log", n)
		}
	})

	t.Run("runs and loads nothing that is written into it", func(t *testing.T) {
		tb := browser.Open(t, b, sites["healthy"]+still)
		browser.Eval[bool](tb, `document.body.insertAdjacentHTML('beforeend', '<img src="/picture.png"><p id=p style="color: red">x</p>'), true`)
		browser.Eval[bool](tb, `(s => { s.textContent = 'document.title = "taken over"'; document.body.append(s); return true; })(document.createElement('script'))`)
		if title, color := browser.Eval[string](tb, `document.title`), browser.Eval[string](tb, `getComputedStyle(document.getElementById('p')).color`); title == "taken over" || color == "rgb(255, 0, 0)" {
			t.Errorf("title %q, colour %s", title, color)
		}
		if said := tb.Said(); len(said) < 2 || !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "Content Security Policy") }) {
			t.Errorf("the policy did not refuse it: %q", said)
		}
	})

	t.Run("can be read by keyboard and by ear", func(t *testing.T) {
		tb := browser.Open(t, b, sites["condemned"]+still)
		tb.Do(chromedp.KeyEvent("\t"))
		if first := browser.Eval[string](tb, `document.activeElement.className + ' ' + document.activeElement.getAttribute('href') + ' ' + (getComputedStyle(document.activeElement).outlineStyle !== 'none')`); first != "skip #main true" {
			t.Errorf("Tab leads to %q first", first)
		}
		want := []string{"header", "main", "footer"}
		if got := browser.Eval[[]string](tb, `[...document.body.children].filter(e => e.localName !== 'a').map(e => e.localName)`); !slices.Equal(got, want) {
			t.Errorf("landmarks %q, want %q", got, want)
		}
		for what, none := range map[string]string{
			"a section without a name":        `document.querySelectorAll('section:not([aria-labelledby])').length`,
			"a heading that leaves one out":   `[...document.querySelectorAll('h1, h2, h3')].filter((h, i, all) => i > 0 && h.localName[1] - all[i - 1].localName[1] > 1).length`,
			"a head of a table without scope": `document.querySelectorAll('th:not([scope])').length`,
			"a chart without words":           `[...document.querySelectorAll('svg')].filter(s => s.getAttribute('role') !== 'img' || s.getAttribute('aria-labelledby').split(' ').some(id => !document.getElementById(id).textContent.trim())).length`,
			"a chart without its numbers":     `[...document.querySelectorAll('figure')].filter(f => !f.querySelector('details table')).length`,
			"what scrolls and has no focus":   `[...document.querySelectorAll('.scroll, pre')].filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length`,
		} {
			if n := browser.Eval[int](tb, none); n > 0 {
				t.Errorf("%s: %d", what, n)
			}
		}
	})

	t.Run("says in the first sight what is wrong and what to do", func(t *testing.T) {
		for name, seen := range map[string]string{"condemned": "#verdict, .advice li:first-child pre", "fresh": "#verdict", "healthy": "#verdict, .tiles b", "blind": "#verdict, .missing code"} {
			tb := browser.Open(t, b, sites[name]+still, chromedp.EmulateViewport(1280, 800))
			if n := browser.Eval[int](tb, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.getBoundingClientRect().bottom > innerHeight || !e.checkVisibility()).length`, seen)); n > 0 {
				t.Errorf("%s: %d are out of sight", name, n)
			}
		}
	})

	t.Run("looks calm where all is well", func(t *testing.T) {
		tb := browser.Open(t, b, sites["healthy"]+still)
		tb.OpenAll()
		if loud := browser.Eval[[]string](tb, `[...document.querySelectorAll('.warning, .critical, .unknown')].map(e => e.outerHTML.slice(0, 80))`); len(loud) > 0 {
			t.Errorf("it cries: %q", loud)
		}
	})

	t.Run("leads to the metrics, the document and itself", func(t *testing.T) {
		site := sites["healthy"]
		tb := browser.Open(t, b, site+still)
		want := []string{site, site + "metrics", site + "api/v1/status"}
		if got := browser.Eval[[]string](tb, `[...document.querySelectorAll('a:not([href^="#"])')].map(a => a.href)`); !slices.Equal(got, want) {
			t.Errorf("links to %q, want %q", got, want)
		}
	})

	t.Run("prints all of it", func(t *testing.T) {
		tb := browser.Open(t, b, sites["condemned"]+still)
		tb.Prefers("dark")
		tb.ForPrint()
		tb.Await(`[...document.querySelectorAll('details .inside')].every(e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0)`)
		if ground := browser.Eval[string](tb, `getComputedStyle(document.body).backgroundColor`); ground != "rgb(255, 255, 255)" {
			t.Errorf("it prints on %s", ground)
		}
		if pdf := browser.Ask(tb, chromedp.PrintToPDF()); !strings.HasPrefix(string(pdf), "%PDF") {
			t.Error("it does not print")
		}
		tb.Quiet(sites["condemned"] + "style.css")
	})
}
