package simulate

import (
	"context"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

func TestAFaultWhereNoCheckComesIsKnown(t *testing.T) {
	const s = clocksource.NanosPerSecond
	for _, c := range []struct {
		name, machine string
		era           watchdog.Era
		fault         string
		want          Unvisited
	}{
		{"a node behind the last check", "xeon-8490h-8s", watchdog.E5, "drift:node1:+5%@10s", Unvisited{"a CPU of node 1", 113, 70 * s}},
		{"the last node", "xeon-8490h-8s", watchdog.E11, "drift:node7:+5%@10s", Unvisited{"a CPU of node 7", 113, 430 * s}},
		{"the other half of two", "milan-x", watchdog.E6, "drift:node1:+5%@10s", Unvisited{"a CPU of node 1", 113, 70 * s}},
		{"the first CPU that no check comes to", "milan-x", watchdog.E5, "step:cpu113:+10ms@10s", Unvisited{"CPU 113", 113, 70 * s}},
		{"a peer that is not asked", "milan-x", watchdog.E12, "halt:cpu200:10%", Unvisited{"CPU 200", 113, 110 * s}},
		{"a CPU that was passed before", "milan-x", watchdog.E5, "step:cpu3:+10ms@10s", Unvisited{"CPU 3", 113, 140 * s}},
		{"an era that looks from CPU 0 only", "e3-1240v5", watchdog.E0, "halt:cpu1:10%", Unvisited{"CPU 1", 1, 0}},
		{"the last CPU that a check comes to", "milan-x", watchdog.E5, "step:cpu112:+10ms@10s", Unvisited{}},
		{"the node that comes first", "xeon-8490h-8s", watchdog.E5, "drift:node0:+5%@10s", Unvisited{}},
		{"CPU 0, which all others are compared with", "milan-x", watchdog.E12, "halt:cpu0:10%@50s", Unvisited{}},
		{"few CPUs", "e3-1240v5", watchdog.E5, "step:cpu7:+10ms@10s", Unvisited{}},
		{"all CPUs", "xeon-8490h-8s", watchdog.E5, "step:+10ms@10s", Unvisited{}},
		{"no fault", "xeon-8490h-8s", watchdog.E5, "", Unvisited{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sp := spec(t, c.machine, c.era, -1, c.fault)
			got, ok := sp.Unvisited()
			if got != c.want || ok != (c.want != Unvisited{}) {
				t.Errorf("%+v, %v, want %+v", got, ok, c.want)
			}
			if !ok {
				return
			}
			detected := func(s Spec) uint64 {
				all, err := (&Runner{Seed: 1, Boots: 20, Jobs: 1}).Cells(context.Background(), []Spec{s})
				if err != nil {
					t.Fatal(err)
				}
				return all[0].Tally.Detected
			}
			if n := detected(sp); n > 0 {
				t.Errorf("it is detected in %d boots", n)
			}
			if got.Window > 0 && c.era != watchdog.E6 { // which skips checks of this machine
				longer := sp
				longer.Model.Window = got.Window
				if n, ok := longer.Unvisited(); ok {
					t.Errorf("with the window that is named: %+v", n)
				}
				if detected(longer) == 0 {
					t.Errorf("with the window that is named it is not detected either")
				}
			}
		})
	}
}
