package sim_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/sim"
)

// recorded returns the delays, in ns, that kernels saw in the idle boots with two CPUs
// and without programmed delays: of the first attempts, and of all reads that
// follow another but for those.
func recorded(t *testing.T) (first, others []uint64) {
	t.Helper()
	files, err := filepath.Glob("../internal/fidelity/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		boots, err := fidelity.ParseBoots(f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		perAttempt := 3 // reads of the reference
		if strings.HasPrefix(filepath.Base(name), "7.3") {
			perAttempt = 2 // no third one
		}
		for _, b := range boots {
			if b.CPUs != 2 || b.How != "idle, no delays programmed" {
				continue
			}
			for _, c := range b.Checks {
				for i, gap := range c.Gaps {
					ns := gap * 1e9 / uint64(b.HPET)
					switch {
					case i == 0:
						first = append(first, ns)
					case i%perAttempt != perAttempt-1: // the gap between two attempts is no delay
						others = append(others, ns)
					}
				}
			}
		}
	}
	return first, others
}

// The machine qemu-skylake is made of recordings, and has to be made anew with them:
// its tables have the recorded shares below the limits of the eras and below every
// other edge.
func TestTheMachineOfCampaignsHasTheRecordedDelays(t *testing.T) {
	m, err := sim.Builtin("qemu-skylake")
	if err != nil {
		t.Fatal(err)
	}
	first, others := recorded(t)
	for _, c := range []struct {
		name   string
		dist   *sim.Dist
		delays []uint64
		edges  []float64 // us
	}{
		{"first-attempt", m.First, first, []float64{5, 8, 10, 12, 14, 16, 20, 25, 30, 35, 40, 50, 60, 80, 100, 125, 160, 200, 250, 350, 500, 800, 1300, 3000, 5000}},
		{"read", &m.Read, others, []float64{0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 50, 100, 125, 250, 500, 1000}},
	} {
		n := float64(len(c.delays))
		for _, us := range c.edges {
			below := 0.0
			for _, d := range c.delays {
				if float64(d) < us*1000 {
					below++
				}
			}
			// Half a delay on either side of the edge.
			low, high := c.dist.Draw((below-0.5)/n), c.dist.Draw((below+0.5)/n)
			if edge := clocksource.Nanos(math.Round(us * 1000)); low > edge || high < edge {
				t.Errorf("%s: %v of %v recorded delays are below %v us, the machine has %d to %d ns there: count the delays between the edges in models/qemu-skylake.txt anew", c.name, below, n, us, low, high)
			}
		}
		if most, ok := c.dist.Max(); !ok || uint64(most) < maxOf(c.delays) {
			t.Errorf("%s: %d at most", c.name, most)
		}
	}
}

func maxOf(delays []uint64) (most uint64) {
	for _, d := range delays {
		most = max(most, d)
	}
	return most
}
