package sim

import (
	"testing"

	"github.com/cswatch/cswatch/watchdog"
)

// A good TSC is not condemned for a skew, whatever disturbs a machine: counters
// stand together in a pause, also where other CPUs' reads are waited for.
func TestPausesWhileOthersReadMakeNoSkew(t *testing.T) {
	const text = "machine m\ncpus 8\ntsc 3 GHz\nreference hpet 24 MHz\nread const 200us\nshows 0\n" +
		"process p pause\n rate 2000/s\n length const 5ms\nprocess r readers\n count 3\n rate 5000/s\n length const 1s\n"
	for _, era := range []watchdog.Era{watchdog.E4, watchdog.E10, watchdog.E12} {
		if _, tally := run(t, text, era, -1, 300); tally.Unstable > 0 {
			t.Errorf("%s: %d unstable boots, %+v", era, tally.Unstable, tally.Verdict)
		}
	}
}

// Reads that take longer than the boot end it, and nothing hangs.
func TestReadsOfDaysEndTheBoot(t *testing.T) {
	for _, text := range []string{
		"machine m\ncpus 8\ntsc 3 GHz\nreference hpet 24 MHz\nread const 167h\nprocess p freeze\n rate 1/h\n length const 1ms\n",
		"machine m\ncpus 8\ntsc 3 GHz\nreference hpet 24 MHz\nread const 1us\ntsc-read 1s\ncall 1s\nhop 1s\n",
		"machine m\ncpus 8\ntsc 3 GHz\nreference hpet 24 MHz\nread const 1us\nprocess p freeze\n rate 1000/s\n length const 168h\n",
		"machine m\ncpus 8\ntsc 3 GHz\nreference hpet 24 MHz\nread const 1us\nprocess p held-reads\n enter 1\n extra 168h\nprocess q held-reads\n enter 1\n extra 168h\n",
		"machine m\ncpus 8\ntsc 3 GHz\nreference hpet 24 MHz\nwindow 24h\nread const 1us\nprocess p held-reads\n enter 1e-300\n leave 1e-300\n from 168h\n extra 168h\n",
	} {
		for _, p := range allProfiles() {
			c, err := NewCell(parse(t, text), p, -1, Fault{})
			if err != nil {
				t.Fatal(err)
			}
			if tally := c.NewRunner().Run(1, 0, 2); tally.Boots != 2 {
				t.Errorf("%s: %+v", p.Era, tally)
			}
		}
	}
}
