package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/burst"
	"github.com/cswatch/cswatch/internal/plot"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/stats"
	"github.com/cswatch/cswatch/watchdog"
)

// draw keeps a chart as a file of the page.
func (s *study) draw(w *writer, plots map[string][]byte, name string, c *plot.Chart) {
	var b bytes.Buffer
	if err := c.SVG(&b); err != nil {
		s.errs = append(s.errs, err)
		return
	}
	plots[name] = b.Bytes()
	w.say("![%s](plots/%s)", c.Description, name)
}

// point is a tally as a point with its interval.
func point(x float64, t sim.Tally) plot.Point {
	c := stats.Count{Events: int(t.Unstable), Trials: int(t.Boots)}
	i := stats.Wilson(c, 0.95)
	return plot.Point{X: x, Y: c.Rate(), Low: i.Low, High: i.High}
}

// curve shows the rate against the retries.
func (s *study) curve(w *writer, fit *burst.Result, plots map[string][]byte) {
	w.say("## Retries")
	simulated := plot.Series{Name: "simulated, e3-1240v5 under 5.15", Style: plot.Line}
	for _, r := range []int{0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 35, 42, 50, 60} {
		simulated.Points = append(simulated.Points, point(float64(r), s.cell(s.rfc(), design{era: watchdog.E5, retries: r}, sim.Fault{}, s.boots)))
	}
	counted := plot.Series{Name: "counted in the RFC", Style: plot.Points}
	for _, r := range published() {
		c := stats.Count{Events: r.Unstable, Trials: r.Boots}
		i := stats.Wilson(c, 0.95)
		counted.Points = append(counted.Points, plot.Point{X: float64(r.Retries), Y: c.Rate(), Low: i.Low, High: i.High})
	}
	s.draw(w, plots, "retries.svg", &plot.Chart{
		Title: "Boots that lose a good TSC, by number of retries", Subtitle: fmt.Sprintf("%d simulated boots a point, seed %d; bands and whiskers are 95 %% intervals", s.boots, s.seed),
		Description: "The share of unstable boots falls slowly with the number of retries, from about 13 % without any to 0.2 % with 50, and the counts of the RFC lie along it.",
		X:           plot.Axis{Label: "retries (attempts less one)"}, Y: plot.Axis{Label: "unstable boots", Percent: true, Scale: plot.Log, Low: 0.0003, High: 0.3},
		Series: []plot.Series{simulated, counted},
	})
	n := fit.Recommendation
	if n.Concluded && n.Retries != nil {
		w.say(`For one unstable boot in a thousand this machine needs **%d retries** (%s), more than were proposed, if lengths are exponential. The counts end at 50, and other families of lengths that fit them as well put it
anywhere %s. Each of them keeps one CPU for another 120 us: at the proposed 50, an episode that outlasts them all takes 6 ms of it.`,
			*n.Retries, interval(n.Low, n.High), span(n.FamiliesLow, n.FamiliesHigh))
	} else {
		w.say("How many retries make unstable boots as rare as one in a thousand the counts do not carry.")
	}
}

// span is the range of all families.
func span(low, high *int) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf("from %d to %d", *low, *high)
	case low != nil:
		return fmt.Sprintf("from %d up", *low)
	}
	return "at all"
}

func interval(low, high *int) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf("95 %% interval %d to %d", *low, *high)
	case low != nil:
		return fmt.Sprintf("%d at least, with 95 %% confidence; no number is certain to be enough", *low)
	}
	return "the counts set no bound"
}

// designs compares what each design does to a good TSC.
func (s *study) designs(w *writer, plots map[string][]byte) {
	w.say("## Other designs, and other delays")
	w.say("The share of boots that lose a good TSC, where episodes of the RFC's length make reads slower or less slow. A dash is a 0 that could not be otherwise: the design does not condemn for latency.")
	w.say("### The reference is slow")
	w.say("Every read of the HPET takes longer, as on the machine of the RFC, so that the reference is slow against itself, too.")
	rows, _ := s.byDelay(s.delayed)
	w.table(rows)
	w.say(`From 5.17 on the reference being slow against itself is the sign of a busy bus, and the check is skipped; from 6.3 on the watchdog then rests for five minutes, in which it finds nothing, good or bad. Retries
matter only between the read limit and there. 7.1 neither condemns nor skips; its reads time out, and a line says so.`)
	w.say("### The TSC is slow")
	w.say("Reading the TSC takes longer, and the reference is quick against itself: seen on machines of eight sockets (153 560 ns, with 11 440 ns for two reads of the HPET in a row).")
	rows, series := s.byDelay(s.serialised)
	w.table(rows)
	s.draw(w, plots, "delays.svg", &plot.Chart{
		Title: "Boots that lose a good TSC, by how slow it is to read", Subtitle: fmt.Sprintf("episodes in which the TSC, not the reference, is slow; %d boots a point, seed %d; 95 %% intervals", s.boots, s.seed),
		Description: "Each design loses boots above its own limit: 50 us in 5.14, 100 in 5.17, 125 in 6.9, 500 in 6.12 and 7.0. With 50 retries the loss is small.",
		X:           plot.Axis{Label: "read-back delay in an episode (us)", Scale: plot.Log, Low: 35, High: 1100, Ticks: delayTicks()},
		Y:           plot.Axis{Label: "unstable boots", Percent: true, High: 0.16}, Series: series,
	})
	w.say(`Here no skip saves the clock. Each design loses it above its own limit, all the more often the fewer its attempts: a higher limit moves the border, and nothing short of not condemning for latency ends it. At 600 us 6.12
condemns more often than any other, and for another reason: it accepts reads of up to 750 us, but a skew of 500 us is a verdict, and the slow read makes that skew itself. 7.0 and 6.12.68 read no more slowly than they judge.`)
}

// delayTicks are the delays that are simulated, in microseconds.
func delayTicks() []float64 { return []float64{40, 60, 90, 120, 160, 250, 400, 600, 900} }

// byDelay makes the table of all designs against delays, and the lines of a chart.
func (s *study) byDelay(machine func(us int) sim.Model) ([][]string, []plot.Series) {
	head := []string{"design", "attempts on 8 CPUs"}
	for _, us := range delayTicks() {
		head = append(head, fmt.Sprintf("%.0f us", us))
	}
	rows := [][]string{head}
	var series []plot.Series
	for _, d := range designs() {
		p, _ := watchdog.ProfileOf(d.era)
		row := []string{d.name, fmt.Sprint(d.attempts(8))}
		line := plot.Series{Name: d.name, Style: plot.Points, Joined: true}
		for _, us := range delayTicks() {
			t := s.cell(machine(int(us)), d, sim.Fault{}, s.boots)
			text := share(t)
			if t.Unstable == 0 && !p.LatencyCondemns() {
				text = "-"
			}
			if t.Skipped > 0 {
				text += fmt.Sprintf("; skips in %s", percent(float64(t.Troubled)/float64(t.Boots)))
			}
			row = append(row, text)
			line.Points = append(line.Points, point(us, t))
		}
		if d.plotted && p.LatencyCondemns() {
			series = append(series, line)
		}
		rows = append(rows, row)
	}
	return rows, series
}

// detection asks what the designs find.
func (s *study) detection(w *writer, plots map[string][]byte) {
	w.say("## The price: what is found of a TSC that is bad")
	w.say(`A design that never condemns has no false alarms either. So the same designs on a machine on which nothing is slow, with a TSC that goes wrong 10 s after the start: the smallest fault that is found in 99 of 100 boots within
the next 51 s, and by when 95 of 100 find one of twice that size. Retries are not in the table: where nothing is slow, their number changes nothing. How soon one CPU's jump is found hangs on when the check comes to it: on up to 4 s
with 8 CPUs, here CPU 3. What 7.1 finds between two CPUs is what takes less time than a cache line between them, which is assumed here to be 100 ns, and 300 ns to another node.`)
	rows := [][]string{{"design", "runs off by", "found after", "jumps on all CPUs by", "found after", "one CPU of 8 jumps by", "found after"}}
	m := s.sound()
	var series []plot.Series
	for _, d := range designs() {
		if d.retries >= 0 {
			continue
		}
		row := []string{d.name}
		for _, f := range []struct {
			fault     func(float64) sim.Fault
			unit      string
			low, high float64
		}{
			{frequency, "ppm", 1, 500_000},
			{func(x float64) sim.Fault { return step(x, -1) }, "us", 0.1, 400_000},
			{func(x float64) sim.Fault { return step(x, 3) }, "us", 0.1, 400_000},
		} {
			x, within := s.smallest(m, d, f.fault, f.low, f.high)
			after := "-"
			if x > 0 {
				after = (time.Duration(within).Round(100 * time.Millisecond)).String()
			}
			row = append(row, amountText(x, f.unit), after)
		}
		rows = append(rows, row)
		line := plot.Series{Name: d.name, Style: plot.Points, Joined: true}
		for _, ppm := range []float64{250, 300, 380, 420, 450, 480, 500, 550, 600, 700, 780, 820, 900, 980, 1020, 1200, 2000} {
			line.Points = append(line.Points, point(ppm, s.cell(m, d, frequency(ppm), min(200, s.boots))))
		}
		if d.plotted && d.era != watchdog.E10 && d.era != watchdog.E11 {
			if d.era == watchdog.E9 {
				line.Name = "6.3 to 7.0 (E7 to E11)"
			}
			series = append(series, line)
		}
	}
	w.table(rows)
	s.draw(w, plots, "detection.svg", &plot.Chart{
		Title: "Boots in which a TSC that runs off is found", Subtitle: fmt.Sprintf("within 51 s, nothing else wrong; %d boots a point, seed %d", min(200, s.boots), s.seed),
		Description: "Every design finds a rate error above its limit in every boot, and none below: 400 ppm in 5.14, about 500 ppm in 7.1, 800 to 1000 ppm in 5.17 to 7.0.",
		X:           plot.Axis{Label: "rate error (ppm)", Scale: plot.Log, Low: 250, High: 2000, Ticks: []float64{300, 400, 500, 600, 800, 1000, 1500, 2000}},
		Y:           plot.Axis{Label: "found", Percent: true, High: 1}, Series: series,
	})
}
