package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/perf"
	"github.com/cswatch/cswatch/machine"
	"github.com/rogpeppe/go-internal/txtar"
)

// seenAt makes a stack of one function.
func seenAt(pid int32, command string, cpu uint32, object, symbol string, samples int64) perf.Stack {
	kernel := object == "[kernel]"
	return perf.Stack{
		PID: pid, Command: command, CPU: cpu, Frames: []perf.Frame{{Object: object, Symbol: symbol, Kernel: kernel}},
		Weight: perf.Weight{Samples: samples, Sum: float64(samples), Squares: float64(samples)},
	}
}

func nameless(s perf.Stack) perf.Stack {
	s.Frames[0].Why = "the file is stripped"
	return s
}

// hotProfile is the profile of a machine whose clock is the HPET, as a benchmark of the network sees it.
func hotProfile() *ProfileBench {
	d := &ProfileBench{
		CPUModel: "Made CPU", Kernel: "5.15.0", Clocksource: "hpet", ClocksourceAfter: "hpet", Ended: BenchDone,
		Inputs:       ProfileInputs{All: true, Duration: 10, Event: "bus-cycles", Frequency: 997, PerCPU: true, Top: 4},
		Restrictions: []perf.Restriction{{ID: "kptr-restrict", Why: "kernel.kptr_restrict is 1", HowToAllow: "sysctl kernel.kptr_restrict=0"}},
	}
	d.Sampled(&perf.Profile{
		Event: perf.CPUClock, Frequency: 997, Seconds: 10, CPUs: 8, Lost: 3,
		Attempts: []perf.Attempt{{Event: perf.BusCycles, Why: "no such counter"}, {Event: perf.CPUClock}},
		Stacks: []perf.Stack{
			seenAt(12, "netperf", 1, "[kernel]", "read_hpet", 4383),
			seenAt(11, "netserver", 0, "[kernel]", "read_hpet", 4086),
			seenAt(12, "netperf", 1, "[kernel]", "syscall_exit_to_user_mode", 227),
			seenAt(11, "netserver", 0, "[kernel]", "ktime_get", 219),
			seenAt(0, "swapper", 0, "[kernel]", "read_hpet", 92),
			seenAt(0, "swapper", 3, "[kernel]", "default_idle", 50000),
			seenAt(77, "cswatch", 2, "cswatch", "main.main", 8),
			nameless(seenAt(13, "a\x1b[31m;name", 2, "a-library-with-a-name-that-is-much-too-long.so", "0x1234", 20)),
		},
		Notes: []perf.Note{{ID: "fallback", Text: "said elsewhere"}, {ID: "lost", Text: "3 records were lost"}},
	}, 77)
	return d
}

// commandProfile is that of a command in which reading clocks is not hot.
func commandProfile() *ProfileBench {
	d := &ProfileBench{
		Clocksource: "tsc", ClocksourceAfter: "hpet", Ended: BenchChanged,
		Inputs:  ProfileInputs{PIDs: []int{20}, Command: []string{"make", "check"}, Event: "auto", Frequency: 997, Chains: true, Folded: "stacks"},
		Command: &ProfiledCommand{PID: 20, ExitCode: -1, Signal: "terminated", Stopped: true, Seconds: 7.25},
	}
	d.Sampled(&perf.Profile{
		Event: perf.Cycles, Frequency: 997, Seconds: 7, CPUs: 2, Attempts: []perf.Attempt{{Event: perf.Cycles}},
		Stacks: []perf.Stack{
			seenAt(20, "make", 0, "make", "main", 9000), seenAt(21, "date", 1, "[vdso]", "__vdso_clock_gettime", 90), seenAt(21, "date", 1, "date", "main", 10),
		},
	}, 77)
	return d
}

func TestEachFormOfAProfileIsAsItWas(t *testing.T) {
	refused := &ProfileBench{Inputs: ProfileInputs{Event: "auto", Frequency: 997}, Restrictions: hotProfile().Restrictions}
	refused.NotSampled("nothing could be sampled: cycles: it is not permitted")
	var files []txtar.File
	for _, c := range []struct {
		name string
		doc  *ProfileBench
	}{{"hot", hotProfile()}, {"command", commandProfile()}, {"refused", refused}} {
		files = append(files,
			section(t, c.name+", text", func(w io.Writer) error { return ProfileBenchText(w, c.doc, TextOptions{Width: 100}) }),
			section(t, c.name+", JSON", func(w io.Writer) error { return ProfileBenchJSON(w, c.doc) }),
			section(t, c.name+", CSV", func(w io.Writer) error { return ProfileBenchCSV(w, c.doc) }))
	}
	golden(t, "benchprofile", &txtar.Archive{Files: files})
}

func TestWhetherReadingClocksIsHotIsAnsweredOrNotWithTheReason(t *testing.T) {
	work := func(n int64) perf.Stack { return seenAt(5, "work", 0, "work", "main", n) }
	hpet := func(n int64) perf.Stack { return seenAt(5, "work", 0, "[kernel]", "read_hpet", n) }
	unnamed := func(object string, n int64) perf.Stack { return nameless(seenAt(6, "other", 0, object, "0x1", n)) }
	idle := seenAt(0, "swapper", 0, "[kernel]", "default_idle", 5000)
	note := func(id string) []perf.Note { return []perf.Note{{ID: id}} }
	for _, c := range []struct {
		name     string
		p        perf.Profile
		want     machine.Answer
		sentence []string
	}{
		{"most of it", perf.Profile{Stacks: []perf.Stack{work(200), hpet(800)}}, machine.Yes, []string{"Yes: 80.0 % (77.4 to 82.4) of the samples read clocks, 80.0 % the counter itself."}},
		{"little of much", perf.Profile{Stacks: []perf.Stack{work(10000), hpet(100)}}, machine.No, []string{"No: 0.99 % ("}},
		{"none of much", perf.Profile{Stacks: []perf.Stack{work(10000)}}, machine.No, []string{"No: 0 % (0 to 0.038)"}},
		{"little of all, but most of one process", perf.Profile{Stacks: []perf.Stack{work(10000), seenAt(8, "date", 1, "[vdso]", "__vdso_clock_gettime", 90)}}, machine.No,
			[]string{"No: ", "But process 8 (date) does so in 100 % (95.9 to 100) of its own."}},
		{"idle CPUs do not count", perf.Profile{Stacks: []perf.Stack{idle, work(100), hpet(100)}}, machine.Yes, []string{"Yes: 50.0 %"}},
		{"nothing at all", perf.Profile{Notes: note("no-samples")}, machine.Unknown, []string{"Could not tell, because no sample was taken"}},
		{"idle CPUs alone", perf.Profile{Stacks: []perf.Stack{idle}}, machine.Unknown, []string{"Could not tell, because the CPUs were idle in all samples."}},
		{"an idle task without names", perf.Profile{Stacks: []perf.Stack{nameless(idle)}, Notes: note("no-kernel-names")}, machine.Unknown, []string{"whose functions have no names"}},
		{"this program alone", perf.Profile{Stacks: []perf.Stack{idle, seenAt(77, "cswatch", 0, "cswatch", "main.main", 9)}}, machine.Unknown, []string{"nothing but this program"}},
		{"few samples", perf.Profile{Stacks: []perf.Stack{work(20)}}, machine.Unknown, []string{"because the interval of the share, of 20 samples, has 5 % in it: profile for longer. As far as can be seen, 0 % ("}},
		{"user code alone is no proof of little", perf.Profile{UserOnly: true, Stacks: []perf.Stack{work(10000)}}, machine.Unknown, []string{"because the kernel's own code is not in the profile", "Of the user code alone, 0 %"}},
		{"nor of much", perf.Profile{UserOnly: true, Stacks: []perf.Stack{seenAt(5, "work", 0, "[vdso]", "__vdso_clock_gettime", 10000)}}, machine.Unknown, []string{"Of the user code alone, 100 %"}},
		{"a kernel without names", perf.Profile{Stacks: []perf.Stack{work(10000), unnamed("[kernel]", 10)}, Notes: note("no-kernel-names")}, machine.Unknown, []string{"the kernel's functions have no names"}},
		{"a kernel without names, and the vDSO hot", perf.Profile{Stacks: []perf.Stack{seenAt(5, "work", 0, "[vdso]", "__vdso_clock_gettime", 900), unnamed("[kernel]", 100)}, Notes: note("no-kernel-names")}, machine.Yes, []string{"Yes: 90.0 %"}},
		{"a program without names", perf.Profile{Stacks: []perf.Stack{work(900), unnamed("stripped", 100)}}, machine.Unknown, []string{"because 10.0 % of the samples are in code without a name", "those by an instruction in code without a name are not"}},
		{"a module without names", perf.Profile{Stacks: []perf.Stack{work(900), unnamed("[kernel]", 100)}}, machine.Unknown, []string{"As far as can be seen, 0 % (0 to 0.38) of the samples read clocks."}},
		{"little without names", perf.Profile{Stacks: []perf.Stack{work(10000), unnamed("stripped", 100)}}, machine.No, []string{"No: 0 %"}},
		{"so many records lost that all may differ", perf.Profile{Stacks: []perf.Stack{work(1000)}, Lost: 200}, machine.Unknown, []string{"200 records were lost beside 1000 samples"}},
		{"few lost", perf.Profile{Stacks: []perf.Stack{work(10000)}, Lost: 20}, machine.No, []string{"No: "}},
		{"many lost do not change much", perf.Profile{Stacks: []perf.Stack{hpet(1000)}, Lost: 1000}, machine.Yes, []string{"Yes: 100 %"}},
	} {
		d := &ProfileBench{}
		d.Sampled(&c.p, 77)
		if d.Reading.Hot != c.want {
			t.Errorf("%s: hot %s, want %s: %s", c.name, d.Reading.Hot, c.want, d.Reading.Sentence)
		}
		for _, part := range c.sentence {
			if !strings.Contains(d.Reading.Sentence, part) {
				t.Errorf("%s: %q, want %q in it", c.name, d.Reading.Sentence, part)
			}
		}
		if first, _, _ := strings.Cut(d.Reading.Sentence, " "); (strings.Trim(first, ":") == "No") != (c.want == machine.No) {
			t.Errorf("%s: the answer is %s, and the sentence begins with %q", c.name, c.want, first)
		}
	}
}

func TestNoListOfAProfileIsNull(t *testing.T) {
	for _, d := range []*ProfileBench{{}, hotProfile(), commandProfile()} {
		var out bytes.Buffer
		if err := ProfileBenchJSON(&out, d); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "null") || !json.Valid(out.Bytes()) {
			t.Errorf("the document:\n%s", out.String())
		}
	}
}
