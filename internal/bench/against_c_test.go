//go:build linux && (amd64 || arm64)

package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/hw"
)

// What both sides do in one run, and how many pairs of runs there are at least.
const (
	pairReads   = 10_000
	pairBatches = 21
	leastPairs  = 21
)

// BenchmarkAgainstC compares the loops of this package with those of a C program,
// testdata/clockloop.c, in pairs of runs on one CPU, one after the other, the order changing from pair to
// pair. It reports the medians of both, and the median of the differences with its 95 % interval; the
// figures agree where that difference is at most limit-ns, which is 3 % or 0.5 ns, whichever is more.
//
//	go test -run '^$' -bench AgainstC -benchtime 51x ./internal/bench
func BenchmarkAgainstC(b *testing.B) {
	program := buildC(b)
	e, err := here()
	if err != nil {
		b.Skip(err)
	}
	cpus, err := hw.AllowedCPUs()
	if err != nil {
		b.Fatal(err)
	}
	ways, absent := loopWays([]string{hw.Monotonic}, true)
	if absent != "" {
		b.Log(absent)
	}
	for _, w := range ways {
		names := []string{w.Path} // as the C program calls it
		switch w.Path {
		case PathInstruction:
			names = []string{w.Instruction}
		case PathVDSO:
			names = append(names, "libc")
		case PathSyscall:
			names = append(names, "libc_syscall")
		}
		for _, name := range names {
			b.Run(name, func(b *testing.B) {
				// The C program is started by the thread that is bound, and inherits that.
				if err := hw.On(cpus[len(cpus)-1], func() { comparePairs(b, &e.rig, w, program, name) }); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

func buildC(b *testing.B) string {
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	program := filepath.Join(b.TempDir(), "clockloop")
	if _, err := exec.LookPath(compiler); err != nil {
		b.Skipf("no C compiler to compare with: %v", err)
	}
	if text, err := exec.Command(compiler, "-O2", "-Wall", "-o", program, "testdata/clockloop.c", "-ldl").CombinedOutput(); err != nil {
		b.Skipf("build testdata/clockloop.c: %v: %s", err, text)
	}
	return program
}

// comparePairs takes a pair of runs in each round of the benchmark.
func comparePairs(b *testing.B, r *rig, w way, program, name string) {
	inGo := func() float64 {
		var batches []Batch
		for i := range pairBatches + 1 {
			x, err := r.timed(w, pairReads)
			if err != nil {
				b.Fatal(err)
			}
			if i > 0 { // the first one warms up
				batches = append(batches, x)
			}
		}
		return CostOf(batches).Median
	}
	inC := func() float64 {
		out, err := exec.Command(program, name, strconv.Itoa(pairReads), strconv.Itoa(pairBatches)).Output()
		if err != nil {
			b.Fatalf("run %s %s: %v", program, name, err)
		}
		price, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			b.Fatal(err)
		}
		return price
	}
	inGo()
	inC()
	var gos, cs, differences []float64
	pair := func() {
		var g, c float64
		if len(gos)%2 == 0 {
			g, c = inGo(), inC()
		} else {
			c, g = inC(), inGo()
		}
		gos, cs, differences = append(gos, g), append(cs, c), append(differences, g-c)
	}
	for b.Loop() {
		pair()
	}
	for len(gos) < leastPairs {
		pair()
	}
	g, c, d := EstimateOf(gos), EstimateOf(cs), EstimateOf(differences)
	b.ReportMetric(0, "ns/op") // of a pair of runs: says nothing
	for _, m := range []struct {
		unit  string
		value float64
	}{
		{"pairs", float64(len(gos))}, {"go-ns", g.Median}, {"c-ns", c.Median}, {"diff-ns", d.Median},
		{"diff-low-ns", d.Low}, {"diff-high-ns", d.High}, {"limit-ns", max(0.03*c.Median, 0.5)},
	} {
		b.ReportMetric(m.value, m.unit)
	}
	slices.Sort(differences)
	b.Logf("differences from %.3f to %.3f ns", differences[0], differences[len(differences)-1])
}
