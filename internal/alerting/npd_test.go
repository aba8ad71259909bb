package alerting

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/unpack"
	"github.com/cswatch/cswatch/klog"
	"github.com/cswatch/cswatch/watchdog"
)

const (
	kernelMonitor = folder + "/npd/cswatch-kernel-monitor.json"
	pluginMonitor = folder + "/npd/cswatch-plugin.json"
)

// ofTSC reports an event on the TSC, or on a clock that its line does not name.
func ofTSC(e *event.Event) bool {
	return e.Clocksource == "" || e.Clocksource == "tsc" || e.Clocksource == "tsc-early"
}

// meant says for each rule which events its pattern is to hit.
var meant = map[string]func(e *event.Event) bool{
	"CondemnedForSkew": func(e *event.Event) bool {
		return ofTSC(e) && (e.Kind == event.SkewVerdict || e.Kind == event.DeltaVerdict || e.Kind == event.FrequencyVerdict)
	},
	"CondemnedForReadDelay": func(e *event.Event) bool { return ofTSC(e) && e.Kind == event.DelayVerdict },
	"CondemnedForOrderOfCPUs": func(e *event.Event) bool {
		return ofTSC(e) && e.Kind == event.InterCPUVerdict || e.Kind == event.Warp || e.Kind == event.RandomWarp
	},
	"SwitchedToSlowClocksource": func(e *event.Event) bool {
		return e.Kind == event.Switched && slices.Contains([]string{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}, e.Clocksource)
	},
	"ClocksourceReadRetried":  func(e *event.Event) bool { return e.Kind == event.Retried },
	"ClocksourceCheckSkipped": func(e *event.Event) bool { return ofTSC(e) && e.Kind == event.TestSkipped },
	"ClocksourceCheckLate":    func(e *event.Event) bool { return e.Kind == event.LongInterval },
}

// rule is a rule with its pattern compiled.
type rule struct {
	KernelRule
	pattern Pattern
	meant   func(e *event.Event) bool
}

func kernelRules(t testing.TB) []rule {
	t.Helper()
	m, err := ReadKernelMonitor([]byte(read(t, kernelMonitor)))
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, r := range m.Rules {
		p, err := CompilePattern(r.Pattern)
		if err != nil {
			t.Fatal(err)
		}
		if meant[r.Reason] == nil {
			t.Errorf("no test says what the rule %s is to hit", r.Reason)
			continue
		}
		rules = append(rules, rule{r, p, meant[r.Reason]})
	}
	if len(rules) != len(meant) {
		t.Errorf("%d rules, the tests know %d", len(rules), len(meant))
	}
	return rules
}

// corpus calls f for every record of the logs that the tests of this project judge, and
// with its event where klog takes it for one, else nil.
func corpus(t *testing.T, f func(file string, line int, text string, e *event.Event)) {
	t.Helper()
	logs := map[string]string{}
	for _, pattern := range []string{"internal/doctor/testdata/cases/*", "klog/testdata/*/*.txt", "internal/reenact/testdata/*.log*", "internal/docs/testdata/*.log", "internal/docs/testdata/*.txt"} {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			logs[strings.TrimPrefix(name, root+"/")] = unpacked(t, name)
		}
	}
	made, err := txtar.ParseFile(root + "/internal/doctor/testdata/made.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range made.Files {
		if strings.HasSuffix(file.Name, "/log") {
			logs["made/"+file.Name] = string(file.Data)
		}
	}
	if len(logs) < 200 {
		t.Fatalf("only %d logs were found", len(logs))
	}
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		events := map[string]event.Event{}
		r := klog.NewReader(strings.NewReader(logs[name]), name)
		for r.Next() {
			e := r.Event()
			events[e.Text] = e
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		for _, text := range slices.Sorted(maps.Keys(events)) {
			e := events[text]
			f(name, e.Source.Line, text, &e)
		}
		// What klog takes for no event is what is left of the lines, in whatever container.
		for i, line := range strings.Split(logs[name], "\n") {
			if bare := stamp.ReplaceAllString(line, ""); !known(events, bare) {
				f(name, i+1, bare, nil)
			}
		}
	}
}

// stamp is what stands before the kernel's words in the commonest logs.
var stamp = regexp.MustCompile(`^(?:<\d+>)?\[ *\d+\.\d{6}\] ?|^\d+,\d+,\d+,[^;]*;`)

// known reports a line that is, or is part of, the text of an event.
func known(events map[string]event.Event, line string) bool {
	if line = strings.TrimSpace(line); line == "" {
		return true
	}
	for text := range events {
		if strings.Contains(line, text) || strings.Contains(text, line) {
			return true
		}
	}
	return false
}

func unpacked(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, _, err := unpack.Reader(f, name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// whole reports a line as a kernel writes it into its buffer. Those that people cut, wrapped, quoted or typed are not:
// /dev/kmsg has no such lines.
func whole(e *event.Event) bool {
	return !e.Cut && written.MatchString(e.Text)
}

var written = regexp.MustCompile(`^(?:clocksource: )?(?:timekeeping watchdog(?: on CPU\d+)?: \S|wd-\S+-wd \S|Long readout|Marking clocksource|Clocksource \S+ unstable|Switch|Time: |Measured|TSC warped)(?:\S| \S)*$`)

func TestPatternsHitTheLinesOfOurLogsThatKlogTakesForSuchEvents(t *testing.T) {
	rules := kernelRules(t)
	hits, lines, passed := map[string]int{}, 0, 0
	corpus(t, func(file string, line int, text string, e *event.Event) {
		lines++
		for _, r := range rules {
			hit := r.pattern.Hits("an earlier line", strings.TrimSpace(text))
			want := e != nil && r.meant(e)
			switch {
			case hit && want:
				hits[r.Reason]++
			case hit:
				t.Errorf("%s:%d: %s hits %q (%+v)", file, line, r.Reason, text, e)
			case want && whole(e):
				t.Errorf("%s:%d: %s does not hit %q", file, line, r.Reason, text)
			case want:
				passed++
				t.Logf("%s:%d: no line of /dev/kmsg: %q", file, line, text)
			}
		}
	})
	for reason := range meant {
		if hits[reason] == 0 {
			t.Errorf("no line of the logs is hit by %s: the test lost its subject", reason)
		}
	}
	if passed != 7 {
		t.Errorf("%d lines are passed over as cut or typed by hand, and 7 are: look at those above", passed)
	}
	t.Logf("%d lines, hits %v", lines, hits)
}

// TestPatternsHitWhatEveryEraPrints lets the printer of every era write verdicts of all kinds.
func TestPatternsHitWhatEveryEraPrints(t *testing.T) {
	rules := kernelRules(t)
	rng := rand.New(rand.NewPCG(7, 9))
	hits := map[string]map[watchdog.Era]bool{}
	check := func(era watchdog.Era, e event.Event, text string) {
		for _, r := range rules {
			hit := r.pattern.Hits("clocksource: Switched to clocksource tsc", "an earlier line", strings.TrimSpace(text))
			if want := r.meant(&e); hit != want {
				t.Fatalf("%s: %s hits %q: %v, want %v", era, r.Reason, text, hit, want)
			}
			if hit {
				if hits[r.Reason] == nil {
					hits[r.Reason] = map[watchdog.Era]bool{}
				}
				hits[r.Reason][era] = true
			}
		}
	}
	for _, profile := range watchdog.Profiles() {
		for range 500 {
			setup, v := verdictOf(rng, profile)
			for i, l := range klog.NewPrinter(setup).Verdict(&v) {
				check(profile.Era, klog.Visible(&v, &setup)[i], l.Text)
			}
		}
		// What the framework of clocksources prints: switches, marks, refusals.
		release, err := watchdog.ParseRelease(firstRelease(t, profile))
		if err != nil {
			t.Fatal(err)
		}
		rules := clocksource.RulesAt(release.Major, release.Minor, release.Patch)
		for _, clock := range []string{"tsc", "tsc-early", "hpet", "acpi_pm", "kvm-clock", "jiffies", "refined-jiffies", "pit", "arch_sys_counter"} {
			for _, kind := range clocksource.EffectKinds() {
				effect := clocksource.Effect{Kind: kind, Clock: clock, Other: "tsc", Reason: "clocksource watchdog"}
				visible := klog.VisibleEffect(&effect, event.Opt[event.Sched]{})
				for i, l := range klog.EffectLines([]clocksource.Effect{effect}, &rules, event.Opt[event.Sched]{}) {
					check(profile.Era, visible[i], l.Text)
				}
			}
		}
	}
	for reason, want := range map[string]int{"CondemnedForSkew": len(watchdog.Profiles()), "CondemnedForReadDelay": 15, "ClocksourceReadRetried": 15, "ClocksourceCheckSkipped": 10, "ClocksourceCheckLate": 8, "CondemnedForOrderOfCPUs": 1, "SwitchedToSlowClocksource": len(watchdog.Profiles())} {
		if len(hits[reason]) < want {
			t.Errorf("%s hits lines of %d eras, want %d: %v", reason, len(hits[reason]), want, hits[reason])
		}
	}
}

func TestAPatternHitsOnlyTheLastOfTheLines(t *testing.T) {
	for _, r := range kernelRules(t) {
		if r.Reason != "CondemnedForReadDelay" {
			continue
		}
		verdict := "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable"
		for _, c := range []struct {
			name  string
			lines []string
			hit   bool
		}{
			{"alone", []string{verdict}, true},
			{"behind others and an empty buffer", []string{"", "", "x", verdict}, true},
			{"before another line", []string{verdict, "tsc: Marking TSC unstable due to clocksource watchdog"}, false},
			{"quoted by a program", []string{"cswatch(dmesg.txt:9): " + verdict}, false},
			{"with more behind it", []string{verdict + " (or so)"}, false},
		} {
			if got := r.pattern.Hits(c.lines...); got != c.hit {
				t.Errorf("%s: hit %v, want %v", c.name, got, c.hit)
			}
		}
	}
}

func firstRelease(t *testing.T, p watchdog.Profile) string {
	t.Helper()
	m := regexp.MustCompile(`\d+\.\d+(?:\.\d+)?`).FindString(fmt.Sprint(p.Releases))
	if m == "" {
		t.Fatalf("era %s names no release", p.Era)
	}
	return m
}

// verdictOf is a setup of the era and a verdict that it could come to.
func verdictOf(rng *rand.Rand, p watchdog.Profile) (watchdog.Setup, watchdog.Verdict) {
	clock := func(names ...string) watchdog.Clock {
		return watchdog.Clock{Name: names[rng.IntN(len(names))], Mask: clocksource.Mask64}
	}
	s := watchdog.Setup{
		Profile: p, Reference: clock("hpet", "acpi_pm", "kvm-clock", "refined-jiffies", "hyperv_clocksource_tsc_page"),
		Watched: []watchdog.Clock{clock("tsc", "tsc", "tsc-early", "wdtest-ktime")}, Current: "tsc",
	}
	kinds := []watchdog.Kind{watchdog.Initialised, watchdog.Agreed, watchdog.CondemnedSkew}
	switch {
	case p.Skew.Shift > 0:
		kinds = append(kinds, watchdog.TimedOut, watchdog.RemoteTimedOut, watchdog.CondemnedCPUs, watchdog.NoReference)
	default:
		kinds = append(kinds, watchdog.Skipped, watchdog.TooLong, watchdog.CondemnedDelay)
	}
	ns := func() clocksource.Nanos { return clocksource.Nanos(rng.Int64N(1 << rng.IntN(40))) }
	interval := func() watchdog.Interval {
		return watchdog.Interval{NS: ns(), Last: clocksource.Cycles(rng.Uint64()), Now: clocksource.Cycles(rng.Uint64())}
	}
	v := watchdog.Verdict{
		Era: p.Era, Kind: kinds[rng.IntN(len(kinds))], CPU: rng.IntN(2000), Time: 1000*clocksource.NanosPerSecond + ns(), Attempts: 1 + rng.IntN(8), Compared: true,
		Delay: ns(), Sequence: ns(), Watched: interval(), Reference: interval(), PeerCPU: 1, LateCPU: 1,
		Earlier: 5, Later: 7,
	}
	v.Allowed = v.Attempts + rng.IntN(3)
	if v.Kind == watchdog.TooLong {
		v.Watched.NS += 2 * clocksource.NanosPerSecond
	}
	v.Skew = v.Watched.NS - v.Reference.NS
	return s, v
}

func TestTheKernelMonitorReportsAndAsksForNoTaint(t *testing.T) {
	m, err := ReadKernelMonitor([]byte(read(t, kernelMonitor)))
	if err != nil {
		t.Fatal(err)
	}
	if m.Plugin != "kmsg" || m.LogPath != "/dev/kmsg" || m.BufferSize < 2 {
		t.Errorf("it reads %s by %s with %d lines", m.LogPath, m.Plugin, m.BufferSize)
	}
	reasons := []string{m.Conditions[0].Reason}
	for _, r := range m.Rules {
		if slices.Contains(reasons, r.Reason) {
			t.Errorf("the reason %s stands twice", r.Reason)
		}
		reasons = append(reasons, r.Reason)
	}
	// A condition of the kernel's own name is in lists of what makes a node be drained or replaced.
	builtin := []string{"KernelDeadlock", "ReadonlyFilesystem", "CorruptDockerOverlay2", "FrequentKubeletRestart", "FrequentUnregisterNetDevice", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "Ready"}
	for _, c := range m.Conditions {
		if slices.Contains(builtin, c.Type) {
			t.Errorf("the condition %s is one that others act on", c.Type)
		}
	}
}

func TestConfigurationsThatNodeProblemDetectorWouldMisreadAreRefused(t *testing.T) {
	whole := read(t, kernelMonitor)
	for _, c := range []struct{ name, from, to string }{
		{"a misspelt field", `"bufferSize"`, `"buffersize_"`},
		{"a condition that is not there", `"condition": "ClocksourceCondemned"`, `"condition": "Other"`},
		{"a temporary rule with a condition", `"type": "permanent"`, `"type": "temporary"`},
		{"a pattern that does not compile", `(?m)^(?:clocksource: )?Long`, `(?m)^(?:clocksource: ?Long`},
		{"alternatives without brackets", `(?m)^(?:clocksource: )?Long`, `x|(?m)^(?:clocksource: )?Long`},
		{"a lookback that is no duration", `"8760h"`, `"a year"`},
		{"two documents", "\n}\n", "\n}\n{}"},
	} {
		text := strings.Replace(whole, c.from, c.to, 1)
		if text == whole {
			t.Errorf("%s: the file has no %q", c.name, c.from)
		}
		if _, err := ReadKernelMonitor([]byte(text)); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
	plugin := read(t, pluginMonitor)
	if _, err := ReadPluginMonitor([]byte(plugin)); err != nil {
		t.Error(err)
	}
	if _, err := ReadPluginMonitor([]byte(strings.Replace(plugin, `"timeout": "10s"`, `"timeout": "9s"`, 1))); err == nil {
		t.Error("a rule's timeout above that of all: no error")
	}
}
