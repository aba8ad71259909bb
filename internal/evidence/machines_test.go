package evidence

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cswatch/cswatch/internal/doctor"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestEveryMachineGetsAUsefulAnswer judges the root folders of all kinds of
// machines: bare metal, guests of each hypervisor, other architectures, a
// container, a copy without /sys. The expected answers were read one by one.
func TestEveryMachineGetsAUsefulAnswer(t *testing.T) {
	archives, err := filepath.Glob("../host/testdata/machines/*.txtar")
	if err != nil || len(archives) < 15 {
		t.Fatalf("%d machines, error %v", len(archives), err)
	}
	var b strings.Builder
	for _, archive := range archives {
		a, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		tree := map[string]string{}
		for _, f := range a.Files {
			tree[f.Name] = string(f.Data)
		}
		dir := files(t, tree)
		ev, err := FromRoot(dir)
		name := strings.TrimSuffix(filepath.Base(archive), ".txtar")
		if err != nil {
			fmt.Fprintf(&b, "%s\n  error: %s\n", name, strings.ReplaceAll(err.Error(), dir, "ROOT"))
			continue
		}
		d := doctor.Examine(ev)
		if d.Status == doctor.StatusUnknown && len(d.Missing) == 0 {
			t.Errorf("%s: could not tell, and nothing is said to be missing", name)
		}
		fmt.Fprintf(&b, "%s\n  %s: %s\n", name, d.Status, d.Summary)
		fmt.Fprintf(&b, "  arch %s, clock %s, kernel trusts TSC: %s, verdict %s, watched: %s, latency can condemn: %s\n", orNone(d.Arch), orNone(d.CurrentClock), d.KernelTrustsTSC, d.TSCVerdict, d.Kernel.TSCWatched, d.Kernel.LatencyCanCondemn)
		fmt.Fprintf(&b, "  eras %s\n", orNone(strings.Join(d.Kernel.EraCandidates, " ")))
		var findings, advice, missing []string
		for _, f := range d.Findings {
			findings = append(findings, f.ID+" ("+string(f.Severity)+")")
		}
		for _, x := range d.Advice {
			advice = append(advice, x.ID)
		}
		for _, x := range d.Missing {
			missing = append(missing, x.ID)
		}
		fmt.Fprintf(&b, "  findings: %s\n  advice: %s\n  missing: %s\n", orNone(strings.Join(findings, ", ")), orNone(strings.Join(advice, ", ")), orNone(strings.Join(missing, ", ")))
	}
	const golden = "testdata/machines.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
