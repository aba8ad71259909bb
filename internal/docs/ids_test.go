package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/explain"
	"github.com/cswatch/cswatch/internal/unpack"
	"github.com/cswatch/cswatch/klog"
)

// known returns the ids of one class that explain knows.
func known(class explain.Class) []string {
	var ids []string
	for _, e := range explain.All() {
		if e.Class == class {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func TestEveryFindingHasItsRowAndItsAdviceIsKnown(t *testing.T) {
	advice := known(explain.Advice)
	var listed []string
	for _, cells := range rows(section(t, read(t, folder+"/verdicts.md"), "## Findings")) {
		if len(cells) != 5 {
			t.Errorf("row %q has %d cells, want 5", cells[0], len(cells))
			continue
		}
		listed = append(listed, code(cells[0])...)
		for _, id := range code(cells[4]) {
			if !slices.Contains(advice, id) {
				t.Errorf("row %s: %q is no advice", cells[0], id)
			}
		}
	}
	want := known(explain.Finding)
	slices.Sort(want)
	slices.Sort(listed)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("findings in docs/verdicts.md (-known +listed):\n%s", diff)
	}
}

func TestFindingsInTheTablesOfRulesAreKnown(t *testing.T) {
	text := read(t, folder+"/verdicts.md")
	ids := known(explain.Finding)
	n := 0
	for _, heading := range []string{"## Skew", "## Other accusations"} {
		for _, cells := range rows(section(t, text, heading)) {
			for _, id := range code(cells[len(cells)-1]) {
				if n++; !slices.Contains(ids, id) {
					t.Errorf("%s: %q is no finding", heading, id)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d findings stand in the tables of rules", n)
	}
}

func TestEveryAdviceOfTheSafetyFilterIsKnown(t *testing.T) {
	advice := known(explain.Advice)
	all := rows(section(t, read(t, folder+"/verdicts.md"), "## The safety filter"))
	if len(all) < 8 {
		t.Fatalf("only %d rows", len(all))
	}
	for _, cells := range all {
		for _, id := range code(cells[0]) {
			if !slices.Contains(advice, id) {
				t.Errorf("%q is no advice", id)
			}
		}
	}
}

// fieldsOfKinds reads the tables of kinds: kind to its fields.
func fieldsOfKinds(t *testing.T) map[event.Kind][]string {
	t.Helper()
	fields := map[event.Kind][]string{}
	for _, cells := range rows(section(t, read(t, folder+"/reading-logs.md"), "## Kinds of event")) {
		for _, k := range code(cells[0]) {
			fields[event.Kind(k)] = code(cells[len(cells)-1])
		}
	}
	return fields
}

func TestEveryKindOfEventHasItsRowAndKnownFields(t *testing.T) {
	fields := fieldsOfKinds(t)
	for _, k := range event.Kinds() {
		if _, ok := fields[k]; !ok {
			t.Errorf("docs/reading-logs.md lacks the kind %q", k)
		}
	}
	if len(fields) != len(event.Kinds()) {
		t.Errorf("docs/reading-logs.md lists %d kinds, there are %d", len(fields), len(event.Kinds()))
	}
	keys := map[string]bool{}
	keysOf(reflect.TypeFor[event.Event](), keys, map[reflect.Type]bool{})
	for k, names := range fields {
		for _, name := range names {
			if !keys[name] {
				t.Errorf("%s: %q is no field of an event", k, name)
			}
		}
	}
}

// TestFieldsOfKindsAreThoseOfRealLogs reads the logs of the diagnosis tests: no
// event may carry a field that the page does not list for its kind.
func TestFieldsOfKindsAreThoseOfRealLogs(t *testing.T) {
	fields := fieldsOfKinds(t)
	logs, err := filepath.Glob(root + "/internal/doctor/testdata/cases/*")
	if err != nil || len(logs) < 20 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	common := []string{"kind", "source", "time", "text", "level", "cut"}
	told := map[string]bool{}
	for _, name := range logs {
		for _, e := range events(t, name) {
			b, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var keys map[string]json.RawMessage
			if err := json.Unmarshal(b, &keys); err != nil {
				t.Fatal(err)
			}
			for key := range keys {
				id := string(e.Kind) + " " + key
				if told[id] || slices.Contains(common, key) || slices.Contains(fields[e.Kind], key) {
					continue
				}
				told[id] = true
				t.Errorf("%s line %d: an event of kind %s has the field %s, which docs/reading-logs.md does not list", filepath.Base(name), e.Source.Line, e.Kind, key)
			}
		}
	}
}

func events(t *testing.T, name string) []event.Event {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, _, err := unpack.Reader(f, name)
	if err != nil {
		t.Fatal(err)
	}
	var all []event.Event
	r := klog.NewReader(in, name)
	for r.Next() {
		all = append(all, r.Event())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryExampleLineIsOfItsContainer(t *testing.T) {
	text := section(t, read(t, folder+"/reading-logs.md"), "## Containers")
	seen := map[string]bool{}
	check := func(format, example string) {
		t.Helper()
		seen[format] = true
		r := klog.NewReader(strings.NewReader(example), "example")
		n := 0
		for r.Next() {
			n++
			if e := r.Event(); e.Kind != event.Switched || e.Clocksource != "hpet" || e.Source.Format != format {
				t.Errorf("%s: the example is read as %s of %q in %s", format, e.Kind, e.Clocksource, e.Source.Format)
			}
		}
		if n != 1 {
			t.Errorf("%s: the example gives %d events, want 1: %s", format, n, example)
		}
	}
	for _, cells := range rows(text) {
		format, example := code(cells[0]), code(cells[1])
		if len(format) != 1 || len(example) != 1 {
			t.Errorf("row %q: want one container and one example", cells)
			continue
		}
		check(format[0], example[0])
	}
	blocks, _ := fences(text)
	for _, b := range blocks {
		if format, ok := strings.CutPrefix(b.info, "text "); ok {
			check(format, strings.Join(b.lines, "\n")+"\n")
		}
	}
	for _, format := range []string{
		klog.FormatPlain, klog.FormatDmesg, klog.FormatDmesgT, klog.FormatDmesgH, klog.FormatDmesgJSON, klog.FormatSyslog, klog.FormatRFC5424,
		klog.FormatJournal, klog.FormatJournalJSON, klog.FormatExport, klog.FormatKmsg, klog.FormatNetconsole, klog.FormatLogcat, klog.FormatPstore,
		klog.FormatDockerJSON, klog.FormatCRI, klog.FormatJSON, klog.FormatKlog, klog.FormatHTML,
	} {
		if !seen[format] {
			t.Errorf("docs/reading-logs.md has no example of the container %q", format)
		}
	}
}
