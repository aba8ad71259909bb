package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cswatch/cswatch/internal/burst"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/stats"
	"github.com/cswatch/cswatch/watchdog"
)

// published are the counts of the request for comments.
func published() []burst.Row {
	return []burst.Row{{Retries: 3, Boots: 400, Unstable: 42, CPUs: 8}, {Retries: 5, Boots: 100, Unstable: 5, CPUs: 8},
		{Retries: 10, Boots: 100, Unstable: 6, CPUs: 8}, {Retries: 50, Boots: 400, Unstable: 1, CPUs: 8}}
}

// writer builds the page.
type writer struct{ bytes.Buffer }

func (w *writer) say(format string, args ...any) { fmt.Fprintf(w, format+"\n\n", args...) }

// table writes a table whose first row is its head.
func (w *writer) table(rows [][]string) {
	for i, r := range rows {
		w.WriteString("| " + strings.Join(r, " | ") + " |\n")
		if i == 0 {
			w.WriteString("|" + strings.Repeat("---|", len(r)) + "\n")
		}
	}
	w.WriteByte('\n')
}

// share writes a count of boots as a rate with its 95 % interval.
func share(t sim.Tally) string {
	c := stats.Count{Events: int(t.Unstable), Trials: int(t.Boots)}
	i := stats.Wilson(c, 0.95)
	if t.Unstable == 0 {
		return "0"
	}
	return fmt.Sprintf("%s (%s to %s)", percent(c.Rate()), percent(i.Low), percent(i.High))
}

func percent(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.0995:
		return fmt.Sprintf("%.2g %%", 100*x)
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}

// write makes the page and its plots.
func (s *study) write() ([]byte, map[string][]byte, error) {
	fit, err := burst.Examine(published(), burst.Options{CPUs: 8})
	if err != nil {
		return nil, nil, err
	}
	w, plots := &writer{}, map[string][]byte{}
	s.question(w, fit)
	s.curve(w, fit, plots)
	s.cpus(w)
	s.designs(w, plots)
	s.detection(w, plots)
	s.assumptions(w)
	return w.Bytes(), plots, errors.Join(s.errs...)
}

func (s *study) question(w *writer, fit *burst.Result) {
	w.say("# How many retries are right?")
	w.say("<!-- Written by make study: go run ./internal/study -boots %d -seed %d. -->", s.boots, s.seed)
	w.say(`In October 2021 somebody counted 1 100 boots of one machine (8 CPUs, Xeon E3-1240 v5, 5.15-rc) and found that the kernel gave up a good TSC in one boot of ten, because reading the
HPET was slow four times in a row. The proposal was to raise `+"`clocksource.max_cswd_read_retries`"+` from 3 to 50. This page gives the same counts from a model, asks what other numbers and
other designs would have done, and what each of them costs in detection of a TSC that really is bad. The tables are simulated (package `+"`sim`, [simulation.md](simulation.md)"+`) unless they say otherwise; every
rate has its 95 %% interval. A 0 is 0 of %d boots: below %s, with 95 %% confidence.`, s.boots, percent(stats.Wilson(stats.Count{Trials: int(s.boots)}, 0.95).High))
	best := fit.Models[0]
	for _, m := range fit.Models {
		if m.Family == burst.Exponential {
			best = m
		}
	}
	w.say("## What was counted, and what that tells")
	rows := [][]string{{"retries", "boots", "unstable", "rate", "fitted", "simulated"}}
	for i, r := range published() {
		t := s.cell(s.rfc(), design{era: watchdog.E5, retries: r.Retries}, sim.Fault{}, s.boots)
		c := stats.Count{Events: r.Unstable, Trials: r.Boots}
		in := stats.Wilson(c, 0.95)
		rows = append(rows, []string{fmt.Sprint(r.Retries), fmt.Sprint(r.Boots), fmt.Sprint(r.Unstable),
			fmt.Sprintf("%s (%s to %s)", percent(c.Rate()), percent(in.Low), percent(in.High)), percent(best.Rows[i].Rate), share(t)})
	}
	w.table(rows)
	w.say(`Five and ten retries hardly differ, although with independent delays each further retry would make unstable boots four to six times rarer: the slow reads come in episodes. The model behind the column *fitted*: a boot meets
%.3f episodes (a Poisson number), and what is left of one when a check meets it lasts %.1f attempts in the mean. Deviance %.2f on %d degrees of freedom: the counts do not contradict it
(%s). The column *simulated* is the machine `+"`e3-1240v5`"+`, whose episodes were set near to that (it meets 0.149).`,
		best.EpisodesPerBoot, deref(best.MeanLength), best.Deviance, best.DF, pText(best.GoodnessP))
	w.say("What the counts do not tell: %s", strings.Join(lower(fit.DoesNotTell), "; "))
}

func lower(sentences []string) []string {
	var out []string
	for _, x := range sentences {
		out = append(out, strings.TrimSuffix(strings.ToLower(x[:1])+x[1:], "."))
	}
	if n := len(out); n > 0 {
		out[n-1] += "."
	}
	return out
}

func deref(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

func pText(p *float64) string {
	if p == nil {
		return "no test is possible"
	}
	return fmt.Sprintf("p = %.2f", *p)
}

// cpus shows what the automatic rule gives.
func (s *study) cpus(w *writer) {
	w.say("## More CPUs")
	w.say(`Since 6.9 the number of attempts follows the number of CPUs. The rule's number is not large: on the machine of the RFC it allows one attempt fewer than the four that failed in a tenth of its boots. What
saved such machines is the limit, which had more than doubled by then. The table has the RFC's episodes on machines of any size. That flatters the rule where there are many CPUs: reads are slower and episodes longer there.`)
	rows := [][]string{{"CPUs", "attempts by the rule", "unstable with the limit of 50 us (5.14)", "with that of 125 us (6.9)", "the same, reads of 160 us", "and skipped"}}
	for _, n := range []int{8, 16, 64, 256, 1024} {
		rule := design{era: watchdog.E9, retries: -1}
		retries := rule.attempts(n) - 1
		m, slow := s.rfc().WithCPUs(n), s.delayed(160).WithCPUs(n)
		long := s.cell(slow, rule, sim.Fault{}, s.boots)
		rows = append(rows, []string{fmt.Sprint(n), fmt.Sprint(retries + 1),
			share(s.cell(m, design{era: watchdog.E5, retries: retries}, sim.Fault{}, s.boots)),
			share(s.cell(m, rule, sim.Fault{}, s.boots)),
			share(long), percent(float64(long.Troubled) / float64(long.Boots))})
	}
	w.table(rows)
}

// assumptions tells how the conclusions move.
func (s *study) assumptions(w *writer) {
	w.say("## What is assumed, and what follows if it is wrong")
	w.say(`Published are the counts, two delays (60 666 and 61 833 ns) and when they came. Measured, on real kernels, is that the eras decide as simulated (see [eras.md](eras.md)). Assumed is all else: that lengths of episodes
are exponential, that each read of an episode is slow, that episodes end with the boot phase. The machine with one assumption changed:`)
	rows := [][]string{{"assumption", "3 retries", "10 retries", "50 retries", "6.9 to 6.11"}}
	for _, c := range []struct {
		name    string
		replace []string
	}{
		{"as fitted", nil},
		{"episodes twice as long, half as many", []string{" rate boot 2.3/s run 0", " length exp 2.96ms"}},
		{"episodes half as long, twice as many", []string{" rate boot 9.2/s run 0", " length exp 0.74ms"}},
		{"lengths with a heavy tail (Pareto, exponent 1.5) of the same mean", []string{" length pareto 493us 1.5 max 1s"}},
		{"all episodes of one length", []string{" length const 1.48ms"}},
		{"reads of 160 us", []string{" extra normal 160us 2us"}},
		{"the TSC is slow to read instead, by 160 us", []string{"process episodes slow-clock", " extra normal 160us 2us"}},
		{"delays spread over 30 to 90 us", []string{" extra uniform 30us 90us"}},
		{"the watchdog begins a second later", []string{"from 3.9s"}},
		{"episodes never end with the boot", []string{" rate 4.6/s"}},
	} {
		m := s.rfc(c.replace...)
		row := []string{c.name}
		for _, d := range []design{{era: watchdog.E5, retries: 3}, {era: watchdog.E5, retries: 10}, {era: watchdog.E5, retries: 50}, {era: watchdog.E9, retries: -1}} {
			row = append(row, share(s.cell(m, d, sim.Fault{}, s.boots)))
		}
		rows = append(rows, row)
	}
	w.table(rows)
	w.say(`How much ten retries help hangs on the lengths, and so does whether fifty are nearly enough: with episodes of twice the length or a heavy tail they leave one boot in fifty. Whether later kernels lose the clock hangs on the delays, of which two
are known: where they pass the limit and the reference is not slow itself, 6.9 loses it as often as 5.14 did. Only a limit above all delays ends the matter, or a design that does not condemn for latency.`)
}
