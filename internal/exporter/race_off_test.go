//go:build !race

package exporter

const underRace = false
