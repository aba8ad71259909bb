package alerting

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/explain"
)

const (
	rulesFile = folder + "/alerts.yml"
	runbooks  = root + "/docs/runbooks"
)

func groups(t testing.TB) []Group {
	t.Helper()
	g, err := ReadRules([]byte(read(t, rulesFile)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRulesAskOnlyForWhatThereIs(t *testing.T) {
	recorded := Recorded(groups(t))
	used := map[string]bool{}
	for _, g := range groups(t) {
		for _, r := range g.Rules {
			q, err := ParseQuery(r.Expr)
			if err != nil {
				t.Errorf("%s%s: %v", r.Alert, r.Record, err)
				continue
			}
			for _, problem := range q.Check(Metrics(), recorded) {
				t.Errorf("%s%s: %s", r.Alert, r.Record, problem)
			}
			for _, s := range q.Selectors {
				used[s.Metric] = true
			}
		}
	}
	for _, name := range recorded {
		if !used[name] {
			t.Errorf("%s is recorded and no alert asks for it", name)
		}
	}
}

func TestEveryAlertSaysWhatItMeansAndWhatItIsNoReasonFor(t *testing.T) {
	alerts := Alerts(groups(t))
	if len(alerts) < 10 {
		t.Fatalf("only %d alerts", len(alerts))
	}
	critical := 0
	for _, r := range alerts {
		switch r.Labels["severity"] {
		case "critical":
			critical++
		case "warning", "info":
		default:
			t.Errorf("%s has the severity %q", r.Alert, r.Labels["severity"])
		}
		for _, name := range []string{"summary", "description"} {
			if !strings.Contains(r.Annotations[name], "{{ $labels.instance }}") {
				t.Errorf("%s: its %s does not name the machine", r.Alert, name)
			}
		}
		if !strings.HasSuffix(r.Annotations["description"], "Never a reason to replace the node automatically.") {
			t.Errorf("%s: its description does not say that it is no reason to replace a node", r.Alert)
		}
		if want := "docs/runbooks/" + r.Alert + ".md"; r.Annotations["runbook_url"] != want {
			t.Errorf("%s: its runbook is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if len(r.Annotations) != 3 {
			t.Errorf("%s has %d annotations", r.Alert, len(r.Annotations))
		}
	}
	if critical > 1 {
		t.Errorf("%d alerts are critical: only time that may be wrong now is", critical)
	}
}

// headings are those of every runbook, in order.
var headings = []string{"## What it means", "## How sure it is", "## Look at", "## What cures it", "## What not to do", "## When to leave it alone"}

func TestEveryAlertHasItsRunbookAndEveryRunbookItsAlert(t *testing.T) {
	var names []string
	for _, r := range Alerts(groups(t)) {
		names = append(names, r.Alert)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	index := read(t, runbooks+"/README.md")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name != "README" && !slices.Contains(names, name) {
			t.Errorf("docs/runbooks/%s.md is of no alert", name)
		}
	}
	guide := read(t, root+"/docs/alerts.md")
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(runbooks, name+".md"))
		if err != nil {
			t.Errorf("%s has no runbook: %v", name, err)
			continue
		}
		if !strings.HasPrefix(string(text), "# "+name+"\n") {
			t.Errorf("the runbook of %s begins otherwise than with its name", name)
		}
		at := 0
		for _, h := range headings {
			i := strings.Index(string(text)[at:], "\n"+h+"\n")
			if i < 0 {
				t.Errorf("the runbook of %s lacks %q, or has it in another place", name, h)
				continue
			}
			at += i
		}
		if !strings.Contains(index, "]("+name+".md)") || !strings.Contains(guide, "](runbooks/"+name+".md)") {
			t.Errorf("docs/runbooks/README.md and docs/alerts.md do not both lead to the runbook of %s", name)
		}
	}
}

// TestRunbooksNameAdviceAndFindingsThatThereAre holds the ids in code spans of the runbooks against explain, and
// sees that harmful advice stands only where it is advised against.
func TestRunbooksNameAdviceAndFindingsThatThereAre(t *testing.T) {
	risk := map[string]explain.Risk{}
	known := map[string]bool{}
	for _, e := range explain.All() {
		known[e.ID] = true
		if e.Class == explain.Advice {
			risk[e.ID] = e.Risk
		}
	}
	files, err := filepath.Glob(runbooks + "/Cswatch*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d runbooks, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		section := cures(t, name, read(t, file))
		order := []explain.Risk{explain.NoRisk, explain.Reversible, explain.UntilReboot}
		last := 0
		n := 0
		for _, m := range regexp.MustCompile("(?m)^\\d+\\. `([a-z0-9-]+)`").FindAllStringSubmatch(section, -1) {
			n++
			r, ok := risk[m[1]]
			if !ok {
				t.Errorf("%s: %q is no advice", name, m[1])
				continue
			}
			rank := slices.Index(order, r)
			if rank < 0 {
				t.Errorf("%s advises %s, which is unsafe", name, m[1])
			}
			if rank < last {
				t.Errorf("%s: %s stands behind what is riskier", name, m[1])
			}
			last = max(last, rank)
		}
		if n == 0 && !strings.Contains(section, "Nothing") {
			t.Errorf("%s: no cure is named by its id", name)
		}
	}
}

func cures(t *testing.T, name, text string) string {
	t.Helper()
	_, after, ok := strings.Cut(text, "\n## What cures it\n")
	if !ok {
		t.Fatalf("%s has no section on cures", name)
	}
	section, _, _ := strings.Cut(after, "\n## ")
	return section
}

// TestTheDoctorsPageShowsThePluginThatIsShipped keeps one source of the configuration.
func TestTheDoctorsPageShowsThePluginThatIsShipped(t *testing.T) {
	if !strings.Contains(read(t, root+"/docs/doctor.md"), "```json\n"+read(t, pluginMonitor)+"```\n") {
		t.Errorf("docs/doctor.md does not show %s as it is", pluginMonitor)
	}
}
