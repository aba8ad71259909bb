package clocksource

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlagsPrintAndParse(t *testing.T) {
	for _, tt := range []struct {
		flags Flags
		text  string
	}{
		{0, "0"},
		{IsContinuous, "IS_CONTINUOUS"},
		{IsContinuous | MustVerify | VerifyPerCPU, "IS_CONTINUOUS|MUST_VERIFY|VERIFY_PERCPU"},
		{Calibrated | Watchdog | ValidForHRES | Unstable | SuspendNonstop | Reselect, "CALIBRATED|WATCHDOG|VALID_FOR_HRES|UNSTABLE|SUSPEND_NONSTOP|RESELECT"},
		{WDTest | WDTestPerCPU | CoupledClockEvent, "HAS_COUPLED_CLOCK_EVENT|WDTEST|WDTEST_PERCPU"},
		{Unstable | 0x8000_0008, "UNSTABLE|0x80000008"},
	} {
		if got := tt.flags.String(); got != tt.text {
			t.Errorf("%#x prints as %q, want %q", uint32(tt.flags), got, tt.text)
		}
		if got, err := ParseFlags(tt.text); got != tt.flags || err != nil {
			t.Errorf("%q parses as %#x, %v, want %#x", tt.text, uint32(got), err, uint32(tt.flags))
		}
	}
	for _, bad := range []string{"", "must_verify", "UNSTABLE|", "-1", "0x100000000"} {
		f := Unstable
		if err := f.UnmarshalText([]byte(bad)); err == nil || f != Unstable {
			t.Errorf("%q gives %v, %v, want an error and no change", bad, f, err)
		}
	}
}

func FuzzParseFlags(f *testing.F) {
	for _, s := range []string{"0", "UNSTABLE|WATCHDOG", "0x8", "|"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		flags, err := ParseFlags(s)
		if err != nil {
			if flags != 0 {
				t.Fatalf("an error and the value %v", flags)
			}
			return
		}
		if back, err := ParseFlags(flags.String()); back != flags || err != nil {
			t.Fatalf("%q: %v comes back as %v, %v", s, flags, back, err)
		}
	})
}

func TestFlagsOfTheTSCPerRelease(t *testing.T) {
	const base = IsContinuous | MustVerify
	for _, tt := range []struct {
		name       string
		rules      Rules
		tsc, early Flags
	}{
		{"4.4", RulesAt(4, 4, 0), base, base},
		{"5.4", RulesAt(5, 4, 0), base | ValidForHRES, base},
		{"5.10.49", RulesAt(5, 10, 49), base | ValidForHRES, base},
		{"5.10.50", RulesAt(5, 10, 50), base | ValidForHRES | VerifyPerCPU, base},
		{"5.15.0", RulesAt(5, 15, 0), base | ValidForHRES | VerifyPerCPU, base},
		{"7.0", RulesAt(7, 0, 0), base | ValidForHRES | VerifyPerCPU, base},
		{"7.1", RulesAt(7, 1, 0), base | Calibrated, base},
	} {
		if tsc, early := tt.rules.TSC(1_000_000, true).Flags, tt.rules.TSCEarly(1_000_000).Flags; tsc != tt.tsc || early != tt.early {
			t.Errorf("%s: tsc %v, tsc-early %v, want %v, %v", tt.name, tsc, early, tt.tsc, tt.early)
		}
	}
	if f := RulesAt(7, 1, 0).TSC(1_000_000, false).Flags; f.Has(Calibrated) {
		t.Error("7.1: a frequency that was not refined counts as calibrated")
	}
	for minor, want := range map[int]bool{0: false, 1: true} {
		rules := RulesAt(7, minor, 0)
		hpet, err := rules.HPET(23_999_999)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Source{hpet, rules.ACPIPM()} {
			if s.Flags.Has(Calibrated) != want {
				t.Errorf("7.%d: %s has %v", minor, s.Name, s.Flags)
			}
		}
	}
}

func TestClocksRegisterAsTheirLinesSay(t *testing.T) {
	rules := RulesAt(6, 1, 0)
	of := func(name string, f Hz) func() (Source, error) {
		return func() (Source, error) { return rules.Source(name, f) }
	}
	must := func(s Source) func() (Source, error) { return func() (Source, error) { return s, nil } }
	tests := []struct {
		name   string
		source func() (Source, error)
		rating int
		cycles Cycles
		idle   Nanos
	}{
		{"tsc", must(rules.TSC(2_299_998, true)), 300, 0x212733415c7, 440795236380},
		{"tsc by its name", of("tsc", 2_299_998_000), 300, 0x212733415c7, 440795236380},
		{"tsc-early", must(rules.TSCEarly(2_195_990)), 299, 0x1fa766bc6ba, 440795275714},
		{"kvm-clock", must(rules.KVMClock()), 400, 0x1cd42e4dffb, 881590591483},
		{"wdtest-ktime", must(rules.WDTestKtime()), 300, 0x1cd42e4dffb, 881590591483},
		{"hpet", of("hpet", 14_318_179), 250, 0xffffffff, 133484882848},
		{"acpi_pm", must(rules.ACPIPM()), 200, 0xffffff, 2085701024},
		{"arch_sys_counter", of("arch_sys_counter", 54_000_000), 400, 0xc743ce346, 440795203123},
		{"riscv_clocksource", of("riscv_clocksource", 10_000_000), 400, 0x24e6a1710, 440795202120},
		{"hyperv_clocksource_tsc_page", must(rules.HyperVPage()), 500, 0x24e6a1710, 440795202120},
		{"timebase", of("timebase", 512_000_000), 400, 0x761537d007, 440795202126},
		{"tod", must(rules.TOD()), 400, 0x3b0a9be803b0a9, 1805497147909793},
		{"Constant", of("Constant", 100_000_000), 400, 0x171024e7e0, 440795205315},
		{"jiffies", func() (Source, error) { return rules.Jiffies(300) }, 1, 0xffffffff, 6370867519511994},
		{"refined-jiffies", func() (Source, error) { return rules.RefinedJiffies(1000) }, 2, 0xffffffff, 1910969940391419},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := tt.source()
			if err != nil {
				t.Fatal(err)
			}
			r := registryOf(t, rules, s)
			got := r.Sources[0]
			if f := got.Frequency(); f == 0 || s.Freq != 0 && f != Hz(s.Freq)*Hz(s.Scale) {
				t.Errorf("frequency %d Hz", f)
			}
			if got.Rating != tt.rating || got.Conversion.MaxCycles != tt.cycles || got.Conversion.MaxIdle != tt.idle {
				t.Errorf("rating %d, max_cycles %#x, max_idle %d, want %d, %#x, %d", got.Rating, uint64(got.Conversion.MaxCycles), got.Conversion.MaxIdle, tt.rating, uint64(tt.cycles), tt.idle)
			}
		})
	}
}

func TestEveryKnownClockCanBeRegistered(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range KnownClocks() {
		if seen[k.Name] || k.From == "" || k.Rating < 1 || len(k.Name) > MaxName || !k.Mask.Valid() {
			t.Errorf("%+v: a name twice, or a field that cannot be", k)
		}
		seen[k.Name] = true
		for _, o := range k.Other {
			if o.Rating == k.Rating || o.When == "" {
				t.Errorf("%s: another rating %+v", k.Name, o)
			}
		}
		for _, rules := range []Rules{RulesAt(2, 6, 24), RulesAt(5, 15, 0), RulesAt(7, 3, 4)} {
			var s Source
			var err error
			switch {
			case k.Name == "jiffies":
				s, err = rules.Jiffies(250)
			case k.Ticks:
				s, err = rules.RefinedJiffies(250)
			case k.Hz == 0:
				s, err = rules.Source(k.Name, 24_000_000)
			default:
				s, err = rules.Source(k.Name, 0)
			}
			if err == nil {
				r := NewRegistry(rules)
				_, err = r.Register(s)
			}
			if err != nil {
				t.Errorf("%s in %s: %v", k.Name, rules.Release, err)
			}
			if got := k.Flags.Has(MustVerify); got != s.Flags.Has(MustVerify) {
				t.Errorf("%s in %s: watched %v", k.Name, rules.Release, got)
			}
		}
	}
}

func TestSourcesThatCannotBeMade(t *testing.T) {
	rules := RulesAt(6, 1, 0)
	for _, tt := range []struct {
		name string
		f    Hz
	}{{"tcs", 1}, {"", 1}, {"hpet", 0}, {"hpet", 1 << 33}, {"tsc", 999}, {"jiffies", 250}, {"tod", 1 << 40}} {
		if s, err := rules.Source(tt.name, tt.f); err == nil {
			t.Errorf("%q at %d Hz: %+v, want an error", tt.name, tt.f, s)
		}
	}
	for _, hz := range []int{0, -1} {
		for name, source := range map[string]func(int) (Source, error){"jiffies": rules.Jiffies, "refined": rules.RefinedJiffies, "wdtest": rules.WDTestJiffies} {
			if s, err := source(hz); err == nil {
				t.Errorf("%s at HZ %d: %+v, want an error", name, hz, s)
			}
		}
	}
	if got := MIPSRating(500_000_000); got != 250 {
		t.Errorf("rating of a MIPS counter at 500 MHz: %d, want 250", got)
	}
}

func TestSourceSurvivesJSON(t *testing.T) {
	s := RulesAt(5, 15, 0).TSCEarly(2_300_000)
	s.convert(RulesAt(5, 15, 0))
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Source
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
}
