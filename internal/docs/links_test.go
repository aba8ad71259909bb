package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var link = regexp.MustCompile(`\[[^\]\[]*\]\(([^)\s]+)\)`)

func TestEveryRelativeLinkLeadsToAFileAndAnAnchor(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		n, problems := checkLinks(t, page, read(t, page))
		checked += n
		for _, p := range problems {
			t.Error(p)
		}
	}
	if checked < 40 {
		t.Errorf("only %d relative links were found", checked)
	}
}

func TestTheLinkCheckSeesDeadLinks(t *testing.T) {
	page := filepath.Join(folder, "README.md")
	text := "# A title\n[a](doctor.md) [b](nowhere.md) [c](#a-title) [d](#no-title) [e](json.md#nowhere) `[f](code.md)` [g](https://example.com/x)\n```\n[h](fence.md)\n```\n"
	n, problems := checkLinks(t, page, text)
	if n != 5 || len(problems) != 3 {
		t.Errorf("%d links, want 5; problems %q, want 3 of them", n, problems)
	}
}

// checkLinks checks the relative links of one page.
func checkLinks(t *testing.T, page, text string) (checked int, problems []string) {
	t.Helper()
	_, prose := fences(text)
	for i, line := range prose {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "x"), -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(target, "#")
			body := text
			if file != "" {
				name := filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
				info, err := os.Stat(name)
				if err != nil {
					problems = append(problems, fmt.Sprintf("%s:%d: %s: %v", page, i+1, target, err))
					continue
				}
				if anchor != "" && info.IsDir() {
					problems = append(problems, fmt.Sprintf("%s:%d: %s: a folder has no anchors", page, i+1, target))
					continue
				}
				if anchor != "" {
					body = read(t, name)
				}
			}
			if anchor != "" && !anchors(body)[anchor] {
				problems = append(problems, fmt.Sprintf("%s:%d: %s: there is no such heading", page, i+1, target))
			}
		}
	}
	return checked, problems
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	_, prose := fences(text)
	for _, line := range prose {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		a := anchor(title)
		for n := 1; found[a]; n++ {
			a = fmt.Sprintf("%s-%d", anchor(title), n)
		}
		found[a] = true
	}
	return found
}

func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case r == ' ' || r == '-':
			b.WriteRune('-')
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
