package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cswatch/cswatch/internal/burst"
)

// fitOf fits counts as the command does.
func fitOf(t *testing.T, file, counts string, in FitInputs) *Fit {
	t.Helper()
	rows, err := burst.Parse(file, strings.NewReader(counts))
	if err != nil {
		t.Fatal(err)
	}
	in.File = file
	if in.Rate == 0 {
		in.Rate = burst.DefaultRate
	}
	r, err := burst.Examine(rows, burst.Options{Rate: in.Rate, Width: in.Width, CPUs: in.CPUs, Delay: in.Delay})
	if err != nil {
		t.Fatal(err)
	}
	return &Fit{Inputs: in, Result: r}
}

const campaignOf2021 = "3,400,42\n5,100,5\n10,100,6\n50,400,1\n"

func TestTheFitIsShownAsItWas(t *testing.T) {
	rfc := fitOf(t, "counts.csv", campaignOf2021, FitInputs{})
	asked := fitOf(t, "counts.csv", campaignOf2021, FitInputs{Rate: 0.01, Width: 1000, CPUs: 8, Delay: 61_833})
	golden(t, "fit", &txtar.Archive{Files: []txtar.File{
		section(t, "the campaign of 2021", func(w io.Writer) error { return FitText(w, rfc, TextOptions{Width: DefaultWidth}) }),
		section(t, "with all that can be said besides, ASCII", func(w io.Writer) error {
			return FitText(w, asked, TextOptions{Width: 80, ASCII: true})
		}),
		section(t, "one number of retries", func(w io.Writer) error {
			return FitText(w, fitOf(t, "-", "3,400,42\n", FitInputs{}), TextOptions{Width: DefaultWidth})
		}),
		section(t, "rates that rise", func(w io.Writer) error {
			return FitText(w, fitOf(t, "up.csv", "3,100,5\n5,100,10\n10,100,20\n", FitInputs{}), TextOptions{Width: DefaultWidth})
		}),
	}})
}

func TestThePictureOfAFitShowsWhatTheTableSays(t *testing.T) {
	c := FitChart(fitOf(t, "counts.csv", campaignOf2021, FitInputs{}))
	if n := len(c.Series); n != 3 {
		t.Fatalf("%d series, want the observed rates and two families", n)
	}
	for i, p := range c.Series[0].Points {
		if want := [...]float64{0.105, 0.05, 0.06, 0.0025}[i]; p.Y != want || !(p.Low < p.Y && p.Y < p.High) {
			t.Errorf("point %d: %+v", i, p)
		}
	}
	for _, text := range []string{"unstable boots", "Pareto", "61 retries", "wanted: 0.1 %", "95 % Wilson interval"} {
		var b bytes.Buffer
		if err := c.SVG(&b); err != nil || !strings.Contains(strings.ToLower(b.String()), strings.ToLower(text)) {
			t.Errorf("%q is missing (%v)", text, err)
		}
	}
	for _, counts := range []string{"3,400,42\n", "3,400,0\n50,20,0\n", "3,4,4\n50,2,2\n", "0,1,1\n1000000,1,0\n", "3,100,5\n5,100,10\n10,100,20\n"} {
		if err := FitChart(fitOf(t, "-", counts, FitInputs{})).SVG(io.Discard); err != nil {
			t.Errorf("%q: %v", counts, err)
		}
	}
}

func TestTheFitDocumentHasNoNullAndItsSchemaFirst(t *testing.T) {
	for _, counts := range []string{campaignOf2021, "3,400,42\n", "3,400,0\n50,20,0\n", "3,100,5\n5,100,10\n10,100,20\n"} {
		var b bytes.Buffer
		if err := FitJSON(&b, fitOf(t, "-", counts, FitInputs{})); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) || strings.Contains(b.String(), ": null") || !strings.HasPrefix(b.String(), "{\n  \"schema\": \"cswatch.fit/v1\",") {
			t.Errorf("%q:\n%s", counts, b.String())
		}
	}
}

func TestAnAnswerBeyondTheSearchIsNotCalledNone(t *testing.T) {
	var b bytes.Buffer
	if err := FitText(&b, fitOf(t, "-", "0,100,90\n1000000,100,1\n", FitInputs{}), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"No number of retries up to 999999, where the search ends, brings the rate down to 0.1 %", "none up to 999999"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}

func TestRatesAreShownWithTheDigitsTheyHave(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0 %", 0.105: "10.5 %", 0.0025: "0.25 %", 0.0099: "0.99 %", 0.00996: "1.0 %", 0.000044: "0.0044 %", 1: "100 %", 0.9996: "100 %", 1e-9: "1e-07 %",
	} {
		if got := percent(x); got != want {
			t.Errorf("%g is shown as %q, want %q", x, got, want)
		}
	}
}
