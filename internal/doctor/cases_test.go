package doctor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/unpack"
	"github.com/cswatch/cswatch/klog"
)

// expectation is what a case's log supports. A list holds what is acceptable,
// the preferred answer first.
type expectation struct {
	Verdict   oneOrMore `json:"tsc_verdict"`
	Findings  []string  `json:"any_of_findings"`
	NotFound  []string  `json:"must_not_find"`
	NotAdvise []string  `json:"must_not_advise"`
	Advice    []string  `json:"any_of_advice"`
	Final     oneOrMore `json:"final_clocksource"`
	Missing   []string  `json:"missing_any_of"`
}

type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(o))
}

// examine is what the command does with the text of a log.
func examine(in io.Reader, name string) (doctor.Diagnosis, error) {
	ev, err := read(in, name)
	return doctor.Examine(ev), err
}

// read makes evidence of the text of a log.
func read(in io.Reader, name string) (doctor.Evidence, error) {
	r := klog.NewReader(in, name)
	var rec doctor.Recorder
	for r.Next() {
		rec.Add(r.Event())
	}
	ev := doctor.Evidence{Foreign: r.Stats().Foreign, LogLines: r.Stats().Records.Lines}
	ev.Events, ev.LeftOut = rec.Events()
	return ev, r.Err()
}

// evidenceOf makes evidence of a log that can be read to its end.
func evidenceOf(t testing.TB, log string) doctor.Evidence {
	t.Helper()
	ev, err := read(strings.NewReader(log), "log")
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// openLog opens a log file, compressed or not, until the test ends.
func openLog(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	in, _, err := unpack.Reader(f, path)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// examineFile judges a log file, compressed or not.
func examineFile(t testing.TB, path string) doctor.Diagnosis {
	t.Helper()
	d, err := examine(openLog(t, path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func findingIDs(d doctor.Diagnosis) (ids []string) {
	for _, f := range d.Findings {
		ids = append(ids, f.ID)
	}
	return ids
}

func adviceIDs(d doctor.Diagnosis) (ids []string) {
	for _, a := range d.Advice {
		ids = append(ids, a.ID)
	}
	return ids
}

func missingIDs(d doctor.Diagnosis) (ids []string) {
	for _, m := range d.Missing {
		ids = append(ids, m.ID)
	}
	return ids
}

func overlap(a, b []string) []string {
	var both []string
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		}
	}
	return both
}

// contradicted says what in a diagnosis the expectation does not allow, "" if nothing.
func (want *expectation) contradicted(d doctor.Diagnosis) string {
	got := findingIDs(d)
	switch {
	case !slices.Contains(want.Verdict, string(d.TSCVerdict)):
		return fmt.Sprintf("verdict %s, want %s", d.TSCVerdict, strings.Join(want.Verdict, " or "))
	case len(want.Findings) > 0 && len(overlap(want.Findings, got)) == 0:
		return fmt.Sprintf("findings %q, want one of %q", got, want.Findings)
	case len(overlap(want.NotFound, got)) > 0:
		return fmt.Sprintf("contradicted findings %q", overlap(want.NotFound, got))
	case len(overlap(want.NotAdvise, adviceIDs(d))) > 0:
		return fmt.Sprintf("harmful advice %q", overlap(want.NotAdvise, adviceIDs(d)))
	case len(want.Final) > 0 && !slices.Contains(want.Final, d.FinalClock):
		return fmt.Sprintf("final clocksource %q, want %q", d.FinalClock, want.Final)
	}
	return ""
}

// wrongOfMade names the made logs that are judged wrongly so far, and why.
var wrongOfMade = map[string]string{
	"x-cut-delta":            "a stamp with one digit behind the point is none of the kernel's",
	"x-cut-longreadout":      "the same",
	"x-cut-measured":         "the same",
	"y-two-hosts-small-skew": "two machines in one log are taken for one",
}

// TestMadeLogs judges logs that were constructed to lie just inside or just
// outside of what a rule should say.
func TestMadeLogs(t *testing.T) {
	made, err := txtar.ParseFile("testdata/made.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Files) < 600 {
		t.Fatalf("only %d files: the test lost its subject", len(made.Files))
	}
	for i := 0; i+1 < len(made.Files); i += 2 {
		name := strings.TrimSuffix(made.Files[i].Name, "/expect.json")
		var want expectation
		if err := json.Unmarshal(made.Files[i].Data, &want); err != nil || made.Files[i+1].Name != name+"/log" {
			t.Fatalf("%s: %v, followed by %s", made.Files[i].Name, err, made.Files[i+1].Name)
		}
		d, err := examine(bytes.NewReader(made.Files[i+1].Data), name)
		if err != nil {
			t.Fatal(err)
		}
		why := want.contradicted(d)
		if reason, wrong := wrongOfMade[name]; wrong == (why == "") {
			t.Errorf("%s: %q, known to be wrong: %t %s", name, why, wrong, reason)
		}
	}
}

// TestRealLogs judges logs from public reports and from real kernels with known
// faults. Each must get an acceptable verdict, a fitting finding, no harmful
// advice and the right final clocksource.
func TestRealLogs(t *testing.T) {
	raw, err := os.ReadFile("testdata/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]expectation
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	var strict, advice, asked, named, findings int
	for name, want := range cases {
		paths, err := filepath.Glob(filepath.Join("testdata/cases", name+".log*"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("case %s has the logs %q", name, paths)
		}
		d := examineFile(t, paths[0])
		got := findingIDs(d)
		findings += len(got)
		if string(d.TSCVerdict) == want.Verdict[0] {
			strict++
		}
		if len(want.Advice) == 0 || len(overlap(want.Advice, adviceIDs(d))) > 0 {
			advice++
		}
		if d.TSCVerdict == doctor.Undecided && len(want.Missing) > 0 {
			asked++
			if len(overlap(want.Missing, missingIDs(d))) > 0 {
				named++
			}
		}
		if why := want.contradicted(d); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	n := len(cases)
	if n < 100 {
		t.Fatalf("only %d cases: the test lost its subject", n)
	}
	for _, share := range []struct {
		what        string
		got, of     int
		wantPercent int
	}{{"preferred verdicts", strict, n, 85}, {"fitting advice", advice, n, 90}, {"missing evidence named", named, asked, 85}} {
		if 100*share.got < share.wantPercent*share.of {
			t.Errorf("%s: %d of %d, want %d %%", share.what, share.got, share.of, share.wantPercent)
		}
	}
	if findings > 2*n {
		t.Errorf("%d findings in %d cases, want at most 2 a case", findings, n)
	}
}

// TestHealthyLogsAndLookAlikesGetNothingAboveInfo holds for every log that
// accuses no clock and for the kernel's own tests.
func TestHealthyLogsAndLookAlikesGetNothingAboveInfo(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/neg-*")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob("testdata/cases/syn-*")
	paths = append(paths, more...)
	if len(paths) < 12 {
		t.Fatalf("only %d logs: the test lost its subject", len(paths))
	}
	for _, path := range paths {
		d := examineFile(t, path)
		for _, f := range d.Findings {
			if f.Severity != doctor.Info {
				t.Errorf("%s: %s is %s", path, f.ID, f.Severity)
			}
		}
		if d.Status != doctor.StatusOK && d.Status != doctor.StatusUnknown {
			t.Errorf("%s: status %s", path, d.Status)
		}
	}
}
