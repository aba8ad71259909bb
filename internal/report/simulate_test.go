package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/simulate"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

func TestSharesKeepTheDigitsThatTellThemFromNothingAndAll(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  string
	}{
		{0, "0 %"}, {1, "100 %"}, {0.105, "10.5 %"}, {0.05, "5.0 %"}, {0.0025, "0.25 %"}, {0.000_012, "0.0012 %"}, {1e-13, "1e-11 %"},
		{0.99, "99.0 %"}, {0.9917, "99.2 %"}, {0.99912, "99.91 %"}, {0.999_999, "99.9999 %"},
	} {
		if got := shareText(c.share); got != c.want {
			t.Errorf("%v: %q, want %q", c.share, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.403_061: "0.403", 1.5: "1.5", 13.67: "13.7", 114: "114", 1234.5: "1234", 0.000_123_4: "0.000123"} {
		if got := short(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

// simulatedCell is a cell of some boots, of which some were unstable.
func simulatedCell(t *testing.T, fault string, boots, unstable, found uint64) SimulatedCell {
	t.Helper()
	m, err := sim.Builtin("e3-1240v5")
	if err != nil {
		t.Fatal(err)
	}
	m.Name = "odd\x1b[31mname"
	p, _ := watchdog.ProfileOf(watchdog.E6)
	f, err := sim.ParseFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate.Result{Spec: simulate.Spec{Model: m, Profile: p, Retries: -1, Fault: f}, Tally: sim.Tally{Boots: boots, Unstable: unstable, Skew: unstable, Detected: found, Checks: 114 * boots, Width: clocksource.NanosPerSecond}}
	if found > 0 {
		if err := r.Tally.Restore(3, found); err != nil {
			t.Fatal(err)
		}
	}
	c, err := SimulatedCellOf(&r, 1, &r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACellWithoutAnEventIsNotCalledNever(t *testing.T) {
	s := &Simulation{Inputs: SimulationInputs{Boots: 1000, Seed: 7}, Cells: []SimulatedCell{simulatedCell(t, "", 1000, 0, 0)}}
	for range 2 {
		var b bytes.Buffer
		if err := SimulationText(&b, s, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "0 of 1000: below 0.38 % with 95 % confidence") || !strings.Contains(b.String(), "seed 7") {
			t.Errorf("%s", b.String())
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("an escape reaches the terminal: %q", b.String())
		}
		s.Cells = append(s.Cells, s.Cells[0], s.Cells[0], s.Cells[0], s.Cells[0]) // as a table
	}
}

func TestNoLineOfThePictureEndsBetweenANumberAndItsPerCent(t *testing.T) {
	cell := simulatedCell(t, "step:+1ms@20s", 100, 50, 50)
	for n := range 80 {
		cell.Machine = strings.Repeat("m", n)
		var b bytes.Buffer
		if err := SimulationCurve(&Simulation{Cells: []SimulatedCell{cell}})(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), ">Whiskers are intervals of 95 %, ") {
			t.Fatalf("a machine with %d letters:\n%s", n, b.String())
		}
	}
}

func TestKernelsThatMayNotWatchATrustedTSCAreSaidToBe(t *testing.T) {
	for _, c := range []struct {
		name string
		SimulatedDesign
		want bool
	}{
		{"an era before 5.16", SimulatedDesign{Era: watchdog.E4}, false},
		{"an era to which 5.16 belongs", SimulatedDesign{Era: watchdog.E5}, true},
		{"its first release", SimulatedDesign{Era: watchdog.E5, Release: "5.14.0"}, false},
		{"a stable release before", SimulatedDesign{Era: watchdog.E5, Release: "5.15.6"}, false},
		{"a stable release since", SimulatedDesign{Era: watchdog.E5, Release: "5.15.7"}, true},
		{"a later era", SimulatedDesign{Era: watchdog.E6}, true},
		{"the newest", SimulatedDesign{Era: watchdog.E12, Release: "7.1.0"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range []*Simulation{
				{Cells: []SimulatedCell{{SimulatedDesign: SimulatedDesign{Era: watchdog.E0}}, {SimulatedDesign: c.SimulatedDesign}}},
				{Inputs: SimulationInputs{Smallest: "step"}, Smallest: []SmallestFault{{SimulatedDesign: c.SimulatedDesign}}},
			} {
				var b bytes.Buffer
				if err := SimulationText(&b, s, TextOptions{}); err != nil {
					t.Fatal(err)
				}
				if got := strings.Contains(b.String(), "do not watch a TSC that is constant"); got != c.want {
					t.Errorf("it is said: %v, want %v\n%s", got, c.want, b.String())
				}
			}
		})
	}
}

func TestTheDocumentOfASimulationHasNoNullAndNoNumberThatIsNone(t *testing.T) {
	for _, s := range []*Simulation{
		{},
		{Cells: []SimulatedCell{simulatedCell(t, "", 100, 0, 0), simulatedCell(t, "step:+1ms@20s", 100, 50, 50), simulatedCell(t, "step:+1ms@20s", 50, 50, 0)}},
	} {
		var b bytes.Buffer
		if err := SimulationJSON(&b, s); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) || strings.Contains(b.String(), "null") {
			t.Errorf("%s", b.String())
		}
		b.Reset()
		if err := SimulationCSV(&b, s); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll() // refuses rows of different lengths
		if err != nil || len(rows) != 1+len(s.Cells) {
			t.Errorf("%v, %d rows", err, len(rows))
		}
	}
}
