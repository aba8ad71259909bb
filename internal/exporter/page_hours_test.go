package exporter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/internal/tally"
)

// figuresOf are the figures of the last hours of a view.
func figuresOf(t *testing.T, v tally.View) []*page.Figure {
	t.Helper()
	var figures []*page.Figure
	for _, b := range hours(v, aboutTest(), calendar{theTime}) {
		if b.Figure != nil {
			if err := b.Figure.Chart.Validate(); err != nil {
				t.Error(err)
			}
			figures = append(figures, b.Figure)
		}
	}
	return figures
}

func TestThePlotsShowTheLimitTheSwitchAndWhatWasNotMeasured(t *testing.T) {
	figures := figuresOf(t, condemned(t))
	if len(figures) != 2 {
		t.Fatalf("%d figures, want 2", len(figures))
	}
	delay, cost := figures[0].Chart, figures[1].Chart
	var marks []string
	for _, m := range delay.Marks {
		marks = append(marks, m.Text)
	}
	if want := []string{"era E9: late above 125 µs", "to hpet"}; !slices.Equal(marks, want) {
		t.Errorf("marks %q, want %q", marks, want)
	}
	for _, s := range delay.Series {
		if len(s.Gaps) != 1 {
			t.Errorf("%s: %d gaps, want the one in which nothing was measured", s.Name, len(s.Gaps))
		}
	}
	if len(cost.Series[0].Gaps) != 0 || cost.Y.Scale != plot.Log {
		t.Errorf("the price has gaps %v, or its leap is not drawn on a scale that shows both ends", cost.Series[0].Gaps)
	}
	if want := []string{"13:00", "14:00", "15:00", "16:00", "17:00", "18:00"}; !slices.Equal(delay.X.Texts, want) {
		t.Errorf("times %q, want %q", delay.X.Texts, want)
	}
	for _, f := range figures {
		if n := len(f.Numbers.Rows); n < 12 || n > 13 || f.Numbers.Rows[n-1][0].Text != "18:30" {
			t.Errorf("%s: %d rows, the last one until %s", f.Chart.Title, n, f.Numbers.Rows[n-1][0].Text)
		}
	}
}

func TestAHealthyPriceBeginsAtZero(t *testing.T) {
	if c := figuresOf(t, healthy(t))[1].Chart; c.Y.Scale != plot.Linear || c.Y.Low != 0 || c.Y.High < 22 {
		t.Errorf("axis %+v", c.Y)
	}
}

func TestAClockThatWasSetLeavesAnAxisOfHours(t *testing.T) {
	point := func(at time.Time) tally.Point { return tally.Point{At: at, ReadBacks: 1, DelayNS: 2000, MaxNS: 3000} }
	minute := func(n int) time.Time { return theTime.Add(time.Duration(n) * time.Minute) }
	for _, c := range []struct {
		name    string
		history []time.Time
		want    []time.Time
	}{
		{"set at boot, from 1970", []time.Time{time.Unix(60, 0), time.Unix(120, 0), minute(-2), minute(-1)}, []time.Time{minute(-2), minute(-1)}},
		{"set back by an hour", []time.Time{minute(-30), minute(29), minute(30), minute(-20), minute(-1)}, []time.Time{minute(-30), minute(-20), minute(-1)}},
		{"set back by a few minutes, so that a time came twice", []time.Time{minute(-9), minute(-3), minute(-2), minute(-5), minute(-4)}, []time.Time{minute(-9), minute(-5), minute(-4)}},
	} {
		v := emptyView()
		for _, at := range c.history {
			v.History = append(v.History, point(at))
		}
		var got []time.Time
		for _, p := range within(v.History, calendar{theTime}) {
			got = append(got, p.At)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, f := range figuresOf(t, v) {
			if n := len(f.Chart.X.Ticks); n < 2 || n > 12 || f.Chart.X.Low < -longest.Seconds() {
				t.Errorf("%s: %d ticks from %v s on", c.name, n, f.Chart.X.Low)
			}
		}
		checkPage(t, pageOf(t, v, aboutTest()))
	}
	v := healthy(t)
	v.Timeline = append(v.Timeline, tally.Entry{Number: v.Entries + 1, Kind: tally.Condemned, Moment: tally.Moment{At: minute(50)}, Summary: "long ago, by a clock that went ahead"})
	if got := verdictOf(v, aboutTest(), calendar{theTime}); got.Status != page.OK || len(got.News) > 0 {
		t.Errorf("what was before the clock was set back is news: %+v", got)
	}
}

func TestTheSwitchesOfAFlappingClockAreMarkedAFewTimes(t *testing.T) {
	v := healthy(t)
	for i := range 30 {
		v.Timeline = append(v.Timeline, tally.Entry{Kind: tally.Switched, To: "hpet", Moment: tally.Moment{At: theTime.Add(time.Duration(i-40) * time.Minute)}})
	}
	var texts []string
	for _, m := range figuresOf(t, v)[1].Chart.Marks {
		texts = append(texts, m.Text)
	}
	if got := strings.Join(texts, ","); len(texts) != 4 || strings.Count(got, "to hpet") != 1 {
		t.Errorf("marks %q: texts stand on one another, or there are too many", texts)
	}
}

func TestRoundTimesAreRoundInTheZoneOfTheReader(t *testing.T) {
	c := calendar{theTime.In(time.FixedZone("IST", 19800))}
	x := axisOf([]tally.Point{{At: theTime.Add(-5 * time.Hour)}}, c)
	for _, s := range x.Texts {
		if !strings.HasSuffix(s, ":00") {
			t.Errorf("times %q", x.Texts)
			break
		}
	}
	if len(x.Ticks) != len(x.Texts) || len(x.Ticks) < 4 {
		t.Errorf("%d ticks, %d texts", len(x.Ticks), len(x.Texts))
	}
}
