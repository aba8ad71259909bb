//go:build race

package exporter

// underRace tells that the race detector is at work, which makes all things
// several times as slow and as large.
const underRace = true
