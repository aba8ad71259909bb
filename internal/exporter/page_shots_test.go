package exporter

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cswatch/cswatch/internal/browser"
)

// TestPicturesOfTheStatusPage writes pictures of the page in its states into the folder that
// CSWATCH_PAGE_PICTURES names, in both themes, wide and narrow, and as it is printed. They are for people to look at.
func TestPicturesOfTheStatusPage(t *testing.T) {
	folder := os.Getenv("CSWATCH_PAGE_PICTURES")
	if folder == "" {
		t.Skip("CSWATCH_PAGE_PICTURES names no folder for pictures of the status page")
	}
	b := browser.Start(t)
	write := func(name string, picture []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range statesOf(t) {
		url := serve(t, s.view, s.about)
		for _, theme := range []string{"light", "dark"} {
			for width, size := range map[string][2]int64{"wide": {1280, 900}, "narrow": {360, 740}} {
				tb := browser.Open(t, b, url, chromedp.EmulateViewport(size[0], size[1]))
				tb.Prefers(theme)
				write("status-"+name+"-"+theme+"-"+width+"-top.png", browser.Ask(tb, chromedp.CaptureScreenshot()))
				write("status-"+name+"-"+theme+"-"+width+".png", browser.Ask(tb, chromedp.FullScreenshot(100)))
			}
		}
		tb := browser.Open(t, b, url)
		write("status-"+name+"-print.pdf", browser.Ask(tb, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPrintBackground())))
	}
}
