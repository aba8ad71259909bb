package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/watchdog"
)

func TestFaultsAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]Fault{
		"none":                         {},
		"frequency:+800ppm":            {Kind: Frequency, PPM: 800, On: -1},
		"frequency:-0.5ppm@10s":        {Kind: Frequency, PPM: -0.5, On: -1, From: 10 * second},
		"calibration:+50000ppm":        {Kind: Calibration, PPM: 50_000, On: -1},
		"drift:node1:-50ppm":           {Kind: Drift, PPM: -50, On: 1},
		"halt:cpu2:+100000ppm":         {Kind: Halt, PPM: 100_000, On: 2},
		"step:+1ms@10s":                {Kind: Step, By: msec, On: -1, From: 10 * second},
		"step:cpu1:-300us":             {Kind: Step, By: -300 * usec, On: 1},
		"step:cpu11:+1.5s@500ms":       {Kind: Step, By: 1500 * msec, On: 11, From: 500 * msec},
		"drift:node0:+0.001ppm@1h0m0s": {Kind: Drift, PPM: 0.001, From: 3600 * second},
	} {
		got, err := ParseFault(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if got.String() != text {
			t.Errorf("%s prints as %s", text, got)
		}
	}
	if f, err := ParseFault("calibration:+5%"); err != nil || f.PPM != 50_000 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestTextThatIsNoFaultIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"frequency":             "KIND:AMOUNT",
		"frequency:800":         "a number with ppm or %",
		"frequency:0ppm":        "a number with ppm or %",
		"frequency:+900000ppm":  "half of the time",
		"halt:cpu1:-5%":         "half of the time",
		"halt:10%":              "which cpu",
		"drift:+5ppm":           "which node",
		"drift:cpu1:+5ppm":      "a number behind node",
		"step:cpux:+1ms":        "a number behind cpu",
		"step:1":                "a time with its sign",
		"step:+1ms@later":       "a time behind @",
		"sleep:+1ms":            "want frequency, step",
		"frequency:cpu1:+5ppm":  "KIND:AMOUNT",
		"frequency:+5ppm:extra": "KIND:AMOUNT",
		"calibration:+5%@10s":   "wrong from the start",
	} {
		f, err := ParseFault(text)
		if err == nil || !strings.Contains(err.Error(), want) || !f.None() {
			t.Errorf("%q: %+v, %v; want %q", text, f, err, want)
		}
	}
}

// What is accepted prints and reads back as the same fault.
func FuzzParseFault(f *testing.F) {
	f.Add("frequency:+800ppm")
	f.Add("step:cpu1:-300us@10s")
	f.Add("halt:cpu2:10%")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil {
			return
		}
		back, err := ParseFault(fault.String())
		if err != nil || back != fault {
			t.Errorf("%q is %+v, prints as %q, which is %+v, %v", text, fault, fault, back, err)
		}
	})
}

// A fault within the limits of an era is not found, one beyond them is, by the
// reason that the era has for it.
func TestErasFindTheFaultsThatTheyLookFor(t *testing.T) {
	cases := []struct {
		fault string
		era   watchdog.Era
		found string // "" for not
	}{
		{"frequency:+300ppm@10s", watchdog.E5, ""}, // 150 us in half a second, of 200
		{"frequency:+500ppm@10s", watchdog.E5, "condemned-skew"},
		{"frequency:+500ppm@10s", watchdog.E6, ""}, // of 400
		{"frequency:+900ppm@10s", watchdog.E6, "condemned-skew"},
		{"frequency:+900ppm@10s", watchdog.E9, ""}, // of 500
		{"frequency:-1100ppm@10s", watchdog.E9, "condemned-skew"},
		{"frequency:+600ppm@10s", watchdog.E12, "condemned-skew"}, // 488 ppm and the time of the read
		{"frequency:+400ppm@10s", watchdog.E12, ""},
		{"frequency:+1%@10s", watchdog.E4, ""}, // 62.5 ms
		{"frequency:+20%@10s", watchdog.E4, "condemned-skew"},
		{"calibration:+5%", watchdog.E9, "condemned-skew"},
		{"calibration:+5%", watchdog.E12, "condemned-skew"},
		{"step:-1ms@10s", watchdog.E9, "condemned-skew"},
		{"step:cpu1:+1ms@10s", watchdog.E9, "condemned-skew"}, // the tick comes by
		{"step:cpu1:+100us@10s", watchdog.E9, ""},
		{"step:cpu1:-100us@10s", watchdog.E12, "condemned-cpus"},
		{"step:cpu1:+100us@10s", watchdog.E12, "condemned-cpus"},
		{"halt:cpu3:10%@10s", watchdog.E9, "condemned-skew"},
		{"drift:node1:+50ppm@10s", watchdog.E12, "condemned-cpus"},
		{"drift:node1:+5ppm@10s", watchdog.E9, "condemned-skew"},
	}
	for _, c := range cases {
		fault, err := ParseFault(c.fault)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := watchdog.ProfileOf(c.era)
		text := "machine m\ncpus 4\nnodes 2\ntsc 2 GHz calibrated\nreference hpet 24 MHz\nread uniform 1us 1.5us\nfrom 3s\nwindow 130s\n"
		cell, err := NewCell(parse(t, text), p, -1, fault)
		if err != nil {
			t.Fatal(err)
		}
		const boots = 20
		tally := cell.NewRunner().Run(1, 0, boots)
		got := ""
		if tally.Unstable > 0 {
			got = tally.Verdict.Kind.String()
		}
		if got != c.found || tally.Unstable != 0 && tally.Unstable != boots {
			t.Errorf("%s in %s: %q in %d of %d boots, want %q", c.fault, c.era, got, tally.Unstable, boots, c.found)
		}
		if when, ok := tally.Quantile(1); ok && fault.From > 0 && c.fault != "drift:node1:+5ppm@10s" && c.fault != "drift:node1:+50ppm@10s" && when > 5*second {
			t.Errorf("%s in %s: found after %d ns", c.fault, c.era, when)
		}
	}
}

func TestAFaultOfWhatIsNotThereIsRefused(t *testing.T) {
	p, _ := watchdog.ProfileOf(watchdog.E9)
	m := parse(t, plain)
	for _, text := range []string{"step:cpu2:+1ms", "drift:node1:+1ppm"} {
		f, err := ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewCell(m, p, -1, f); err == nil || !strings.Contains(err.Error(), "has no") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
