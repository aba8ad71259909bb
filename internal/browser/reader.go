package browser

import (
	"context"
	"strconv"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Prefers makes the tab that of a reader who prefers "dark" or "light".
func (tb *Tab) Prefers(theme string) {
	tb.t.Helper()
	Call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
	tb.Await(`matchMedia('(prefers-color-scheme: ` + theme + `)').matches`)
}

// ForPrint lays the page out as it is printed.
func (tb *Tab) ForPrint() {
	tb.t.Helper()
	Call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	tb.Await(`matchMedia('print').matches`)
}

// WithoutScripts keeps scripts of the page from running. What a test evaluates runs all the same.
func WithoutScripts() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}

// OpenAll opens everything that is closed, so that all of the page is looked at.
func (tb *Tab) OpenAll() {
	tb.t.Helper()
	Eval[bool](tb, `document.querySelectorAll('details').forEach(d => { d.open = true; }), true`)
}

// Contrasts gives the contrast of each pair of a colour of text and its ground, by WCAG 2.1, with an element that has it.
func (tb *Tab) Contrasts() map[string]float64 {
	tb.t.Helper()
	return Eval[map[string]float64](tb, contrasts)
}

const contrasts = `(() => {
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

// Beyond says how wide a page is that scrolls sideways in a window of so many pixels, and what sticks out; nothing
// where it does not. What scrolls by itself does not count.
func (tb *Tab) Beyond(width int) []string {
	tb.t.Helper()
	return Eval[[]string](tb, `(w => document.documentElement.scrollWidth <= w ? [] : [document.documentElement.scrollWidth + ' pixels',
  ...[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, svg') && e.getBoundingClientRect().right > w).slice(0, 5).map(e => e.outerHTML.slice(0, 120))])(`+strconv.Itoa(width)+`)`)
}
