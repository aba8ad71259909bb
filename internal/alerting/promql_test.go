package alerting

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueriesGiveTheirNames(t *testing.T) {
	for _, c := range []struct {
		name, expr string
		want       Query
	}{
		{"a name", "up", Query{Selectors: []Selector{{Metric: "up"}}}},
		{"matchers of all kinds", `a{b="c", d!="e",f=~"g|h", i!~"j",}`, Query{Selectors: []Selector{{"a", []Matcher{{"b", "=", "c"}, {"d", "!=", "e"}, {"f", "=~", "g|h"}, {"i", "!~", "j"}}}}}},
		{"only matchers", `{job="x"}`, Query{Selectors: []Selector{{"", []Matcher{{"job", "=", "x"}}}}}},
		{"empty braces", `a{}`, Query{Selectors: []Selector{{Metric: "a"}}}},
		{"functions, ranges, offsets and numbers", "rate(a[5m] offset 1h) > 2.5e-07 and b @ start() * 6 * 3600", Query{Selectors: []Selector{{Metric: "a"}, {Metric: "b"}}}},
		{"a range with a dashboard's variable and a subquery", `max_over_time(rate(a{i=~"$instance"}[$__rate_interval])[1h:1m])`, Query{Selectors: []Selector{{"a", []Matcher{{"i", "=~", "$instance"}}}}}},
		{"grouping before and behind", "sum by (a, b) (c) + max(d) without (e)", Query{Selectors: []Selector{{Metric: "c"}, {Metric: "d"}}, Grouping: []string{"a", "b", "e"}}},
		{"matching", "a * on (x) group_left (y) b unless ignoring (z) c", Query{Selectors: []Selector{{Metric: "a"}, {Metric: "b"}, {Metric: "c"}}, Grouping: []string{"x", "y", "z"}}},
		{"group_left without labels", "a * on () group_left b", Query{Selectors: []Selector{{Metric: "a"}, {Metric: "b"}}}},
		{"a made label", `label_replace(topk(1, a{b="x"}), "best", "$1", "clocksource", "(.+)")`, Query{Selectors: []Selector{{"a", []Matcher{{"b", "=", "x"}}}}, Made: []string{"best"}}},
		{"a made label of a metric with matchers", `label_replace(a{b="x"} == 1, "best", "tsc", "", "")`, Query{Selectors: []Selector{{"a", []Matcher{{"b", "=", "x"}}}}, Made: []string{"best"}}},
		{"a comment, and strings with quotes and braces", "a{b=\"\\\"}\", c='\"{'} # {x}\n or d", Query{Selectors: []Selector{{"a", []Matcher{{"b", "=", `"}`}, {"c", "=", `"{`}}}, {Metric: "d"}}}},
		{"names of recording rules", "instance:a:b > bool 1", Query{Selectors: []Selector{{Metric: "instance:a:b"}}}},
		{"a metric that is called like an aggregation", "count > 1", Query{Selectors: []Selector{{Metric: "count"}}}},
	} {
		got, err := ParseQuery(c.expr)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, c.expr, diff)
		}
	}
}

func TestBrokenQueriesAreErrorsAndNoPanics(t *testing.T) {
	for _, expr := range []string{`a{b="c"`, `a{b="c`, `a{b c}`, `a{="c"}`, `a{b~"c"}`, `sum by (a b`, `sum by (1) (c)`, "a[5m", `a{b=`, `by (`} {
		if _, err := ParseQuery(expr); err == nil {
			t.Errorf("%s: no error", expr)
		}
	}
	whole := `label_replace(topk without (clocksource) (1, last_over_time(x{y=~"a|b"}[5m]) == 1), "best", "$1", "z", '(.+)') @ end()`
	for i := range whole {
		_, _ = ParseQuery(whole[:i]) // must not panic
	}
}

func TestNamesThatDoNotExistAreSeen(t *testing.T) {
	metrics := []Metric{{"m_total", "counter", map[string][]string{"kind": {"a", "b"}, "free": nil}}, {"h_seconds", "histogram", nil}}
	for _, c := range []struct{ expr, want string }{
		{`m_total{kind="a", job="x", free="anything"}`, ""},
		{`m_total{kind=~"a|b"}`, ""},
		{`m_total{kind!~"$kind"}`, ""},
		{`m_total{kind=""}`, ""},
		{`sum by (le, instance) (rate(h_seconds_bucket{le="0.1"}[5m]))`, ""},
		{`recorded{instance="x"} * on (job) m_total`, ""},
		{`count by (alertname) (ALERTS{alertstate="firing", x="y"})`, ""},
		{`m`, `there is no metric "m"`},
		{`h_seconds`, `there is no metric "h_seconds"`},
		{`m_total{kind="c"}`, `m_total: kind is never "c"`},
		{`m_total{kind!~"a|c"}`, `m_total: kind is never "c"`},
		{`m_total{sort="a"}`, `m_total has no label sort`},
		{`m_total{le="1"}`, `m_total has no label le`},
		{`sum by (sort) (m_total)`, `nothing in the query has the label sort`},
		{`recorded{kind="a"}`, `recorded is recorded without the label kind`},
	} {
		q, err := ParseQuery(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(q.Check(metrics, []string{"recorded"}), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.expr, got, c.want)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add(`sum by (a) (rate(b{c=~"d|e"}[5m])) > 2`)
	f.Add("label_replace(a, \"b\", '$1', `c`, \"d\") # x")
	f.Fuzz(func(t *testing.T, expr string) {
		q, err := ParseQuery(expr)
		if err != nil && (q.Selectors != nil || q.Grouping != nil || q.Made != nil) {
			t.Errorf("an error with a value: %+v, %v", q, err)
		}
	})
}
