// Package exporter shows what a monitor knows: as metrics for Prometheus, as a JSON document and as a page.
package exporter
