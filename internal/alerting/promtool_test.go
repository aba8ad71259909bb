package alerting

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// promtool runs it in the folder of the rules, or skips the test where it is not installed.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool here (package prometheus), which says what Prometheus makes of rules and queries")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = folder
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if strings.Contains(string(out), "FAILED") {
		t.Errorf("promtool %s:\n%s", strings.Join(args, " "), out)
	}
}

func TestPromtoolTakesTheRules(t *testing.T) {
	promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", "alerts.yml")
}

func TestAlertsFireWhenTheyShouldAsPromtoolComputesIt(t *testing.T) {
	promtool(t, "", "test", "rules", "alerts_test.yml", "alerts_week_test.yml")
}

func TestEveryAlertIsTested(t *testing.T) {
	text := read(t, folder+"/alerts_test.yml")
	for _, r := range Alerts(groups(t)) {
		fires := fmt.Sprintf("alertname: %s\n        exp_alerts:\n          - exp_labels: {severity: %s,", r.Alert, r.Labels["severity"])
		if !strings.Contains(text, fires) {
			t.Errorf("no test shows that %s fires as %s", r.Alert, r.Labels["severity"])
		}
	}
}

// TestPromtoolTakesTheQueriesOfTheDashboard checks them as rules, each under a name of its own.
func TestPromtoolTakesTheQueriesOfTheDashboard(t *testing.T) {
	all := queries(t, dashboard(t))
	var file strings.Builder
	file.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for i, where := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&file, "      # %s\n      - record: query%d\n        expr: %q\n", where, i, substituted(all[where]))
	}
	name := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(name, []byte(file.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", name)
}

func TestPromtoolTakesTheMetrics(t *testing.T) {
	promtool(t, page(t, newStandIn(t, fallen()).URL), "check", "metrics")
}
