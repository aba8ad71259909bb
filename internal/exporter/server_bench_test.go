package exporter

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// countedGatherer counts how often it is gathered from.
type countedGatherer struct {
	prometheus.Gatherer
	n atomic.Int64
}

func (c *countedGatherer) Gather() ([]*dto.MetricFamily, error) {
	c.n.Add(1)
	return c.Gatherer.Gather()
}

// usualRegistry has about as many series as a monitor: 400, with those of the Go runtime and of the process.
func usualRegistry(t testing.TB) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for i := range 10 {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: fmt.Sprintf("cswatch_test_%d_events_total", i), Help: "Events of this boot, by kind, as the log of the kernel tells them.",
		}, []string{"kind", "clocksource"})
		for kind := range 30 {
			c.WithLabelValues(fmt.Sprintf("kind-%d", kind), "tsc").Add(float64(kind))
		}
		r.MustRegister(c)
	}
	for i := range 3 {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: fmt.Sprintf("cswatch_test_%d_readback_seconds", i), Help: "How long a read-back took.",
			Buckets: prometheus.ExponentialBuckets(1e-6, 2, 14),
		})
		h.Observe(60.666e-6)
		r.MustRegister(h)
	}
	return r
}

// BenchmarkScrape is what a gathering costs with its encoding, by form.
func BenchmarkScrape(b *testing.B) {
	for name, f := range map[string]form{"text": plain(0), "text gzipped": packed(0), "OpenMetrics gzipped": packed(1), "protobuf gzipped": packed(2)} {
		b.Run(name, func(b *testing.B) {
			e, _ := newExposition(usualRegistry(b))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.gather(1 << f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScrapeTCP is what a scrape takes a client that keeps its connection.
func BenchmarkScrapeTCP(b *testing.B) {
	for name, clients := range map[string]int{"alone": 1, "64 at a time": 64} {
		b.Run(name, func(b *testing.B) {
			gatherer := &countedGatherer{Gatherer: usualRegistry(b)}
			r := start(b, Config{Gatherer: gatherer})
			b.ReportAllocs()
			b.SetParallelism(clients) // times the number of CPUs
			b.ResetTimer()
			scrape := func(next func() bool) {
				c := r.dial(b)
				buffered := bufio.NewReader(c)
				for next() {
					if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"); err != nil {
						b.Error(err)
						return
					}
					answer, err := http.ReadResponse(buffered, nil)
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 {
						b.Errorf("%s: %v", answer.Status, err)
					}
				}
			}
			if clients == 1 {
				scrape(b.Loop)
			} else {
				b.RunParallel(func(pb *testing.PB) { scrape(pb.Next) })
			}
			b.ReportMetric(float64(gatherer.n.Load())/float64(b.N), "gatherings/op")
		})
	}
}
