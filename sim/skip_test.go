package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// troubled is a machine with every kind of disturbance, so that nothing is left out
// of what passing checks over might get wrong.
const troubled = `machine troubled
cpus 6
nodes 2
hz 250
tsc 3500 MHz calibrated
reference hpet 24 MHz
read uniform 1us 1.4us
from 1s
phase boot until 14s
phase run
process episodes slow-reads
 rate boot 4/s run 0.1/s
 length exp 1.5ms
 extra normal 59us 10us max 200us
process smi freeze
 rate 0.3/s
 length uniform 50us 900us
process stolen freeze
 scope cpu
 rate 2/s
 length exp 8ms
process late late-timers
 rate 0.5/s
 length exp 60ms
process node freeze
 scope node
 rate 0.2/s
 length exp 400ms
process stall stall
 rate 0.02/s
 length exp 900ms
process pause pause
 rate 0.02/s
 length exp 2s
process serialised slow-clock
 rate 0.3/s
 length exp 40ms
 extra lognormal 80us 1 max 900us
process readers readers
 count 3
 rate 0.2/s
 length exp 300ms
`

func allProfiles() []watchdog.Profile {
	forgive, _ := watchdog.ProfileOf(watchdog.TipForgive)
	return append(watchdog.Profiles(), forgive)
}

// Passing over checks that cannot matter changes nothing: not the outcome, not a
// count, not a bit of the watchdog's state.
func TestPassingChecksOverChangesNothing(t *testing.T) {
	models := []Model{parse(t, troubled), parse(t, strings.NewReplacer("cpus 6", "cpus 1", "nodes 2", "nodes 1").Replace(troubled))}
	for _, name := range []string{"e3-1240v5", "healthy-laptop", "milan-x"} {
		m, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	models = append(models,
		parse(t, strings.Replace(troubled, "machine troubled", "machine held", 1)+"process held held-reads\n from 2.3s\n enter 0.05\n leave 0.2\n extra uniform 20us 900us\n"),
		parse(t, heldMachine(0.02, 0.3, " from 4.1s\n extra uniform 20us 300us\nprocess second held-reads\n from 9s\n enter 0.01\n leave 0.5\n extra 5ms\n")+
			"process pause pause\n rate 0.1/s\n length exp 2s\nprocess late late-timers\n rate 0.2/s\n length exp 400ms\n"),
		parse(t, strings.NewReplacer("machine troubled", "machine cold", "from 1s", "from 1s\nfirst-attempt uniform 10us 20us").Replace(troubled)),
		parse(t, heldMachine(1, 0, " from 8s\n extra 5us\n")))
	passedOver := 0
	for i := range models {
		for _, p := range allProfiles() {
			for _, f := range []string{"none", "frequency:+600ppm@20s", "step:-2ms@33.3s"} {
				t.Run(fmt.Sprintf("%s %d CPUs %s %s", models[i].Name, models[i].CPUs, p.Era, f), func(t *testing.T) {
					fault, err := ParseFault(f)
					if err != nil {
						t.Fatal(err)
					}
					c, err := NewCell(models[i], p, -1, fault)
					if err != nil {
						t.Fatal(err)
					}
					if !c.quiet.can {
						t.Fatal("no check can be passed over")
					}
					quick, plain := c.NewRunner(), c.NewRunner()
					plain.Plain = true
					made := 0
					quick.seen = func(*watchdog.Verdict, clocksource.Nanos) { made++ }
					for boot := range uint64(40) {
						made = 0
						a, b := quick.Boot(5, boot), plain.Boot(5, boot)
						if a != b {
							t.Fatalf("boot %d: quickly %+v, plainly %+v", boot, a, b)
						}
						if quick.state != plain.state {
							t.Fatalf("boot %d: state quickly %+v, plainly %+v", boot, quick.state, plain.state)
						}
						passedOver += int(b.Checks) - made
					}
				})
			}
		}
	}
	if passedOver < 100_000 {
		t.Errorf("%d checks were passed over: the test shows nothing", passedOver)
	}
}

// Where a quiet check might be condemned, retried or skipped, none is passed over.
func TestChecksAreMadeWhereTheyMayMatter(t *testing.T) {
	cases := []struct{ name, from, to string }{
		{"reads without a bound", "read uniform 1us 1.4us", "read exp 1us"},
		{"first attempts without a bound", "from 1s", "from 1s\nfirst-attempt exp 1us"},
		{"first attempts around the limit", "from 1s", "from 1s\nfirst-attempt uniform 1us 60us"},
		{"reads around the limit", "read uniform 1us 1.4us", "read uniform 1us 60us"},
		{"a reference of ticks", "reference hpet 24 MHz", "reference jiffies 250 Hz"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, _ := watchdog.ProfileOf(watchdog.E5)
			cell, err := NewCell(parse(t, strings.Replace(troubled, c.from, c.to, 1)), p, -1, Fault{})
			if err != nil {
				t.Fatal(err)
			}
			if cell.quiet.can {
				t.Error("checks are passed over")
			}
		})
	}
}

func TestTheOrderOfBootsDoesNotMatter(t *testing.T) {
	m, err := Builtin("e3-1240v5")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := watchdog.ProfileOf(watchdog.E5)
	c, err := NewCell(m, p, 3, Fault{})
	if err != nil {
		t.Fatal(err)
	}
	whole := c.NewRunner().Run(9, 0, 600)
	parts := c.NewTally()
	for _, part := range [][2]uint64{{400, 600}, {0, 1}, {250, 400}, {1, 250}} {
		piece := c.NewRunner().Run(9, part[0], part[1])
		parts.Merge(&piece)
	}
	if fmt.Sprint(whole) != fmt.Sprint(parts) {
		t.Errorf("in one piece %+v, in parts %+v", whole, parts)
	}
	if whole.Unstable == 0 || whole.Verdict.Kind != watchdog.CondemnedDelay {
		t.Errorf("%+v", whole)
	}
	early, ok1 := whole.Quantile(0)
	half, ok2 := whole.Quantile(0.5)
	late, ok3 := whole.Quantile(1)
	if !ok1 || !ok2 || !ok3 || !(early <= half && half <= late) || early < 3*second || late > 15*second {
		t.Errorf("quantiles %d, %d, %d", early, half, late)
	}
}
