package docs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/cli"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/explain"
	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/hook"
	"github.com/cswatch/cswatch/internal/host"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
)

// keysOf returns the JSON keys of a type and of all types in it.
func keysOf(t reflect.Type, found map[string]bool, seen map[reflect.Type]bool) {
	if value, ok := optional(t); ok {
		keysOf(value, found, seen) // encoded as its value
		return
	}
	if leaf(t) {
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		keysOf(t.Elem(), found, seen)
		return
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() && !f.Anonymous, name == "-":
			continue
		case name == "" && !f.Anonymous:
			name = f.Name
		}
		if name != "" {
			found[name] = true
		}
		keysOf(f.Type, found, seen)
	}
}

// optional returns the type of the value of an event.Opt.
func optional(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.Name(), "Opt[") {
		return nil, false
	}
	value, ok := t.FieldByName("Value")
	return value.Type, ok
}

// leaf reports whether a type writes its own JSON and that has no keys: text always,
// anything else if its zero value is a string, a number or a bool. A null may stand
// for an object.
func leaf(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false // what it points to decides
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		b, err := json.Marshal(reflect.Zero(t).Interface())
		return err == nil && !strings.ContainsAny(string(b[:1]), "{[n")
	}
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// documented returns the keys in the first column of the tables of a section of json.md.
func documented(t testing.TB, heading string) map[string]bool {
	t.Helper()
	return documentedIn(t, "json.md", heading)
}

func documentedIn(t testing.TB, page, heading string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, cells := range rows(section(t, read(t, folder+"/"+page), heading)) {
		for _, key := range code(cells[0]) {
			found[key] = true
		}
	}
	return found
}

// inText, inNumber and inObject write their own JSON.
type (
	inText   struct{ Hidden int }
	inNumber struct{ Hidden int }
	inObject struct{ Shown int }
)

func (inText) MarshalText() ([]byte, error)   { return []byte("text"), nil }
func (inNumber) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (o inObject) MarshalJSON() ([]byte, error) {
	type plain inObject
	return json.Marshal(plain(o))
}

func TestTheKeysOfATypeAreThoseThatItsJSONHas(t *testing.T) {
	type inner struct {
		Deep int `json:"deep"`
	}
	type document struct {
		Text    inText           `json:"text"`
		Texts   []inText         `json:"texts"`
		Number  *inNumber        `json:"number"`
		Object  *inObject        `json:"object"`
		Maybe   event.Opt[inner] `json:"maybe"`
		Times   map[string]inner `json:"times"`
		Nothing int              `json:"-"`
	}
	found := map[string]bool{}
	keysOf(reflect.TypeFor[document](), found, map[reflect.Type]bool{})
	want := []string{"Shown", "deep", "maybe", "number", "object", "text", "texts", "times"}
	if diff := cmp.Diff(want, sorted(found)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func sorted(set map[string]bool) []string {
	var list []string
	for k := range set {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func TestEveryJSONKeyOfADocumentIsDescribedAndNoOther(t *testing.T) {
	cases := []struct {
		heading string
		of      reflect.Type
		besides []string // keys that the command adds
	}{
		{"## cswatch.doctor/v1", reflect.TypeFor[doctor.Diagnosis](), nil},
		{"## cswatch.monitor/v1", reflect.TypeFor[exporter.StatusDocument](), nil},
		{"## cswatch.log/v1", reflect.TypeFor[event.Event](), []string{"schema"}},
		{"## cswatch.log-stats/v1", reflect.TypeFor[klog.Summary](), []string{"schema", "files"}},
		{"## cswatch.simulate/v1", reflect.TypeFor[report.Simulation](), nil},
		{"## cswatch.simulate-log/v1", reflect.TypeFor[report.SimulatedLog](), nil},
		{"## cswatch.fit/v1", reflect.TypeFor[report.Fit](), nil},
		{"## cswatch.bench-clock/v1", reflect.TypeFor[report.ClockBench](), nil},
		{"## cswatch.bench-profile/v1", reflect.TypeFor[report.ProfileBench](), nil},
		{"## cswatch.bench-model/v1", reflect.TypeFor[report.ModelBench](), nil},
		{"## cswatch.bench-net/v1", reflect.TypeFor[report.NetBench](), nil},
		{"## cswatch.trial-report/v1", reflect.TypeFor[report.Campaign](), nil},
		{"## cswatch.trial-status/v1", reflect.TypeFor[report.TrialStatus](), nil},
		{"## cswatch.trial-comparison/v1", reflect.TypeFor[report.TrialComparisons](), nil},
		{"## cswatch.event/v1", reflect.TypeFor[hook.Event](), []string{"schema", "id", "text"}},
		{"## cswatch.explain/v1", reflect.TypeFor[explain.Entry](), []string{"schema", "query", "entries"}},
		{"## cswatch.snapshot/v1", reflect.TypeFor[machine.Snapshot](), nil},
	}
	// Documents that may stand within others.
	nested := []reflect.Type{reflect.TypeFor[doctor.Diagnosis](), reflect.TypeFor[report.ProfileBench](), reflect.TypeFor[report.ModelBench]()}
	for _, c := range cases {
		t.Run(c.heading, func(t *testing.T) {
			want, seen := map[string]bool{}, map[reflect.Type]bool{}
			for _, other := range cases {
				if other.of != c.of && slices.Contains(nested, other.of) {
					seen[other.of] = true // described in a section of its own
				}
			}
			keysOf(c.of, want, seen)
			for _, key := range c.besides {
				want[key] = true
			}
			if len(want) < 8 {
				t.Fatalf("only %d keys were found in %v", len(want), c.of)
			}
			if diff := cmp.Diff(sorted(want), sorted(documented(t, c.heading))); diff != "" {
				t.Errorf("keys of the section in docs/json.md (-emitted +described):\n%s", diff)
			}
		})
	}
}

// emitted returns the keys of a document and of all objects in it, but not of
// objects whose keys are data.
func emitted(t *testing.T, document []byte) map[string]bool {
	t.Helper()
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatalf("%v in %.200s", err, document)
	}
	found := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				found[k] = true
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	return found
}

func describes(t *testing.T, heading string, document []byte) {
	t.Helper()
	known := documented(t, heading)
	keys := emitted(t, document)
	if len(keys) < 2 {
		t.Fatalf("the document has only the keys %v", sorted(keys))
	}
	for _, key := range sorted(keys) {
		if !known[key] {
			t.Errorf("docs/json.md: section %q lacks the key %q", heading, key)
		}
	}
}

func TestTheColumnsOfTheCSVOfACampaignAreDescribedInTheirOrder(t *testing.T) {
	plan := &campaign.Plan{Schema: campaign.PlanSchema, Executor: campaign.InQEMU, Window: campaign.Duration(time.Second)}
	c, err := report.CampaignOf(plan, nil, nil, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.TrialCSV(&out, c); err != nil {
		t.Fatal(err)
	}
	columns, err := csv.NewReader(&out).Read()
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for _, cells := range rows(section(t, read(t, folder+"/json.md"), "## The CSV of a campaign")) {
		described = append(described, code(cells[0])...)
	}
	if diff := cmp.Diff(columns, described); diff != "" {
		t.Errorf("columns in docs/json.md (-written +described):\n%s", diff)
	}
}

func TestTheVersionDocumentIsDescribed(t *testing.T) {
	var out, errs bytes.Buffer
	if code := cli.Run([]string{"version", "--format", "json"}, nil, &out, &errs); code != 0 {
		t.Fatalf("code %d: %s", code, errs.String())
	}
	describes(t, "## cswatch.version/v1", out.Bytes())
}

func TestTheListOfDiagnosesIsDescribed(t *testing.T) {
	var out bytes.Buffer
	if err := report.JSONList(&out, nil); err != nil {
		t.Fatal(err)
	}
	describes(t, "## cswatch.doctor-list/v1", out.Bytes())
}

func TestTheManifestOfAnArchiveIsDescribed(t *testing.T) {
	src := fstest.MapFS{
		"proc/version": {Data: []byte("Linux version 6.1.192\n")},
		"proc/cmdline": {Data: []byte("root=UUID=6e0c5a3e-16a4-4b2a-9f0f-0f1f7c4a1a11 ro\n")},
		"proc/1/comm":  {Data: []byte("chronyd\n")},
	}
	opt := host.CollectOptions{Version: "v1", KernelLog: strings.NewReader("line\n")}
	opt.Kind, opt.Arch = machine.KindLive, "x86_64"
	opt.Cost = &machine.Cost{ReadNS: 20, Clocksource: "tsc"}
	opt.Adjtimex = func() (host.ClockState, error) { return host.ClockState{Synchronised: true, MaxErrorNS: 1}, nil }
	var packed bytes.Buffer
	if _, err := host.Write(&packed, src, opt); err != nil {
		t.Fatal(err)
	}
	describes(t, "## cswatch.collect/v1", entry(t, &packed, "cswatch/collect.json"))
}

// entry returns one file of an archive.
func entry(t *testing.T, packed io.Reader, name string) []byte {
	t.Helper()
	zr, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s is not in the archive", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == name {
			b, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
}
