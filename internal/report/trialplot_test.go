package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/plot"
)

func names(c *plot.Chart) (all []string) {
	for _, s := range c.Series {
		all = append(all, s.Name)
	}
	return all
}

func TestThePictureOfASeriesHasItsPointsItsCurveAndItsControl(t *testing.T) {
	c := TrialPlot(carriedOut(t, madePlan(), madeRule, 0))
	if got := strings.Join(names(c), "; "); got != "observed, 95 % Wilson interval; exponential lengths of episodes, 95 % band; control: no delay" {
		t.Errorf("series %s", got)
	}
	for i, p := range c.Series[0].Points {
		if want := [...]float64{29.0 / 40, 13.0 / 31, 2.0 / 40}[i]; p.Y != want || !(p.Low < p.Y && p.Y < p.High) {
			t.Errorf("point %d: %+v, want %v", i, p, want)
		}
	}
	control := c.Series[2].Points
	if len(control) != 1 || control[0].X <= 3 || control[0].X > 3.2 || control[0].Y != 0.05 {
		t.Errorf("the control is %+v, want one point beside 3, the kernel's own number of retries", control)
	}
	drawn(t, c)
}

func TestASeriesOfFewPointsHasNoCurve(t *testing.T) {
	plan := madePlan()
	plan.Grids[0].Set = []string{campaign.RetriesParameter + "=1,3"}
	plan.Grids, plan.Searches = plan.Grids[:1], nil
	if c := TrialPlot(carriedOut(t, plan, madeRule, 0)); len(c.Series) != 1 {
		t.Errorf("series %q", names(c))
	}
}

func TestAnyParameterIsDrawn(t *testing.T) {
	for name, set := range map[string]string{"parts of one": "x.y=0.25,0.5,7", "below 0": "x.y=-3,0,2", "huge": campaign.RetriesParameter + "=0,3,99999999999", "equal": "x.y=1,1.0"} {
		t.Run(name, func(t *testing.T) {
			plan := madePlan()
			plan.Grids[0].Set = []string{set}
			for _, rule := range []func(*campaign.Result){madeRule, func(r *campaign.Result) { r.Outcome = campaign.Stable }, func(r *campaign.Result) { madeDelay(r, 2) }} {
				plan.Searches = nil
				c := carriedOut(t, plan, rule, 0)
				drawn(t, TrialPlot(c))
				if err := TrialText(io.Discard, c, TrialOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestThePictureOfSearchesHasASeriesForEach(t *testing.T) {
	plan := madePlan()
	plan.Grids = nil
	campaignOfSearches := carriedOut(t, plan, madeRule, 0)
	c := TrialPlot(campaignOfSearches)
	if got := strings.Join(names(c), "; "); got != "5.10; 6.12" {
		t.Errorf("series %s", got)
	}
	drawn(t, c)
	plan.Searches[0].CPUs = []int{1, 2, 3, 4}
	c = TrialPlot(carriedOut(t, plan, madeRule, 0))
	if !strings.Contains(c.Subtitle, "2 more searches are not shown") || len(c.Series) != MostCurves || !strings.HasPrefix(c.Series[0].Name, "5.10, 1 CPU") {
		t.Errorf("%s: %q", c.Subtitle, names(c))
	}
	drawn(t, c)
}

func TestACampaignWithoutPointsIsNotDrawn(t *testing.T) {
	if err := TrialPlot(campaignOf(t, madePlan(), nil, nil, false, 1)).SVG(io.Discard); err == nil || !strings.Contains(err.Error(), "no points") {
		t.Errorf("the error is %v", err)
	}
}

// drawn fails where a chart cannot be drawn.
func drawn(t *testing.T, c *plot.Chart) {
	t.Helper()
	var b bytes.Buffer
	if err := c.SVG(&b); err != nil {
		t.Error(err)
	}
}
