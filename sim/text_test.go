package sim

import (
	"strings"
	"testing"
)

const plain = "machine m\ncpus 2\ntsc 2 GHz\nreference hpet 25 MHz\nread 1us\n"

func TestAMachineIsRead(t *testing.T) {
	m, err := Parse(strings.NewReader("# what it is\n" + plain + `
about a small machine
nodes 2 # published: in a manual
distance 32
hz 1000
shows 0.25
window 30s
phase boot until 10s
phase run
process smi freeze
  scope  node
  rate   boot 6/min run 1/h   # assumed: few
  length exp 60us
process net slow-reads
  rate 2/s
  extra 50us
`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "m" || m.About != "a small machine" || m.CPUs != 2 || m.Nodes != 2 || m.Remote != 32 || m.HZ != 1000 || m.Shows != 0.25 || m.TSC != 2e9 || m.Rate != 25e6 || m.Calibrated {
		t.Errorf("%+v", m)
	}
	if len(m.Phases) != 2 || m.Phases[0].Until != 10e9 || m.Window != 30e9 {
		t.Errorf("%+v", m)
	}
	if p := m.Processes[0]; p.Kind != Freeze || p.Scope != OneNode || p.Rates[0] != 0.1 || p.Rates[1] != 1.0/3600 {
		t.Errorf("%+v", p)
	}
	if p := m.Processes[1]; p.Kind != SlowReads || p.Scope != WholeMachine || p.Rates[0] != 2 || p.Rates[1] != 2 {
		t.Errorf("%+v", p)
	}
	if m.Sources["nodes"] != "published: in a manual" || m.Sources["smi.rate"] != "assumed: few" {
		t.Errorf("%q", m.Sources)
	}
}

func TestTheFirstAttemptMayReadSlower(t *testing.T) {
	m := parse(t, plain+"first-attempt exp 20us max 1ms # measured\n")
	if m.First == nil || m.First.String() != "exp 20us max 1ms" || m.Sources["first-attempt"] != "measured" {
		t.Errorf("%+v", m)
	}
	if m = parse(t, plain); m.First != nil {
		t.Errorf("%+v", m)
	}
}

func TestProgrammedDelaysAreRead(t *testing.T) {
	m := parse(t, plain+"process held held-reads\n from 2s\n enter 0.03\n leave 8e-2\n extra uniform 120us 300us # assumed\n")
	if p := m.Processes[0]; p.Kind != HeldReads || p.From != 2e9 || p.Enter != 0.03 || p.Leave != 0.08 || p.Extra.String() != "uniform 120us 300us" || m.Sources["held.extra"] != "assumed" {
		t.Errorf("%+v", p)
	}
}

func TestTextThatIsNoMachineIsRefused(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"nothing", "", `no line "machine NAME"`},
		{"an unknown parameter", plain + "colour red", "line 6: colour: this is no parameter"},
		{"a parameter given twice", plain + "cpus 3", "cpus is given twice"},
		{"an attribute before its process", plain + "  rate 1/s", `"rate" stands before the first process`},
		{"an unknown attribute", plain + "process a freeze\n colour red", "a.colour: this is no parameter of a process"},
		{"an unknown kind", plain + "process a magic", `"magic" is no kind`},
		{"an unknown scope", plain + "process a freeze\n scope socket", `scope "socket"`},
		{"a rate without its unit", plain + "process a freeze\n rate 3", `"3" is no rate`},
		{"a rate of an unknown phase", plain + "phase run\nprocess a freeze\n rate boot 1/s", `"boot" is no phase`},
		{"half a pair", plain + "phase run\nprocess a freeze\n rate run 1/s x", "pairs of a phase and a rate"},
		{"phases that do not follow each other", plain + "phase a until 5s\nphase b until 3s\nphase c", "phases follow each other"},
		{"a last phase that ends", plain + "phase a until 5s", "the last one has no end"},
		{"no CPUs", strings.Replace(plain, "cpus 2", "cpus 0", 1), "0 CPUs"},
		{"a CPU that is no number", strings.Replace(plain, "cpus 2", "cpus two", 1), "cpus: "},
		{"more nodes than CPUs", plain + "nodes 3", "3 nodes"},
		{"an unknown reference", strings.Replace(plain, "hpet", "sundial", 1), `reference "sundial"`},
		{"a frequency without its unit", strings.Replace(plain, "2 GHz", "2 G", 1), "is no frequency"},
		{"a TSC of half a kHz", strings.Replace(plain, "2 GHz", "2000000500 Hz", 1), "whole kHz"},
		{"a window before its beginning", plain + "from 70s", "watched from 1m10s to 1m0s"},
		{"a stall of one CPU", plain + "process a stall\n scope cpu", "a stall is of the whole machine"},
		{"readers without a count", plain + "process a readers", "0 readers"},
		{"a count of what is none", plain + "process a freeze\n count 2", "2 readers"},
		{"a read of years", strings.Replace(plain, "read 1us", "read 600000h", 1), "is too long"},
		{"a TSC that takes hours to read", plain + "tsc-read 2h", "tsc-read of 2h0m0s: want a second at most"},
		{"a billion readers", plain + "process a readers\n count 1000000000", "1000000000 readers"},
		{"a first attempt without a distribution", plain + "first-attempt", "first-attempt: distribution"},
		{"a probability above 1", plain + "process a held-reads\n enter 1.5", `a.enter: "1.5" is no probability`},
		{"a probability that is none", plain + "process a held-reads\n leave NaN", `a.leave: "NaN" is no probability`},
		{"two probabilities", plain + "process a held-reads\n enter 0.1 0.2", "a.enter: this is no parameter of a process"},
		{"a beginning that is no time", plain + "process a held-reads\n from 2", `a.from: "2" is no time`},
		{"reads that are held at a rate", plain + "process a held-reads\n rate 2/s", "want enter and leave"},
		{"reads that are held for a length", plain + "process a held-reads\n length exp 1ms", "a length in a process of kind held-reads"},
		{"reads that are held on a CPU", plain + "process a held-reads\n scope cpu", "scope cpu: held-reads"},
		{"a probability of what has none", plain + "process a freeze\n enter 0.1", "they are of held-reads"},
		{"a beginning of what has none", plain + "process a freeze\n from 2s", "they are of held-reads"},
		{"a read that shows the future", plain + "shows 1.5", "after 1.5 of its time"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || m.Name != "" {
				t.Errorf("machine %q, error %v, want %q", m.Name, err, c.want)
			}
		})
	}
}

// Each number of a machine that comes with cswatch says where it comes from.
func TestBuiltInMachinesNameTheirSources(t *testing.T) {
	names := BuiltinNames()
	for _, want := range []string{"e3-1240v5", "healthy-laptop", "milan-x", "qemu-skylake", "qemu-tcg-8on2", "xeon-8490h-8s"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("no machine %s", want)
		}
	}
	for _, name := range names {
		m, err := Builtin(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.Name != name || m.About == "" {
			t.Errorf("%s calls itself %s, %q", name, m.Name, m.About)
		}
		text, _ := BuiltinText(name)
		process := ""
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) == 0 || line[0] == '#' {
				continue
			}
			key := fields[0]
			switch {
			case key == "machine" || key == "about" || key == "phase":
				continue
			case key == "process":
				process = fields[1]
				continue
			case line[0] == ' ':
				key = process + "." + key
			}
			kind, _, _ := strings.Cut(m.Sources[key], ":")
			if kind != "measured" && kind != "published" && kind != "assumed" {
				t.Errorf("%s: %s has the source %q", name, key, m.Sources[key])
			}
		}
	}
	if _, err := Builtin("abacus"); err == nil || !strings.Contains(err.Error(), "e3-1240v5") {
		t.Errorf("error %v", err)
	}
}

// A text is a valid machine or an error, and every machine can be made a cell and booted.
func FuzzParse(f *testing.F) {
	for _, name := range BuiltinNames() {
		text, _ := BuiltinText(name)
		f.Add(string(text))
	}
	f.Add(plain + "process a held-reads\n from 2s\n enter 0.03\n leave 0.08\n extra pareto 120us 1.5 max 3s\n")
	f.Add(plain + "process a pause\n rate 5/s\n length 1ms\nprocess b late-timers\n rate 1/s\n length 1s\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(strings.NewReader(text))
		if err != nil {
			if m.Name != "" {
				t.Fatal("an error came with a machine")
			}
			return
		}
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
