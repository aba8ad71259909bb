package campaign

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// somePlan has a grid with delays, its control, one with faults, and a search.
func somePlan() *Plan {
	delay, _ := ParseDelay("burst in=0.03 out=0.08 120us..300us")
	step, _ := ParseFault("step +1ms")
	rate, _ := ParseFault("rate +5%")
	retries := []string{RetriesParameter + "=0,3,50"}
	return &Plan{
		Schema: PlanSchema, Name: "some", Executor: InQEMU, Seed: 7, Window: Duration(10 * time.Second),
		Grids: []Grid{
			{Kernels: []string{"5.10"}, Set: retries, CPUs: []int{2}, Loads: []string{"none"}, Delays: []Delay{delay}, Faults: []Fault{{}}, Boots: 6},
			{Kernels: []string{"5.10"}, CPUs: []int{2}, Loads: []string{"none"}, Delays: []Delay{{}}, Faults: []Fault{{}}, Boots: 4},
			{Kernels: []string{"5.10", "7"}, CPUs: []int{2, 4}, Loads: []string{"none"}, Delays: []Delay{{}}, Faults: []Fault{step, rate}, Boots: 3},
		},
		Searches: []Search{{Kernels: []string{"5.10"}, CPUs: []int{2}, Loads: []string{"none"}, Fault: "cpu1", Low: Duration(50 * time.Microsecond), High: Duration(2 * time.Millisecond), Ratio: 1.1, Boots: 5}},
	}
}

func TestAPlanIsReadAsItIsWritten(t *testing.T) {
	want := somePlan()
	text, err := want.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"window = '10s'", "delays = ['burst in=0.03 out=0.08 120us..300us']", "faults = ['step +1ms', 'rate +50000ppm']", "low = '50us'"} {
		if !bytes.Contains(text, []byte(line)) {
			t.Errorf("the text has no line %s:\n%s", line, text)
		}
	}
	got, err := ReadPlan(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestAPlanWithoutSenseIsRefused(t *testing.T) {
	text, err := somePlan().Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, with, want string }{
		{"another schema", PlanSchema, "cswatch.campaign/v9", `schema "cswatch.campaign/v9"`},
		{"an executor that does not exist", "'qemu'", "'paper'", `executor "paper"`},
		{"a simulation without a machine", "'qemu'", "'sim'", "a simulated campaign needs one"},
		{"no window", "'10s'", "'0s'", "window 0s"},
		{"a window that is no time", "'10s'", "'ten'", "line 8"},
		{"a word that no plan has", "seed = 7", "sead = 7", `line 6: "sead" is nothing that a plan has`},
		{"a delay that does not exist", "burst in=0.03", "bursts in=0.03", "want none, always TIME"},
		{"a fault of a CPU that is not there", "step +1ms", "cpu4 +1ms", "there is no such CPU"},
		{"no boots", "boots = 6", "boots = 0", "0 boots"},
		{"no CPUs", "cpus = [2, 4]", "cpus = []", "must have one entry at least"},
		{"the same cell in two grids", "delays = ['burst in=0.03 out=0.08 120us..300us']\nfaults = ['none']", "delays = ['burst in=0.03 out=0.08 120us..300us', 'burst in=0.03 out=0.08 120us..300us']\nfaults = ['none']", "is there twice"},
		{"a search upside down", "low = '50us'", "low = '5ms'", "want times in order"},
		{"a search for something else", "fault = 'cpu1'", "fault = 'rate'", "want step or cpuN"},
		{"a parameter with a blank", "=0,3,50", "=0, 3,50", "without blanks"},
		{"no TOML", "schema =", "schema", "line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(string(text), c.old, c.with, 1)
			if changed == string(text) {
				t.Fatalf("%q is not in the plan:\n%s", c.old, text)
			}
			p, err := ReadPlan(strings.NewReader(changed))
			if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("plan %v, error %v", p, err)
			}
		})
	}
}

func TestDelaysAndSavedStatesDoNotGoTogether(t *testing.T) {
	p := somePlan()
	p.Grids[2].Delays = append(p.Grids[2].Delays, p.Grids[0].Delays[0])
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "delays together with the fault step +1ms") {
		t.Error(err)
	}
}

// A plan is an error or a plan that is read again as it was written.
func FuzzReadPlan(f *testing.F) {
	text, err := somePlan().Text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadPlan(strings.NewReader(text))
		if err != nil {
			if p != nil {
				t.Fatal("an error came with a plan")
			}
			return
		}
		out, err := p.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadPlan(bytes.NewReader(out))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		ids := func(p *Plan) (all []string) {
			cells, _ := p.Cells()
			for i := range cells {
				all = append(all, cells[i].Key())
			}
			return all
		}
		if diff := cmp.Diff(ids(p), ids(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}
