package page

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cswatch/cswatch/internal/browser"
)

// openTab opens a page of its own from a disk.
func openTab(t testing.TB, b context.Context, text string, before ...chromedp.Action[chromedp.Void]) *browser.Tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return browser.Open(t, b, "file://"+file, before...)
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
