package sim

import (
	"testing"

	"github.com/cswatch/cswatch/watchdog"
)

// Boots of 60 s under era 5.15; the issue is boots a second on one core.
func BenchmarkBoot(b *testing.B) {
	for _, c := range []struct {
		name, machine string
		plain         bool
	}{
		{"a quiet machine of 8 CPUs", "healthy-laptop", false},
		{"the same, every check", "healthy-laptop", true},
		{"the RFC's machine", "e3-1240v5", false},
		{"the same, every check", "e3-1240v5", true},
		{"960 CPUs", "xeon-8490h-8s", false},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := Builtin(c.machine)
			if err != nil {
				b.Fatal(err)
			}
			p, _ := watchdog.ProfileOf(watchdog.E5)
			cell, err := NewCell(m, p, -1, Fault{})
			if err != nil {
				b.Fatal(err)
			}
			r := cell.NewRunner()
			r.Plain = c.plain
			b.ReportAllocs()
			n := uint64(0)
			for b.Loop() {
				r.Boot(1, n)
				n++
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "boots/s")
		})
	}
}
