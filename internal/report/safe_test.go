package report

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSafeShowsWhatWouldNotBeSeen(t *testing.T) {
	for _, tt := range []struct {
		name, in, want, ascii string
	}{
		{"plain text stays", "tsc: Refined 3.5 MHz", "tsc: Refined 3.5 MHz", "tsc: Refined 3.5 MHz"},
		{"letters of any script stay in UTF-8", "größe 時計", "größe 時計", `gr\u00f6\u00dfe \u6642\u8a08`},
		{"an escape sequence loses its escape", "\x1b[31m", `\x1b[31m`, `\x1b[31m`},
		{"a new line does not begin one", "a\r\nb", `a\x0d\x0ab`, `a\x0d\x0ab`},
		{"a tab is shown", "a\tb", `a\x09b`, `a\x09b`},
		{"a NUL and a DEL are shown", "\x00\x7f", `\x00\x7f`, `\x00\x7f`},
		{"bytes that are no UTF-8 are shown", "a\xffb\xe2\x80", `a\xffb\xe2\x80`, `a\xffb\xe2\x80`},
		{"the C1 form of an escape sequence is shown", "\u009b2J", `\u009b2J`, `\u009b2J`},
		{"overrides of the direction are shown", "\u202eabc\u202c\u2066", `\u202eabc\u202c\u2066`, `\u202eabc\u202c\u2066`},
		{"what has no width is shown", "a\u200bb\ufeff\u00ad", `a\u200bb\ufeff\u00ad`, `a\u200bb\ufeff\u00ad`},
		{"line separators are shown", "\u2028\u2029\u0085", `\u2028\u2029\u0085`, `\u2028\u2029\u0085`},
		{"tags beyond the first plane are shown", "\U000e0041", `\U000e0041`, `\U000e0041`},
		{"our own signs have a spelling", "60 µs … ±2 – ≥3", "60 µs … ±2 – ≥3", "60 us ... +-2 - >=3"},
		{"a replacement character is a character", "\ufffd", "\ufffd", `\ufffd`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Safe(tt.in); got != tt.want {
				t.Errorf("Safe(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got := safe(tt.in, true); got != tt.ascii {
				t.Errorf("in ASCII %q becomes %q, want %q", tt.in, got, tt.ascii)
			}
		})
	}
}

func TestWrapKeepsWordsAndUnitsTogether(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		width    int
		want     []string
	}{
		{"no text is one empty line", "", 10, []string{""}},
		{"no width does not break", "a b  c", 0, []string{"a b c"}},
		{"lines break at blanks", "one two three four", 9, []string{"one two", "three", "four"}},
		{"a line may be full", "one two", 7, []string{"one two"}},
		{"a number stays with its unit", "reading took 60.67 µs, too long", 18, []string{"reading took", "60.67 µs, too long"}},
		{"a word that is too long is split", "a abcdefghij b", 4, []string{"a", "abcd", "efgh", "ij b"}},
		{"wide characters take two columns", "時計時計", 4, []string{"時計", "時計"}},
		{"a wide character fits nowhere and is written", "時", 1, []string{"時"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, wrap(tt.in, tt.width)); diff != "" {
				t.Errorf("wrap(%q, %d), -want +got:\n%s", tt.in, tt.width, diff)
			}
		})
	}
}

func TestCutAndShortenNeverSplitACharacter(t *testing.T) {
	if got, left := cut("aµb", 2); got != "a" || left != 3 {
		t.Errorf(`cut("aµb", 2) = %q, %d left, want "a" and 3`, got, left)
	}
	if got, left := cut("\x80\x80\x80\x80\x80\x80\x80\x80", 6); len(got)+left != 8 || len(got) < 2 {
		t.Errorf("cut loses bytes that are no characters: %q and %d left", got, left)
	}
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"acpi_pm", 7, "acpi_pm"}, {"acpi_pm", 6, "acpi_…"}, {"時計時計", 6, "時計…"}, {"時計時計", 5, "時計…"}, {"a b c", 3, "a…"}, {"abc", 0, ""},
	} {
		if got := shorten(tt.in, tt.width, "…"); got != tt.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	f.Add(evil, true)
	f.Add("\xc0\x80\xed\xa0\x80", false)
	f.Fuzz(func(t *testing.T, s string, ascii bool) {
		got := safe(s, ascii)
		if !utf8.ValidString(got) || strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Errorf("safe(%q) = %q, which is not safe", s, got)
		}
		if again := safe(got, ascii); again != got {
			t.Errorf("safe(%q) = %q, but safe of that is %q", s, got, again)
		}
	})
}

func FuzzWrap(f *testing.F) {
	f.Add("reading took 60.67 µs on each of 時計 attempts", 12)
	f.Fuzz(func(t *testing.T, s string, width int) {
		s = Safe(s)
		lines := wrap(s, width)
		squeezed := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := squeezed(strings.Join(lines, "")); got != squeezed(s) {
			t.Errorf("wrap(%q, %d) = %q loses or adds text", s, width, lines)
		}
		for _, l := range lines {
			if width > 1 && columns(l) > width {
				t.Errorf("wrap(%q, %d): line %q has %d columns", s, width, l, columns(l))
			}
		}
	})
}
