package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sample() *Chart {
	curve := Series{Name: "model, 95 % band", Style: Line}
	other := Series{Name: "another model", Style: Dashed}
	for r := 0.0; r <= 60; r += 4 {
		y := 0.14 * math.Exp(-(r+1)/12)
		curve.Points = append(curve.Points, Point{r, y, y * 0.6, y * 1.5})
		other.Points = append(other.Points, Point{X: r, Y: 0.6 * math.Pow(r+1, -1.2)})
	}
	return &Chart{
		Title: "Unstable boots", Subtitle: "made up for this test", Description: "Two models and four observations.",
		X: Axis{Label: "retries", Scale: LogPlusOne, Low: 0, High: 64},
		Y: Axis{Label: "unstable boots", Scale: Log, Percent: true, Low: 0.0005, High: 0.6},
		Series: []Series{
			{Name: "observed", Points: []Point{{3, 0.105, 0.079, 0.139}, {5, 0.05, 0.022, 0.112}, {50, 0, 0, 0.0095}}},
			curve, other,
		},
		Marks: []Mark{{At: 0.001, Text: "wanted"}, {At: 58, Vertical: true, Text: "58 retries"}},
	}
}

func draw(t *testing.T, c *Chart) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheDrawingIsAsItWas(t *testing.T) {
	for name, c := range map[string]*Chart{
		"rates": sample(),
		"linear": {
			Title: "Detection", Width: 480, Height: 320,
			X: Axis{Label: "offset (µs)"}, Y: Axis{Label: "noticed", Percent: true, Low: 0, High: 1},
			Series: []Series{
				{Name: "one", Points: []Point{{X: 100, Y: 0}, {X: 200, Y: 0.5}, {X: 300, Y: 1}}},
				{Name: "two", Points: []Point{{X: 100, Y: 0.1}}}, {Name: "three", Points: []Point{{X: 150, Y: 0.2}}},
				{Name: "four, whose name needs a row of its own", Points: []Point{{X: 250, Y: 0.3, Low: 0.2, High: 0.4}}},
			},
		},
	} {
		path := filepath.Join("testdata", name+".svg")
		got := draw(t, c)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v; make the golden files with: go test ./internal/plot -update", err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", path, diff)
		}
	}
}

// texts returns the character data of text elements, and fails on what is no XML.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var all []string
	inside := false
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inside = e.Name.Local == "text"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				all = append(all, string(e))
			}
		}
	}
}

func TestEverythingThatIsWrittenStandsAsText(t *testing.T) {
	got := texts(t, draw(t, sample()))
	for _, want := range []string{"Unstable boots", "made up for this test", "retries", "unstable boots", "observed", "model, 95 % band", "another model", "wanted", "58 retries", "10 %", "0.1 %", "0", "50"} {
		if !slices.Contains(got, want) {
			t.Errorf("the text %q is missing from %q", want, got)
		}
	}
}

func TestWhatOthersWroteDoesNotBecomeMarkup(t *testing.T) {
	c := sample()
	evil := "</text><script>alert(1)</script> & \"x\" \u202e\x00\xff"
	c.Title, c.Subtitle, c.Description, c.Series[0].Name, c.X.Label, c.Marks[0].Text = evil, evil, evil, evil, evil, evil
	svg := draw(t, c)
	if bytes.Contains(svg, []byte("<script")) || bytes.ContainsAny(svg, "\x00\u202e") {
		t.Errorf("it does:\n%s", svg)
	}
	if got := texts(t, svg); !slices.Contains(got, "</text><script>alert(1)</script> & \"x\" \ufffd\ufffd\ufffd") {
		t.Errorf("the text is not there: %q", got)
	}
}

func TestNoCoordinateIsOutOfSight(t *testing.T) {
	c := sample()
	c.Series[1].Points = append(c.Series[1].Points, Point{1e9, 1e-300, 0, 1}, Point{-5, -1, -2, 1e300})
	svg := string(draw(t, c))
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Contains(svg, "e+") {
		t.Errorf("a coordinate is no number:\n%s", svg)
	}
}

func TestWhatCannotBeDrawnIsAnError(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Chart)
	}{
		{"nothing", func(c *Chart) { c.Series = nil }},
		{"no number", func(c *Chart) { c.Series[0].Points[0].Y = math.NaN() }},
		{"no finite number", func(c *Chart) { c.Series[0].Points[0].High = math.Inf(1) }},
		{"more series than colours", func(c *Chart) { c.Series = make([]Series, 7) }},
		{"a stamp", func(c *Chart) { c.Width = 20 }},
		{"an axis that runs backwards", func(c *Chart) { c.X.Low, c.X.High = 3, 1 }},
	} {
		chart := sample()
		c.change(chart)
		var b bytes.Buffer
		if err := chart.SVG(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes", c.name, err, b.Len())
		}
	}
}

func TestNumbersOfAnAxisAreShort(t *testing.T) {
	percent := Axis{Percent: true}
	for _, c := range []struct {
		axis *Axis
		v    float64
		want string
	}{
		{&Axis{}, math.Copysign(0, -1), "0"}, {&Axis{}, -1e-12, "0"}, {&Axis{}, 0.1 + 0.2, "0.3"}, {&Axis{}, 250_000, "250000"},
		{&percent, math.Copysign(0, -1), "0 %"}, {&percent, 0.145, "14.5 %"},
	} {
		if got := c.axis.number(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}

func TestTicksAreRoundAndWithinTheRange(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   []float64
	}{
		{Axis{Low: 0, High: 1}, nil, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{Axis{Low: -10, High: 37}, nil, []float64{-10, 0, 10, 20, 30}},
		{Axis{Scale: Log, Low: 0.0003, High: 0.5}, nil, []float64{0.001, 0.01, 0.1}},
		{Axis{Scale: Log, Low: 0.03, High: 0.5}, nil, []float64{0.05, 0.1, 0.2, 0.5}},
		{Axis{Scale: LogPlusOne, Low: 0, High: 60}, nil, []float64{0, 1, 2, 5, 10, 20, 50}},
		{Axis{Ticks: []float64{1, 3, 99}, Low: 0, High: 5}, nil, []float64{1, 3}},
		{Axis{}, []float64{7}, []float64{6.6, 6.8, 7, 7.2, 7.4}},
		{Axis{Scale: Log}, []float64{0}, nil},
	} {
		p := newPlace(&c.axis, c.values, 0, 100)
		got := p.ticks()
		if len(got) != len(c.want) && c.want != nil {
			t.Errorf("%+v: ticks %v, want %v", c.axis, got, c.want)
			continue
		}
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%+v: ticks %v, want %v", c.axis, got, c.want)
				break
			}
		}
	}
}

// contrast is that of WCAG 2.1, of two colours.
func contrast(a, b string) float64 {
	light := func(hex string) float64 {
		sum := 0.0
		for i, weight := range [...]float64{0.2126, 0.7152, 0.0722} {
			v := 0
			for _, digit := range hex[1+2*i : 3+2*i] {
				v = v*16 + strings.IndexRune("0123456789abcdef", digit)
			}
			c := float64(v) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestEveryColourStandsOutFromItsGround(t *testing.T) {
	for _, c := range palette() {
		// WCAG 2.1, 1.4.11: 3:1 for graphics.
		if light, dark := contrast(c[0], "#ffffff"), contrast(c[1], "#16181c"); light < 3 || dark < 3 {
			t.Errorf("%v: contrast %.1f on light and %.1f on dark ground", c, light, dark)
		}
	}
}

func TestNoLineEndsBetweenANumberAndItsPerCent(t *testing.T) {
	d := &drawing{w: 2*margin + 40*charWidth*0.95}
	for n := range 30 {
		for _, line := range d.wrapped(strings.Repeat("x ", n) + "intervals of 95 % and more of 0.1 %, or so") {
			if strings.HasPrefix(line, "%") {
				t.Errorf("behind %d words a line begins with %q", n, line)
			}
		}
	}
}
