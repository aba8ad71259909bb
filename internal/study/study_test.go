package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A study of few boots has all chapters and pictures of the large one, without a
// number that could not be printed.
func TestTheStudyIsWrittenWhole(t *testing.T) {
	s := study{docs: t.TempDir(), boots: 20, seed: 3}
	page, plots, err := s.write()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.save(page, plots); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"NaN", "%!", "<nil>"} {
		if i := bytes.Index(page, []byte(bad)); i >= 0 {
			t.Errorf("the page holds %q: %s", bad, page[max(i-60, 0):min(i+60, len(page))])
		}
	}
	shown := regexp.MustCompile(`]\(plots/([a-z]+\.svg)\)`).FindAllSubmatch(page, -1)
	if len(shown) != 3 || len(plots) != 3 {
		t.Errorf("%d pictures are shown, %d drawn", len(shown), len(plots))
	}
	for _, m := range shown {
		svg, err := os.ReadFile(filepath.Join(s.docs, "plots", string(m[1])))
		if err != nil || !bytes.Contains(svg, []byte("</svg>")) {
			t.Errorf("%s: %d bytes, error %v", m[1], len(svg), err)
		}
	}
	// The page that is kept has the same heads, and tables of the same form.
	kept, err := os.ReadFile("../../docs/how-many-retries.md")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := skeleton(string(page)), skeleton(string(kept)); a != b {
		t.Errorf("run make study: docs/how-many-retries.md has\n%s\nand a new one\n%s", b, a)
	}
}

// skeleton is the heads and the first cells of a page.
func skeleton(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "| ") {
			cells := strings.Split(line, "|")
			b.WriteString(cells[min(1, len(cells)-1)] + "\n")
		}
	}
	return b.String()
}
