package docs

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated table and the shown output anew")

const (
	root   = "../.."
	folder = root + "/docs"
)

// pages lists the pages that are checked, by their path within the repository.
func pages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(folder + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	runbooks, err := filepath.Glob(folder + "/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, runbooks...)
	if len(names) < 9 {
		t.Fatalf("only %d pages in %s", len(names), folder)
	}
	for _, name := range []string{root + "/README.md", root + "/CHANGELOG.md"} {
		if _, err := os.Stat(name); err == nil {
			names = append(names, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	return names
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fence is a fenced block of a page.
type fence struct {
	info  string   // what follows the opening mark
	line  int      // of the opening mark, from 1
	lines []string // of the block, without the marks
}

// fences returns the fenced blocks of a page, and the page with those lines empty.
func fences(text string) (blocks []fence, prose []string) {
	var open *fence
	for i, line := range strings.Split(text, "\n") {
		mark, isMark := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case open == nil && isMark:
			open = &fence{info: mark, line: i + 1}
		case open != nil && isMark && mark == "":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		default:
			prose = append(prose, line)
			continue
		}
		prose = append(prose, "")
	}
	return blocks, prose
}

// section returns the lines of a page below a heading, up to the next one of its level or above.
func section(t testing.TB, text, heading string) string {
	t.Helper()
	level := len(heading) - len(strings.TrimLeft(heading, "#"))
	var out []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		hashes := len(line) - len(strings.TrimLeft(line, "#"))
		if hashes > 0 && hashes <= level && strings.HasPrefix(line[hashes:], " ") {
			inside = line == heading || strings.HasPrefix(line, heading+":")
			continue
		}
		if inside {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		t.Fatalf("there is no section %q", heading)
	}
	return strings.Join(out, "\n")
}

// rows returns the cells of the rows of all tables in a text, without heads.
func rows(text string) [][]string {
	var all [][]string
	_, prose := fences(text)
	for i, line := range prose {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || i+1 < len(prose) && strings.HasPrefix(prose[i+1], "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		all = append(all, cells)
	}
	return all
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// code returns the code spans of a text.
func code(text string) []string {
	var spans []string
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		spans = append(spans, m[1])
	}
	return spans
}
