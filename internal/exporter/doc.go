// Package exporter shows what a monitor knows: as metrics for Prometheus, as a JSON document and as a page.
//
// It takes a [tally.View], a copy of what is known, whenever somebody asks, and judges nothing: the verdict is the doctor's.
package exporter
