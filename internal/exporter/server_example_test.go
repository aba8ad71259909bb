package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cswatch/cswatch/internal/exporter"
)

func Example() {
	switches := prometheus.NewCounter(prometheus.CounterOpts{Name: "cswatch_example_switches_total", Help: "Switches of the clocksource."})
	registry := prometheus.NewRegistry()
	registry.MustRegister(switches)
	server, err := exporter.Listen(exporter.Config{
		Addresses: []string{"127.0.0.1:0"}, // a free port
		Gatherer:  registry,
		Status:    func() ([]byte, error) { return []byte(`{"schema": "cswatch.monitor/v1"}`), nil },
		Healthy:   func() error { return errors.New("the live watch made no tick for 10 s") },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry.MustRegister(server) // its own metrics

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx) }()
	for _, path := range []string{"/metrics", "/-/healthy"} {
		answer, err := http.Get("http://" + server.Addresses()[0] + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Printf("%s: %s\n%s", path, answer.Status, body)
	}
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// /metrics: 200 OK
	// # HELP cswatch_example_switches_total Switches of the clocksource.
	// # TYPE cswatch_example_switches_total counter
	// cswatch_example_switches_total 0
	// # HELP cswatch_http_connections_evicted_total Connections that were closed because there were too many and they had kept the server waiting longest.
	// # TYPE cswatch_http_connections_evicted_total counter
	// cswatch_http_connections_evicted_total 0
	// # HELP cswatch_http_scrape_failures_total Scrapes for which some metric could not be gathered or encoded.
	// # TYPE cswatch_http_scrape_failures_total counter
	// cswatch_http_scrape_failures_total 0
	// /-/healthy: 503 Service Unavailable
	// not healthy: the live watch made no tick for 10 s
	// ended: <nil>
}
