package alerting

import (
	"fmt"
	"slices"
	"strings"
)

// Metric is one metric of the monitor.
type Metric struct {
	Name string
	Type string // counter, gauge or histogram
	// Labels are its labels with all values that they can have; nil where the set is not closed.
	Labels map[string][]string
}

// scraped are the labels that a scrape configuration adds to every series.
var scraped = []string{"job", "instance"}

// Check returns what is wrong with the names of a query: metrics that are neither in the list nor recorded by a rule,
// labels that a metric does not have, and values that a label cannot have. A variable of a dashboard ($name) may be any value.
func (q Query) Check(metrics []Metric, recorded []string) []string {
	var problems []string
	note := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }
	labels := slices.Concat(scraped, q.Made, []string{"le"})
	for _, s := range q.Selectors {
		switch {
		case s.Metric == "ALERTS":
			labels = append(labels, "alertname", "alertstate", "severity")
			continue
		case slices.Contains(recorded, s.Metric):
			// Its labels are those of an instance: more would be the rule's.
			for _, m := range s.Matchers {
				if !slices.Contains(scraped, m.Label) {
					note("%s is recorded without the label %s", s.Metric, m.Label)
				}
			}
			continue
		}
		metric, ok := find(metrics, s.Metric)
		if !ok {
			note("there is no metric %q", s.Metric)
			continue
		}
		for name := range metric.Labels {
			labels = append(labels, name)
		}
		for _, m := range s.Matchers {
			if slices.Contains(scraped, m.Label) || m.Label == "le" && metric.Type == "histogram" {
				continue
			}
			values, has := metric.Labels[m.Label]
			if !has {
				note("%s has no label %s", s.Metric, m.Label)
				continue
			}
			for _, v := range m.values() {
				if values != nil && !slices.Contains(values, v) && !strings.HasPrefix(v, "$") {
					note("%s: %s is never %q", s.Metric, m.Label, v)
				}
			}
		}
	}
	for _, l := range q.Grouping {
		if !slices.Contains(labels, l) {
			note("nothing in the query has the label %s", l)
		}
	}
	return problems
}

// values are the values that a matcher names. Of regular expressions alternatives of plain words are known.
func (m Matcher) values() []string {
	if m.Op == "=" || m.Op == "!=" {
		if m.Value == "" {
			return nil
		}
		return []string{m.Value}
	}
	return strings.Split(m.Value, "|")
}

// find returns the metric of a series, which of a histogram has a longer name.
func find(metrics []Metric, series string) (Metric, bool) {
	for _, m := range metrics {
		if m.Name == series && m.Type != "histogram" {
			return m, true
		}
		if m.Type == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if m.Name+suffix == series {
					return m, true
				}
			}
		}
	}
	return Metric{}, false
}
