package exporter

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/tally"
)

func statusOfView(t testing.TB, v tally.View) string {
	t.Helper()
	b, err := Status(v, aboutTest(), theTime)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheDocumentIsAsItWas(t *testing.T) {
	empty := emptyView()
	short := condemned(t)
	short.History = append(short.History[200:203:203], short.History[len(short.History)-2:]...)
	for name, v := range map[string]tally.View{"condemned": short, "empty": empty} {
		got := statusOfView(t, v)
		file := "testdata/status-" + name + ".json"
		if *updateDocs {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; make it with: go test ./internal/exporter -update", err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s, -want +got:\n%s", file, diff)
		}
	}
}

func TestTheDocumentBeginsWithItsSchemaAndHoldsTheDoctors(t *testing.T) {
	v := condemned(t)
	got := statusOfView(t, v)
	if !strings.HasPrefix(got, "{\n  \"schema\": \"cswatch.monitor/v1\",\n  \"status\": \"warning\",\n  \"summary\": ") || strings.Count(got, `"schema"`) != 1 {
		t.Errorf("it begins with %.100s", got)
	}
	var d doctor.Diagnosis
	if err := json.Unmarshal([]byte(got), &d); err != nil {
		t.Fatal(err)
	}
	want := report.Complete(v.Diagnosis)
	d.Schema = want.Schema
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("the doctor's part (-want +got):\n%s", diff)
	}
	if v.Diagnosis.Schema != doctor.Schema {
		t.Error("the diagnosis, which others share, was changed")
	}
}

func TestBeforeTheFirstDiagnosisTheDocumentSaysThatThereIsNone(t *testing.T) {
	failed := emptyView()
	failed.Collectors[tally.Doctor] = tally.Health{Known: true, Error: "read /proc/cpuinfo: no such file"}
	for name, c := range map[string]struct {
		view tally.View
		says string
	}{"just started": {emptyView(), "no verdict yet: the monitor has just been started"}, "the doctor failed": {failed, "could not examine this machine: read /proc/cpuinfo: no such file"}} {
		var d struct {
			Status  string
			Summary string
			Host    string
			Trusts  string `json:"kernel_trusts_tsc"`
			Monitor struct {
				Examined *time.Time
				Watch    map[string]any
			}
		}
		if err := json.Unmarshal([]byte(statusOfView(t, c.view)), &d); err != nil {
			t.Fatal(err)
		}
		if d.Status != "unknown" || !strings.Contains(d.Summary, c.says) || d.Host != "web-7" || d.Trusts != "unknown" || d.Monitor.Examined != nil {
			t.Errorf("%s: %+v", name, d)
		}
		if _, there := d.Monitor.Watch["skew_ppm"]; there {
			t.Errorf("%s: there is a skew before the first comparison", name)
		}
	}
}

func TestNothingInTheDocumentIsNull(t *testing.T) {
	for name, v := range map[string]tally.View{"nothing": {}, "just started": emptyView(), "well": healthy(t), "fallen": condemned(t), "large": largeView(t)} {
		a := aboutTest()
		if name == "nothing" {
			a = About{}
		}
		b, err := Status(v, a, theTime)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if i := strings.Index(string(b), "null"); i >= 0 {
			t.Errorf("%s: %s", name, b[max(0, i-60):i+4])
		}
	}
}

func TestWhatWasNotMeasuredHasNoNumber(t *testing.T) {
	v := emptyView()
	v.History = []tally.Point{{At: theTime, ReadBacks: 2, DelayNS: 100, MaxNS: 200, ReadNS: 5, SkewPPM: 7}}
	var d struct{ History []map[string]any }
	if err := json.Unmarshal([]byte(statusOfView(t, v)), &d); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{"at": "2026-03-05T18:30:40+01:00", "read_backs": 2.0, "readback_delay_median_ns": 100.0, "readback_delay_max_ns": 200.0, "prices": 0.0, "skews": 0.0}}
	if diff := cmp.Diff(want, d.History); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
