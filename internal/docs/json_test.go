package docs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/cli"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/explain"
	"github.com/cswatch/cswatch/internal/host"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/machine"
)

// keysOf returns the JSON keys of a type and of all types in it.
func keysOf(t reflect.Type, found map[string]bool, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	if value, ok := t.FieldByName("Value"); ok && strings.HasPrefix(t.Name(), "Opt[") {
		keysOf(value.Type, found, seen) // encoded as its value
		return
	}
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

// documented returns the keys in the first column of the tables of a section.
func documented(t testing.TB, heading string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, cells := range rows(section(t, read(t, folder+"/json.md"), heading)) {
		for _, key := range code(cells[0]) {
			found[key] = true
		}
	}
	return found
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
		{"## cswatch.log/v1", reflect.TypeFor[event.Event](), []string{"schema"}},
		{"## cswatch.log-stats/v1", reflect.TypeFor[klog.Summary](), []string{"schema", "files"}},
		{"## cswatch.simulate/v1", reflect.TypeFor[report.Simulation](), nil},
		{"## cswatch.simulate-log/v1", reflect.TypeFor[report.SimulatedLog](), nil},
		{"## cswatch.fit/v1", reflect.TypeFor[report.Fit](), nil},
		{"## cswatch.explain/v1", reflect.TypeFor[explain.Entry](), []string{"schema", "query", "entries"}},
		{"## cswatch.snapshot/v1", reflect.TypeFor[machine.Snapshot](), nil},
	}
	for _, c := range cases {
		t.Run(c.heading, func(t *testing.T) {
			want := map[string]bool{}
			keysOf(c.of, want, map[reflect.Type]bool{})
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
