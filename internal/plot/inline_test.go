package plot

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// things is a chart with all that only pages have: names, hints, bars.
func things() *Chart {
	return &Chart{
		Title: "What a read takes", Subtitle: "shown by the page", Description: "Three ways.", Height: 260,
		X: Axis{Label: "ns", Scale: Log, Low: 5, High: 200},
		Y: Axis{Names: []string{"time.Now", "system call", "a way whose name is longer than any place beside a chart could ever be"}},
		Series: []Series{
			{Name: "tsc", Points: []Point{{X: 36, Y: 0}, {X: 118, Y: 1}, {X: 16, Y: 2}}, Across: [][2]float64{{30, 40}, {117, 119}, {15, 17}}, Hints: []string{"36 ns", "118 ns <b>", "16 ns"}},
			{Name: "how often", Style: Bars, Points: []Point{{X: 12, Y: 1}, {X: 24, Y: 2}}, Across: [][2]float64{{10, 15}, {20, 30}}},
			{Name: "line", Style: Line, Points: []Point{{X: 10, Y: 0}, {X: 20, Y: 1}}, Hints: []string{"", "the end"}},
		},
	}
}

func inline(t *testing.T, c *Chart, id string) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Inline(&b, id, "wide"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAChartInAPageIsAsItWas(t *testing.T) {
	got := inline(t, things(), "f1")
	path := filepath.Join("testdata", "inline.svg")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make the golden files with: go test ./internal/plot -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, -want +got:\n%s", path, diff)
	}
	texts(t, []byte(got)) // it is XML
}

func TestAChartInAPageHasNoStyleAndIdsOfItsOwn(t *testing.T) {
	for _, c := range []*Chart{sample(), things()} {
		got := inline(t, c, "f1")
		for _, never := range []string{"<style", "style=", ">" + c.Subtitle + "<", "<b>"} {
			if strings.Contains(got, never) {
				t.Errorf("%s: it has %q", c.Title, never)
			}
		}
		for _, id := range regexp.MustCompile(`(?:id="|url\(#|aria-labelledby=")([^")]*)`).FindAllStringSubmatch(got, -1) {
			if !strings.HasPrefix(id[1], "f1-") {
				t.Errorf("%s: the id %q", c.Title, id[1])
			}
		}
	}
	// Every class that a chart uses is one of the style sheet, or says nothing of looks.
	sheet := StyleSheet()
	for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(inline(t, sample(), "f2")+inline(t, things(), "f3"), -1) {
		for class := range strings.FieldsSeq(m[1]) {
			switch class {
			case "plot", "wide", "hint", "legend", "axis-label":
				continue
			}
			if !strings.Contains(sheet, "."+class) {
				t.Errorf("the style sheet does not know the class %q", class)
			}
		}
	}
	for _, dark := range []bool{false, true} {
		variables := Variables(dark)
		for _, m := range regexp.MustCompile(`var\((--[a-z0-9]+)\)`).FindAllStringSubmatch(sheet, -1) {
			if !strings.Contains(variables, m[1]+":") {
				t.Errorf("dark %v: the variable %s is not declared", dark, m[1])
			}
		}
	}
}

func TestAnIdThatIsNoneIsAnError(t *testing.T) {
	for _, id := range []string{"", "A", "a b", `a"onload="x`, "ä"} {
		var b bytes.Buffer
		if err := things().Inline(&b, id, "wide"); err == nil || b.Len() > 0 {
			t.Errorf("id %q: error %v, %d bytes", id, err, b.Len())
		}
	}
}

func TestAnAxisOfAnyNumbersHasFewTicks(t *testing.T) {
	for _, values := range [][]float64{{1e18, 1e18 + 128}, {1e300, 1e300}, {-1e300, 1e300}, {5e-324, 1e-323}, {1, math.Nextafter(1, 2)}, {0, 1e300}} {
		for _, scale := range []Scale{Linear, Log, LogPlusOne} {
			a := Axis{Scale: scale}
			p := newPlace(&a, values, 0, 100)
			if n := len(p.ticks()); n > 1000 {
				t.Errorf("%v on scale %d: %d ticks", values, scale, n)
			}
			for _, v := range values {
				if at := p.at(v); math.IsNaN(at) || at < 0 || at > 100 {
					t.Errorf("%v on scale %d: %v lies at %v", values, scale, v, at)
				}
			}
		}
	}
}

func TestTicksCanHaveTexts(t *testing.T) {
	c := things()
	c.X.Ticks, c.X.Texts = []float64{10, 50, 100, 1000}, []string{"11:00", "noon <b>", "13:00", "out of the range"}
	got := inline(t, c, "f1")
	for _, want := range []string{">11:00<", ">noon &lt;b&gt;<", ">13:00<"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if strings.Contains(got, "out of the range") || strings.Contains(got, ">100<") {
		t.Error("it has a text outside of the range, or a number beside its text")
	}
}

func TestALineIsNotDrawnOverAGap(t *testing.T) {
	path := regexp.MustCompile(`<path class="s0(?: dashed)?" d="(M[^"]*)"/>`)
	for _, c := range []struct {
		name       string
		gaps       []int
		runs, dots int // that are drawn
	}{
		{"one line", nil, 1, 0},
		{"a gap before the first point is none", []int{0}, 1, 0},
		{"two lines", []int{2}, 2, 0},
		{"a point by itself at the end", []int{3}, 1, 1},
		{"nothing but points by themselves", []int{1, 2, 3}, 0, 4},
		{"gaps beyond the points and twice the same are no more than that", []int{-1, 2, 2, 4, 99}, 2, 0},
	} {
		s := Series{Name: "s", Style: Line, Gaps: c.gaps}
		for i := range 4 {
			s.Points = append(s.Points, Point{X: float64(i), Y: float64(i * i)})
		}
		d := path.FindStringSubmatch(inline(t, &Chart{Title: "t", Series: []Series{s}}, "f"))[1] // the first; the legend comes last
		if runs, dots := strings.Count(d, "M")-strings.Count(d, "h2"), strings.Count(d, "h2"); runs != c.runs || dots != c.dots {
			t.Errorf("%s: %d lines and %d dots in %s", c.name, runs, dots, d)
		}
	}
}
