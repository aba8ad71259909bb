package alerting

import "github.com/cswatch/cswatch/internal/exporter"

// Metrics lists what `cswatch monitor` exports, and what of the Go and process collectors the dashboard shows.
func Metrics() []Metric {
	var all []Metric
	for _, m := range exporter.Metrics() {
		metric := Metric{Name: m.Name, Type: string(m.Type), Labels: map[string][]string{}}
		for _, l := range m.Labels {
			metric.Labels[l.Name] = l.Values
		}
		all = append(all, metric)
	}
	return append(all,
		Metric{"process_cpu_seconds_total", "counter", nil},
		Metric{"process_resident_memory_bytes", "gauge", nil},
	)
}
