package plot

import (
	"strings"
	"testing"
)

func TestLabelsOfPointsAtOnePlaceAreJoinedAndOthersMakeRoom(t *testing.T) {
	c := &Chart{X: Axis{Label: "x", Low: 0, High: 1}, Y: Axis{Label: "y", Low: 0, High: 1}, Series: []Series{
		{Name: "one", Joined: true, Points: []Point{{X: 0.5, Y: 0.5}, {X: 0.5, Y: 0.5}, {X: 0.9, Y: 0.5}}, Labels: []string{"3", "5", "10"}, Across: [][2]float64{{0.4, 0.6}, {0.4, 0.6}, {0.8, 1}}},
		{Name: "two", Points: []Point{{X: 0.5, Y: 0.5}}, Labels: []string{"7"}},
		{Name: "three", Points: make([]Point, 4), Labels: []string{"0", "1", "2", "3"}},
	}}
	got := string(draw(t, c))
	for _, want := range []string{">3, 5</text>", ">10</text>", ">7</text>", ">0 to 3</text>"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once", want)
		}
	}
	place := func(text string) string {
		before := got[:strings.Index(got, text)]
		return before[strings.LastIndex(before, "<text"):strings.LastIndex(before, " class")]
	}
	if place(">3, 5<") == place(">7<") {
		t.Errorf("two labels at %s", place(">7<"))
	}
	if strings.Contains(got, "-0<") {
		t.Error("an axis shows -0")
	}
}
