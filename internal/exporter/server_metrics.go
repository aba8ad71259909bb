package exporter

import "github.com/prometheus/client_golang/prometheus"

// The names of the metrics of the server.
const (
	evictedName  = "cswatch_http_connections_evicted_total"
	failuresName = "cswatch_http_scrape_failures_total"
)

// ServerMetrics describes the metrics of a [Server] about itself.
func ServerMetrics() []Metric {
	return []Metric{
		{Name: evictedName, Type: Counter, Help: "Connections that were closed because there were too many and they had kept the server waiting longest.",
			Note: "Somebody keeps hundreds of connections open; whoever asks is served all the same."},
		{Name: failuresName, Type: Counter, Help: "Scrapes for which some metric could not be gathered or encoded.",
			Note: "The others are served; the log of the program says which one, and why."},
	}
}

// Describe implements [prometheus.Collector].
func (s *Server) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, out) }

// Collect implements [prometheus.Collector].
func (s *Server) Collect(out chan<- prometheus.Metric) {
	counts := map[string]uint64{evictedName: s.evictions.Load(), failuresName: s.failures.Load()}
	for _, m := range ServerMetrics() {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.Name, m.Help, nil, nil), prometheus.CounterValue, float64(counts[m.Name]))
	}
}
