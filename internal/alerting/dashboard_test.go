package alerting

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dashboardFile = folder + "/dashboard.json"

func dashboard(t testing.TB) *Dashboard {
	t.Helper()
	d, err := ReadDashboard([]byte(read(t, dashboardFile)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.All()); n < 25 {
		t.Fatalf("only %d panels", n)
	}
	return d
}

// queries are all queries of the dashboard, each with where it stands.
func queries(t testing.TB, d *Dashboard) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range d.All() {
		for _, target := range p.Targets {
			found[p.Title+", query "+target.RefID] = target.Expr
		}
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			found["annotation "+a.Name] = a.Expr
		}
	}
	return found
}

// label is how a variable of the dashboard gets its values.
var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

func TestDashboardQueriesAskOnlyForWhatThereIs(t *testing.T) {
	d := dashboard(t)
	for where, expr := range queries(t, d) {
		q, err := ParseQuery(expr)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		for _, problem := range q.Check(Metrics(), nil) {
			t.Errorf("%s: %s", where, problem)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Fatal(err)
		}
		m := labelValues.FindStringSubmatch(query.Query)
		if m == nil {
			t.Errorf("variable %s: %q asks for no values of a label", v.Name, query.Query)
			continue
		}
		q, err := ParseQuery(m[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range q.Check(Metrics(), nil) {
			t.Errorf("variable %s: %s", v.Name, problem)
		}
	}
}

// TestTheDashboardShowsEveryMetric sees that nothing is exported which nobody looks at.
func TestTheDashboardShowsEveryMetric(t *testing.T) {
	shown := map[string]bool{}
	for _, expr := range queries(t, dashboard(t)) {
		q, err := ParseQuery(expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range q.Selectors {
			if m, ok := find(Metrics(), s.Metric); ok {
				shown[m.Name] = true
			}
		}
	}
	// These say what others say, or matter to alerts and to those who look for a fault of the monitor.
	left := []string{
		"cswatch_clocksource_available", "cswatch_clocksource_watched", "cswatch_doctor_kernel_trusts_tsc", "cswatch_doctor_examined_timestamp_seconds",
		"cswatch_kmsg_records_total", "cswatch_watchdog_ticks_total", "cswatch_watchdog_suspends_total", "cswatch_collector_failures_total", "process_open_fds", "go_goroutines",
	}
	for _, m := range Metrics() {
		if shown[m.Name] == slices.Contains(left, m.Name) {
			t.Errorf("%s: shown is %v", m.Name, shown[m.Name])
		}
	}
}

func TestTheDashboardIsOneThatGrafanaShowsWhole(t *testing.T) {
	d := dashboard(t)
	text := read(t, dashboardFile)
	if d.UID == "" || len(d.UID) > 40 || d.SchemaVersion < 39 {
		t.Errorf("uid %q, schema %d", d.UID, d.SchemaVersion)
	}
	for _, foreign := range []string{"http://", "https://", "__inputs", "${DS_"} {
		if strings.Contains(text, foreign) {
			t.Errorf("the dashboard holds %q: it is to work wherever it is imported, and to load nothing from elsewhere", foreign)
		}
	}
	kinds := []string{"row", "stat", "table", "timeseries", "state-timeline", "heatmap"}
	ids := map[int]bool{}
	var taken []string
	cells := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("panel %q: id %d is not its own", p.Title, p.ID)
		}
		ids[p.ID] = true
		if !slices.Contains(kinds, p.Type) {
			t.Errorf("panel %q is of type %s: an instance of Grafana may lack it", p.Title, p.Type)
		}
		if g := p.GridPos; g.X < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("panel %q stands at %+v", p.Title, g)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := cells[[2]int{x, y}]; ok {
					taken = append(taken, fmt.Sprintf("%q covers %q", p.Title, other))
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %q: description %q, %d queries", p.Title, p.Description, len(p.Targets))
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if refs[target.RefID] {
				t.Errorf("panel %q: two queries %s", p.Title, target.RefID)
			}
			refs[target.RefID] = true
			for _, ds := range []Datasource{p.Datasource, target.Datasource} {
				if ds.Type != "prometheus" || ds.UID != "${datasource}" {
					t.Errorf("panel %q asks %+v, not the one that the reader chooses", p.Title, ds)
				}
			}
			if !strings.Contains(target.Expr, `instance=~"$instance"`) && !strings.Contains(target.Expr, "ALERTS") {
				t.Errorf("panel %q, query %s: does not ask for the machines that the reader chooses", p.Title, target.RefID)
			}
		}
	}
	for _, line := range slices.Compact(taken) {
		t.Error(line)
	}
	if len(d.Templating.List) == 0 || d.Templating.List[0].Type != "datasource" {
		t.Error("the data source is no variable")
	}
}

// substituted is a query as Grafana sends it, for all machines.
func substituted(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$instance", ".*").Replace(expr)
}
