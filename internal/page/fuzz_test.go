package page

import (
	"strings"
	"testing"
)

// FuzzDocuments: whatever a file holds, a page comes of it that parses, in which
// nothing is active and nothing leads out.
func FuzzDocuments(f *testing.F) {
	for _, d := range documents(f) {
		if len(d) < 12_000 {
			f.Add(d)
		}
		for line := range strings.Lines(d) {
			if len(line) > 100 {
				f.Add(line)
			}
			break
		}
	}
	for _, s := range []string{
		"", "null", `{"schema":"cswatch.fit/v1"}`, `{"schema":"cswatch.trial-report/v1","series":[{"parameter":"x","values":[1,2],"cells":[{},{"boots":3,"rate":1e300,"rate_low":-1e300,"rate_high":1e300}]}]}`,
		`{"schema":"cswatch.replay/v1","recording":{"first_ns":-1e300,"last_ns":1e300},"columns":[{"era":"E5","clocks":[{"clocksource":"tsc","condemned":{"kind":"condemned-skew","time_ns":9223372036854775807}}]}]}`,
		`{"schema":"cswatch.bench-clock/v1","results":[{"part":"costs","path":"vdso","batches":1,"ns_per_read_median":1e300,"low":-1,"high":1e-300},{"part":"contention","path":"x","batches":1,"cpus":1},{"part":"contention","path":"x","batches":1,"cpus":1000000000}]}`,
		`{"schema":"cswatch.simulate/v1","cells":[{"era":"E5","retries":-5,"fault":"none"},{"era":"E5","retries":9223372036854775807,"rate":1e308,"rate_high":1e308}]}`,
		`{"schema":"cswatch.fit/v1","rows":[{"retries":-1,"rate":-1}],"models":[{"best":true,"curve":[{"retries":1000000000,"rate":1e-300}]}],"recommendation":{"concluded":true,"rate":1e-300,"retries":5}}`,
		`{"schema":"cswatch.tick/v1","kind":"skipped","time_ns":1e300,"readback_delay_ns":1e300,"skew_ppm":-1e300}` + "\n" + `{"schema":"cswatch.tick/v1","time_ns":-1e300,"readback_delay_ns":1e-300}`,
		`{"schema":"cswatch.deep/v1","a":` + strings.Repeat(`[`, 50) + strings.Repeat(`]`, 50) + `}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		p := New("fuzz")
		err := p.Add("file.json", strings.NewReader(input))
		if err == nil && p.Documents() == 0 {
			t.Error("no document and no error")
		}
		page := written(t, p)
		checkPage(t, page)
		shown, _, _ := strings.Cut(page, "<script>")
		if strings.Contains(shown, "NaN") && !strings.Contains(input, "NaN") {
			t.Error("a number of the page is none")
		}
	})
}
