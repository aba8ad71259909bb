package docs

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// keysIn returns the keys in the first column of the tables of a section of a page.
func keysIn(t *testing.T, page, heading string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, cells := range rows(section(t, read(t, folder+"/"+page), heading)) {
		for _, key := range code(cells[0]) {
			found[key] = true
		}
	}
	return found
}

func TestEveryKeyOfARecordingIsDescribedAndNoOther(t *testing.T) {
	cases := []struct {
		page, heading string
		of            []reflect.Type
		beside, below []string // keys that are added; those that are described in the text of another key
		not           reflect.Type
	}{
		{"recordings.md", "## Header", []reflect.Type{reflect.TypeFor[trace.Header]()}, nil,
			[]string{"model", "seed", "mult", "shift", "max_adj", "max_cycles", "max_idle_ns"}, nil},
		{"recordings.md", "## Tick", []reflect.Type{reflect.TypeFor[trace.Tick]()}, nil, nil, nil},
		{"replay.md", "### cswatch.tick/v1", []reflect.Type{reflect.TypeFor[report.Tick]()}, []string{"summary"}, nil, nil},
		{"replay.md", "### cswatch.replay/v1", []reflect.Type{reflect.TypeFor[report.Replay]()}, nil, nil, reflect.TypeFor[report.Tick]()},
		{"replay.md", "### cswatch.trace-verify/v1", []reflect.Type{reflect.TypeFor[report.Verification]()}, nil, nil, reflect.TypeFor[report.ReplayColumn]()},
	}
	for _, c := range cases {
		t.Run(c.heading, func(t *testing.T) {
			want, seen := map[string]bool{}, map[reflect.Type]bool{
				reflect.TypeFor[trace.CPUSet]().Elem(): true, // written as text
			}
			if c.not != nil {
				seen[c.not] = true // described in a section of its own
				if c.page == "replay.md" {
					seen[reflect.TypeFor[trace.Header]()] = true
				}
			}
			if c.heading == "### cswatch.trace-verify/v1" {
				seen[reflect.TypeFor[trace.Report]()] = true
			}
			for _, of := range c.of {
				keysOf(of, want, seen)
			}
			for _, key := range c.beside {
				want[key] = true
			}
			for _, key := range c.below {
				if !want[key] {
					t.Errorf("there is no key %q", key)
				}
				delete(want, key)
			}
			if len(want) < 5 {
				t.Fatalf("only the keys %v were found", sorted(want))
			}
			if diff := cmp.Diff(sorted(want), sorted(keysIn(t, c.page, c.heading))); diff != "" {
				t.Errorf("keys of docs/%s (-emitted +described):\n%s", c.page, diff)
			}
		})
	}
}

func TestEveryDoubtIsDescribed(t *testing.T) {
	names := trace.Doubt(^trace.Doubt(0)).Names()
	if len(names) < 7 {
		t.Fatalf("only the doubts %q", names)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, sorted(keysIn(t, "recordings.md", "## What exact means"))); diff != "" {
		t.Errorf("docs/recordings.md (-doubts +described):\n%s", diff)
	}
}

func TestEveryKindOfVerdictIsDescribed(t *testing.T) {
	text := section(t, read(t, folder+"/replay.md"), "### cswatch.tick/v1")
	for k := watchdog.Initialised; k <= watchdog.AlreadyCondemned; k++ {
		if !slices.Contains(code(text), k.String()) {
			t.Errorf("docs/replay.md does not name the kind %s", k)
		}
	}
}
