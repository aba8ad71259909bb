package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cswatch/cswatch/internal/browser"
)

// TestPicturesOfThePage writes pictures of the page of the golden set into the folder
// that CSWATCH_PAGE_PICTURES names: each section in both themes, wide and narrow, and
// as it is printed. They are for people to look at.
func TestPicturesOfThePage(t *testing.T) {
	folder := os.Getenv("CSWATCH_PAGE_PICTURES")
	if folder == "" {
		t.Skip("CSWATCH_PAGE_PICTURES names no folder for pictures of the page")
	}
	text := setPage(t)
	if file := os.Getenv("CSWATCH_PAGE"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	b := browser.Start(t)
	write := func(name string, picture []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, theme := range []string{"light", "dark"} {
		for name, width := range map[string]int64{"wide": 1280, "narrow": 360} {
			tb := openTab(t, b, text, chromedp.EmulateViewport(width, 900))
			tb.Prefers(theme)
			browser.Eval[bool](tb, layOut)
			for _, id := range browser.Eval[[]string](tb, `[...document.querySelectorAll('main h2')].map(h => h.id)`) {
				write(theme+"-"+name+"-"+id+".png", browser.Ask(tb, chromedp.Screenshot(chromedp.CSS(`section[aria-labelledby="`+id+`"]`))))
			}
			browser.Eval[bool](tb, `scrollTo(0, 0), true`)
			write(theme+"-"+name+"-top.png", browser.Ask(tb, chromedp.CaptureScreenshot()))
		}
	}
	tb := openTab(t, b, text)
	write("print.pdf", browser.Ask(tb, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPrintBackground())))
}
