package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/watchdog"
)

// The published ids. An id keeps its meaning; the sets may grow.
var (
	logFindingIDs = []string{
		"reference-read-delay", "check-skipped", "late-watchdog", "acpi-pm-wrap", "hpet-wrap", "stall-2-6-32", "hpet-pc10",
		"reference-wrong", "tsc-frequency-wrong", "tsc-offset-between-cpus", "warp-noise", "tsc-went-backwards", "tsc-written",
		"tsc-rate-not-constant", "tsc-halts-in-idle", "resume", "warm-reboot", "amd-boot-step", "guest-paused", "vcpu-preempted",
		"verdict-without-effect", "normal-on-hypervisor", "slow-default-clock", "option-hides-fault", "upstream-stall", "self-test",
		"wrong-after-restore", "not-a-clocksource-event", "boot-tsc-early-vs-jiffies", "arch-drift", "tsc-adjust-firmware",
		"small-skew", "lost-ticks", "cause-unknown",
	}
	liveFindingIDs = []string{
		"clock-read-slow", "better-source-available", "no-vdso-path", "tsc-not-watched", "watchdog-disabled-by-option",
		"latency-can-condemn", "clock-unsynchronised", "evidence-unreadable", "tsc-disabled-by-option", "unexpected-clock",
		"live-watch", "skew-now", "slow-read-backs", "counter-offset-between-cpus",
	}
	adviceIDs = []string{
		"nothing", "upgrade-kernel", "tsc-nowatchdog", "tsc-reliable", "tsc-unstable-parameter", "reboot-to-restore", "power-cycle",
		"firmware-update", "stay-on-fallback", "check-cross-cpu-sync", "find-the-stall", "fix-hardware-error", "hpet-disable",
		"remove-reference", "fix-frequency", "ask-host", "use-kvm-clock", "set-clocksource-tsc", "capture-full-log",
		"raise-read-retries", "remove-option", "stop-the-tool", "limit-c-states", "report-resume-problem", "measure-drift",
		"clocksource-failover", "fix-device-tree", "set-clocksource", "synchronise-clock", "switch-away",
	}
	missingIDs = []string{
		"verdict-line", "reference-line", "watched-line", "warp-line", "switch-line", "cross-cpu-check", "cmdline",
		"kernel-version", "platform", "cpu-model", "times", "earlier-lines", "second-witness", "tsc-frequency",
		"reference-frequency", "reference-name", "host-log", "clocksource-sysfs", "kernel-log", "live-counters",
	}
)

func ids(c Class) []string {
	var got []string
	for _, e := range All() {
		if e.Class == c {
			got = append(got, e.ID)
		}
	}
	slices.Sort(got)
	return got
}

func TestEveryPublishedIDIsExplainedOnce(t *testing.T) {
	for class, want := range map[Class][]string{
		Finding: slices.Concat(logFindingIDs, liveFindingIDs), Advice: adviceIDs, Missing: missingIDs, Message: kinds(t),
	} {
		want = slices.Sorted(slices.Values(want))
		if d := cmp.Diff(want, ids(class)); d != "" {
			t.Errorf("%s entries (-published +explained):\n%s", class, d)
		}
	}
	parameters := ids(Parameter)
	if d := cmp.Diff(slices.Compact(slices.Clone(parameters)), parameters); d != "" {
		t.Errorf("a parameter is explained twice:\n%s", d)
	}
	for _, p := range []string{
		"clocksource", "clock", "clocksource.max_cswd_read_retries", "clocksource.verify_n_cpus", "clocksource.max_cswd_coarse_reads",
		"clocksource.arm_arch_timer.evtstrm", "tsc=reliable", "tsc=noirqtime", "tsc=unstable", "tsc=nowatchdog", "tsc=recalibrate",
		"tsc=watchdog", "notsc", "tsc_early_khz", "hpet=disable", "hpet=force", "hpet=verbose", "nohpet", "hpet_mmap", "acpi_pm_good",
		"pmtmr", "no-kvmclock", "no-kvmclock-vsyscall", "no-vmw-sched-clock", "highres", "nohz", "skew_tick", "processor.max_cstate",
		"intel_idle.max_cstate", "idle=poll", "idle=halt", "idle=nomwait", "lapic=notscdeadline", "lapic_timer_c2_ok", "noapictimer",
		"nolapic_timer", "apicpmtimer", "no_timer_check", "acpi_skip_timer_override", "CONFIG_CLOCKSOURCE_WATCHDOG_MAX_SKEW_US",
		"CONFIG_TEST_CLOCKSOURCE_WATCHDOG",
	} {
		if !slices.Contains(parameters, p) {
			t.Errorf("parameter %s is not explained", p)
		}
	}
}

// kinds reads the constants of type Kind from the source of package event, so
// that a new kind of line without a text fails here.
func kinds(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../event/kind.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				continue
			}
			name, ok := v.Type.(*ast.Ident)
			lit, isLit := v.Values[0].(*ast.BasicLit)
			if !ok || name.Name != "Kind" || !isLit {
				continue
			}
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, s)
		}
	}
	if len(found) < 80 {
		t.Fatalf("found %d kinds in the source of package event, want at least 80", len(found))
	}
	return found
}

func TestEntriesAreComplete(t *testing.T) {
	sentences := func(s string) int { return strings.Count(s+" ", ". ") }
	for _, e := range All() {
		name := string(e.Class) + " " + e.ID
		if e.Title == "" || e.What == "" || e.Action == "" {
			t.Errorf("%s lacks title, meaning or action", name)
		}
		if strings.HasSuffix(e.Title, ".") || len(e.Title) > 70 {
			t.Errorf("%s: title %q is a sentence or too long", name, e.Title)
		}
		if n := sentences(e.What); n < 1 || n > 6 {
			t.Errorf("%s: the meaning has %d sentences, want 1 to 6: %q", name, n, e.What)
		}
		for _, text := range []string{e.What, e.Action, e.Evidence} {
			if text != "" && !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q does not end as a sentence", name, text)
			}
		}
		switch e.Class {
		case Finding:
			if e.Evidence == "" || sentences(e.What)+sentences(e.Evidence)+sentences(e.Action) < 3 {
				t.Errorf("%s does not say how it is recognised", name)
			}
		case Advice:
			if !slices.Contains([]Risk{NoRisk, Reversible, UntilReboot, Unsafe}, e.Risk) || e.Evidence == "" {
				t.Errorf("%s: risk %q, applies %q", name, e.Risk, e.Evidence)
			}
		case Missing:
			if e.Command == "" {
				t.Errorf("%s does not say how to get it", name)
			}
		case Message:
			if !slices.Contains([]Harm{Harmless, Depends, Serious}, e.Harm) || e.Releases == "" {
				t.Errorf("%s: harm %q, releases %q", name, e.Harm, e.Releases)
			}
		case Parameter:
			if len(e.Spans) == 0 && e.ID != "clocksource.max_cswd_coarse_reads" {
				t.Errorf("%s has no releases", name)
			}
		default:
			t.Errorf("%s is of no known class", name)
		}
	}
}

func TestSpansAreReadableAndApart(t *testing.T) {
	for _, e := range All() {
		for i, s := range e.Spans {
			for _, end := range []string{s.From, s.To} {
				if _, err := watchdog.ParseRelease(end); end != "" && err != nil {
					t.Errorf("%s: %v", e.ID, err)
				}
			}
			if s.Doubt && s.Note == "" {
				t.Errorf("%s: a doubt without a reason in %+v", e.ID, s)
			}
			for j, o := range e.Spans {
				from, err := watchdog.ParseRelease(s.From)
				if err == nil && i != j && o.holds(from) {
					t.Errorf("%s: %+v and %+v overlap", e.ID, s, o)
				}
			}
		}
	}
}

func TestOnlyTheTrustingOptionIsUnsafe(t *testing.T) {
	for _, e := range All() {
		if (e.Risk == Unsafe) != (e.ID == "tsc-reliable" && e.Class == Advice) {
			t.Errorf("%s %s has risk %q", e.Class, e.ID, e.Risk)
		}
	}
}

func TestLookup(t *testing.T) {
	tests := []struct {
		query string
		want  string
	}{
		{"reference-read-delay", "finding reference-read-delay"},
		{" Tsc-NoWatchdog ", "advice tsc-nowatchdog"},
		{"hpet-pc10", "finding hpet-pc10, message hpet-pc10"},
		{"self-test", "finding self-test, message self-test"},
		{"skew-verdict", "message skew-verdict"},
		{"platform", "missing platform, message platform"},
		{"tsc=reliable", "parameter tsc=reliable"},
		{"clocksource.max_cswd_read_retries=50", "parameter clocksource.max_cswd_read_retries"},
		{"clocksource.max-cswd-read-retries", "parameter clocksource.max_cswd_read_retries"},
		{"max_cswd_read_retries", "parameter clocksource.max_cswd_read_retries"},
		{"clocksource=hpet", "parameter clocksource"},
		{"hpet=disable,verbose", "parameter hpet=disable, parameter hpet=verbose"},
		{"hpet=something", "parameter hpet=disable, parameter hpet=force, parameter hpet=verbose"},
		{"hpet", "parameter hpet=disable, parameter hpet=force, parameter hpet=verbose"},
		{"no_kvmclock", "parameter no-kvmclock"},
		{"nohz=off", "parameter nohz"},
		{"", ""},
		{"=", ""},
		{"no such thing", ""},
	}
	for _, tt := range tests {
		found, ok := Lookup(tt.query)
		var got []string
		for _, e := range found {
			got = append(got, string(e.Class)+" "+e.ID)
		}
		if s := strings.Join(got, ", "); s != tt.want || ok != (tt.want != "") {
			t.Errorf("Lookup(%q) = %q, %v, want %q", tt.query, s, ok, tt.want)
		}
	}
}

func TestEveryIDFindsItself(t *testing.T) {
	for _, e := range All() {
		found, ok := Lookup(e.ID)
		if !ok || !slices.ContainsFunc(found, func(f Entry) bool { return f.ID == e.ID && f.Class == e.Class }) {
			t.Errorf("%s %s is not found by its id", e.Class, e.ID)
		}
	}
}

func TestSuggest(t *testing.T) {
	tests := []struct{ query, want string }{
		{"refrence-read-delay", "reference-read-delay"},
		{"tsc=relaible", "tsc=reliable"},
		{"max_cswd", "clocksource.max_cswd_read_retries"},
		{"kernel-verison", "kernel-version"},
	}
	for _, tt := range tests {
		if got := Suggest(tt.query, 3); len(got) == 0 || len(got) > 3 || got[0] != tt.want {
			t.Errorf("Suggest(%q) = %q, want %q first", tt.query, got, tt.want)
		}
	}
	for _, q := range []string{"", "zzzzzzzzzzzz", strings.Repeat("x", 1000)} {
		if got := Suggest(q, 3); len(got) > 0 {
			t.Errorf("Suggest(%.20q) = %q, want none", q, got)
		}
	}
	if got := Suggest("tsc", 0); got != nil {
		t.Errorf("no suggestions were asked for, got %q", got)
	}
}

func TestParameterAt(t *testing.T) {
	const retries = "clocksource.max_cswd_read_retries"
	tests := []struct {
		name, release string
		exists        machine.Answer
		value         string
	}{
		{retries, "5.10.49", machine.No, ""}, {retries, "5.10.50", machine.Yes, "3"}, {retries, "5.10.223", machine.Yes, "3"},
		{retries, "5.11", machine.No, ""}, {retries, "5.13.5", machine.Unknown, "3"}, {retries, "5.14", machine.Yes, "3"},
		{retries, "5.15.16", machine.Yes, "3"}, {retries, "5.15.100", machine.Yes, "3 or 2"}, {retries, "5.15.165", machine.Unknown, "3 or 2"},
		{retries, "5.15.224", machine.No, ""}, {retries, "5.17", machine.Yes, "2"}, {retries, "6.1.104", machine.Yes, "2"},
		{retries, "6.1.105", machine.No, ""}, {retries, "6.8.12", machine.Yes, "2"}, {retries, "6.9", machine.No, ""}, {retries, "7.3.4", machine.No, ""},
		{retries + "=50", "6.5", machine.Yes, "2"},
		{"clocksource.verify_n_cpus", "5.13", machine.No, ""}, {"clocksource.verify_n_cpus", "7.0.13", machine.Yes, "8"},
		{"clocksource.verify_n_cpus", "7.1", machine.Unknown, "8"}, {"clocksource.verify_n_cpus", "7.2", machine.No, ""},
		{"clocksource.max_cswd_coarse_reads", "6.1", machine.No, ""},
		{"tsc=nowatchdog", "4.19", machine.No, ""}, {"tsc=nowatchdog", "5.4", machine.Yes, ""}, {"tsc=watchdog", "6.2", machine.No, ""},
		{"tsc=watchdog", "7.0", machine.Yes, ""}, {"tsc=watchdog", "7.3.4", machine.Yes, ""}, {"hpet=disable", "2.6.24", machine.Yes, ""},
		{"CONFIG_CLOCKSOURCE_WATCHDOG_MAX_SKEW_US", "6.1", machine.Yes, "100"}, {"CONFIG_CLOCKSOURCE_WATCHDOG_MAX_SKEW_US", "6.5", machine.Yes, "125"},
		{"no such parameter", "6.1", machine.Unknown, ""}, {"skew-verdict", "6.1", machine.Unknown, ""},
	}
	for _, tt := range tests {
		r, err := watchdog.ParseRelease(tt.release)
		if err != nil {
			t.Fatal(err)
		}
		if got := ParameterAt(tt.name, r); got.Exists != tt.exists || got.Default != tt.value {
			t.Errorf("%s at %s: %+v, want %s with %q", tt.name, tt.release, got, tt.exists, tt.value)
		}
	}
}

// Where one era is certain, its profile and the parameter's releases must agree.
func TestParametersAgreeWithTheErasOfPackageWatchdog(t *testing.T) {
	for major, last := range map[int]int{4: 20, 5: 19, 6: 19, 7: 3} {
		for minor := range last + 1 {
			for patch := range 230 {
				r := watchdog.Release{Major: major, Minor: minor, Patch: patch}
				found := watchdog.EraOf(r)
				if len(found) != 1 {
					continue
				}
				p, ok := found[0].Profile()
				if !ok {
					t.Fatalf("no profile of %s", found[0].Era)
				}
				for name, has := range map[string]bool{"clocksource.max_cswd_read_retries": p.RetriesParameter, "clocksource.verify_n_cpus": p.VerifyParameter} {
					got := ParameterAt(name, r).Exists
					if got != machine.Unknown && (got == machine.Yes) != has {
						t.Fatalf("%s at %s: %s here, %v in the profile of %s", name, r, got, has, p.Era)
					}
				}
			}
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, q := range []string{"tsc=reliable", "hpet=disable,verbose", "clocksource.verify_n_cpus=-1", "=", "a=b,c"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if found, ok := Lookup(q); ok != (len(found) > 0) {
			t.Fatalf("%d entries and %v", len(found), ok)
		}
		if got := Suggest(q, 3); len(got) > 3 {
			t.Fatalf("%d suggestions", len(got))
		}
	})
}
