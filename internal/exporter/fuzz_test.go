package exporter

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/cswatch/cswatch/internal/tally"
)

// Whatever lies where the state of an earlier run should: it is refused, or what is shown of it is whole,
// with no label beyond the documented ones, and it is gone on with a second time.
func FuzzRestoredState(f *testing.F) {
	b, err := json.Marshal(fallen().State())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema":"cswatch.monitor-state/v1","boot_id":"b"}`))
	f.Add([]byte(`{"schema":"cswatch.monitor-state/v1","boot_id":"b","clocksources":{"current":"zork","seen":["hpet","tsc"],"switches":[{"from":"none","to":"tsc","count":3}]},"kernel_log":{"kinds":{"switched":2}}}`))
	known := map[string]Metric{}
	for _, m := range Metrics() {
		known[m.Name] = m
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s tally.State
		if json.Unmarshal(b, &s) != nil {
			return
		}
		y, err := tally.Restore(s)
		if err != nil {
			return
		}
		families, err := registry(t, y).Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, one := range family.GetMetric() {
				for i, l := range one.GetLabel() {
					labels := known[family.GetName()].Labels
					j := slices.IndexFunc(labels, func(k Label) bool { return k.Name == l.GetName() })
					if j < 0 || labels[j].Values != nil && !slices.Contains(labels[j].Values, l.GetValue()) {
						t.Errorf("%s: label %d is %s=%q", family.GetName(), i, l.GetName(), l.GetValue())
					}
				}
			}
		}
		if _, err := Status(y.View(), About{}, noon); err != nil {
			t.Error(err)
		}
		if _, err := tally.Restore(y.State()); err != nil {
			t.Errorf("its own state is refused: %v", err)
		}
	})
}
