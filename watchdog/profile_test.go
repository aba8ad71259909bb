package watchdog

import (
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

// The numbers of every era for a TSC against an HPET, in ns.
func TestProfilesCarryTheNumbersOfTheirEra(t *testing.T) {
	tests := []struct {
		era             Era
		read            ReadPattern
		attempts8       int // on 8 CPUs
		readLimit       clocksource.Nanos
		skipLimit       clocksource.Nanos
		skew, skewEarly clocksource.Nanos // tsc and tsc-early against hpet
		long            clocksource.Nanos
		onSlow, onSkip  Action
		retries, verify bool // which parameters exist
		latencyCondemns bool
		skipsLong       bool
		auto, rotate    bool
	}{
		{E0, ReadSharedReference, 1, 0, 0, 62500000, 62500000, 0, "", "", false, false, false, false, false, false},
		{E1, ReadSharedReference, 1, 0, 0, 62500000, 62500000, 0, "", "", false, false, false, false, false, true},
		{E2, ReadClockFirst, 1, 0, 0, 62500000, 62500000, 0, "", "", false, false, false, false, false, true},
		{E3, ReadClockFirst, 1, 0, 0, 62500000, 62500000, 0, "", "", false, false, false, false, false, true},
		{E4, ReadClockFirst, 1, 0, 0, 62500000, 62500000, 0, "", "", false, false, false, false, false, true},
		{E5, ReadThree, 4, 50000, 0, 200000, 32100000, 0, ActCondemn, "", true, true, true, false, false, true},
		{E6, ReadFour, 3, 100000, 50000, 400000, 32200000, 0, ActCondemn, ActKeepReference, true, true, true, false, false, true},
		{E7, ReadFour, 3, 125000, 62500, 500000, 32250000, 0, ActCondemn, ActSuspend, true, true, true, false, false, true},
		{E8, ReadFour, 3, 125000, 62500, 500000, 32250000, 1000000000, ActCondemn, ActSuspend, true, true, true, true, false, true},
		{E9, ReadFour, 3, 125000, 62500, 500000, 32250000, 1000000000, ActCondemn, ActSuspend, false, true, true, true, true, true},
		{E10, ReadFour, 3, 750000, 500000, 500000, 32250000, 1000000000, ActCondemn, ActSuspend, false, true, true, true, true, true},
		{E11, ReadFour, 3, 500000, 250000, 500000, 32250000, 1000000000, ActCondemn, ActSuspend, false, true, true, true, true, true},
		{E12, ReadThree, 3, 50000, 0, 0, 0, 0, ActForgetReference, "", false, false, false, true, false, false},
		{LTS51050, ReadThree, 4, 100000, 0, 62500000, 62500000, 0, ActCondemn, "", true, false, true, false, false, true},
		{LTS51094, ReadFour, 4, 100000, 50000, 400000, 32200000, 0, ActCondemn, ActKeepReference, true, false, true, false, false, true},
		{LTS510173, ReadFour, 4, 100000, 50000, 400000, 32200000, 0, ActCondemn, ActSuspend, true, false, true, false, false, true},
		{LTS510223, ReadFour, 4, 100000, 50000, 400000, 32200000, 1000000000, ActCondemn, ActSuspend, true, false, true, true, false, true},
		{LTS51517, ReadFour, 4, 100000, 50000, 400000, 32200000, 0, ActCondemn, ActKeepReference, true, true, true, false, false, true},
		{LTS515Pause, ReadFour, 4, 100000, 50000, 400000, 32200000, 0, ActCondemn, ActSuspend, true, true, true, false, false, true},
		{LTS515Long, ReadFour, 4, 100000, 50000, 400000, 32200000, 1000000000, ActCondemn, ActSuspend, true, true, true, true, false, true},
		{LTS515224, ReadFour, 3, 100000, 50000, 400000, 32200000, 1000000000, ActCondemn, ActSuspend, false, true, true, true, true, true},
		{LTS6116, ReadFour, 3, 100000, 50000, 400000, 32200000, 0, ActCondemn, ActSuspend, true, true, true, false, false, true},
		{LTS6178, ReadFour, 3, 100000, 50000, 400000, 32200000, 1000000000, ActCondemn, ActSuspend, true, true, true, true, false, true},
		{LTS61192, ReadFour, 3, 100000, 50000, 400000, 32200000, 1000000000, ActCondemn, ActSuspend, false, true, true, true, true, true},
	}
	if len(tests) != len(Eras()) {
		t.Errorf("the table has %d eras, the package %d", len(tests), len(Eras()))
	}
	for _, tt := range tests {
		t.Run(string(tt.era), func(t *testing.T) {
			p, ok := ProfileOf(tt.era)
			if !ok || p.Era != tt.era || p.Releases == "" {
				t.Fatalf("ProfileOf = %+v, %v", p, ok)
			}
			readLimit, _ := p.ReadLimitFor()
			skip, _ := p.SkipLimit.At(2*p.MaxSkew, 2*p.MaxSkew)
			tsc := p.Margin("tsc", 2299998, clocksource.ScaleKHz)
			early := p.Margin("tsc-early", 2299998, clocksource.ScaleKHz)
			hpet := p.Margin("hpet", 23999999, clocksource.ScaleHz)
			check := func(what string, got, want any) {
				t.Helper()
				if got != want {
					t.Errorf("%s: got %v, want %v", what, got, want)
				}
			}
			check("read pattern", p.Read, tt.read)
			check("attempts on 8 CPUs", p.Attempts(8, -1), tt.attempts8)
			check("read limit", readLimit, tt.readLimit)
			check("skip limit", skip, tt.skipLimit)
			check("skew limit of tsc", p.SkewLimit(hpet, tsc, 0, 0, false), tt.skew)
			check("skew limit of tsc-early", p.SkewLimit(hpet, early, 0, 0, false), tt.skewEarly)
			check("longest interval", p.LongInterval, tt.long)
			check("answer to slow reads", p.OnSlow, tt.onSlow)
			check("answer to a slow reference", p.OnSkip, tt.onSkip)
			check("retries parameter", p.RetriesParameter, tt.retries)
			check("verify parameter", p.VerifyParameter, tt.verify)
			check("latency condemns", p.LatencyCondemns(), tt.latencyCondemns)
			check("skips long intervals", p.SkipsLongIntervals(), tt.skipsLong)
			check("automatic retries", p.AutoRetries, tt.auto)
			check("rotates", p.Rotate, tt.rotate)
		})
	}
}

func TestTheReadLimitOfTscEarlyFollowsItsMargin(t *testing.T) {
	p, _ := ProfileOf(E10)
	if got, _ := p.ReadLimit.At(250*us, 32*ms); got != 32_500_000 {
		t.Errorf("read limit of tsc-early in E10 is %d, want 32500000", got)
	}
}

func TestAttemptsFollowCPUsOrTheParameter(t *testing.T) {
	tests := []struct {
		era             Era
		cpus, parameter int
		want            int
	}{
		{E5, 960, -1, 4}, {E5, 8, 50, 51}, {E5, 8, 0, 1}, {E9, 1, -1, 2}, {E9, 960, -1, 6}, {E9, 960, 50, 6},
		{E4, 960, 50, 1}, {E12, 960, 50, 3}, {LTS61192, 64, -1, 5},
	}
	for _, tt := range tests {
		p, _ := ProfileOf(tt.era)
		if got := p.Attempts(tt.cpus, tt.parameter); got != tt.want {
			t.Errorf("%s, %d CPUs, parameter %d: %d attempts, want %d", tt.era, tt.cpus, tt.parameter, got, tt.want)
		}
	}
}

// The published events of the table "replaying the published events": which
// limits a delay passes if it persists.
func TestPublishedDelaysAgainstTheLimits(t *testing.T) {
	tests := []struct {
		name       string
		delay, seq clocksource.Nanos
		want       map[Era]string
	}{
		{"60 666 ns of the retry discussion", 60666, 30333, map[Era]string{E5: "condemn", E6: "accept", E7: "accept", E9: "accept", E10: "accept", E11: "accept", E12: "forget"}},
		{"boot delays of 182 us on a busy bus", 182291, 180000, map[Era]string{E5: "condemn", E6: "skip", E7: "skip", E9: "skip", E10: "accept", E11: "accept", E12: "forget"}},
		{"8 sockets, 153 560 ns", 153560, 11440, map[Era]string{E5: "condemn", E6: "condemn", E7: "condemn", E9: "condemn", E10: "accept", E11: "accept", E12: "forget"}},
		{"610 us", 610000, 1000, map[Era]string{E10: "accept", E11: "condemn"}},
	}
	for _, tt := range tests {
		for era, want := range tt.want {
			p, _ := ProfileOf(era)
			limit, _ := p.ReadLimitFor()
			skip, skips := p.SkipLimit.At(2*p.MaxSkew, 2*p.MaxSkew)
			got := "accept"
			switch {
			case tt.delay <= limit:
			case skips && tt.seq > skip:
				got = "skip"
			case p.OnSlow == ActForgetReference:
				got = "forget"
			case p.LatencyCondemns():
				got = "condemn"
			}
			if got != want {
				t.Errorf("%s in %s: %s, want %s", tt.name, era, got, want)
			}
		}
	}
}

func TestDetailsThatChangedWithinAnEra(t *testing.T) {
	tests := []struct {
		era         Era
		release     string
		x86, other  clocksource.DeltaRule
		arithmetic  clocksource.Arithmetic
		strict      bool
		unsignedMS  bool
		fewMeansAll bool
		fromNow     bool
	}{
		{E2, "3.16", clocksource.DeltaPlain, clocksource.DeltaPlain, clocksource.Wrapping, false, false, false, false},
		{E2, "3.17", clocksource.DeltaSigned, clocksource.DeltaPlain, clocksource.Wrapping, false, false, false, false},
		{E3, "4.4", clocksource.DeltaSigned, clocksource.DeltaPlain, clocksource.Wrapping, false, false, false, false},
		{LTS510223, "5.10.223", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.Wrapping, false, false, false, false},
		{E7, "6.5", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.Wrapping, false, true, false, false},
		{E8, "6.8", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.Wrapping, false, false, false, false},
		{E9, "6.10", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.OverflowSafe, false, false, false, false},
		{E9, "6.10.5", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.OverflowSafe, true, false, false, false},
		{E10, "6.12.4", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.OverflowSafe, true, false, false, false},
		{E10, "6.12.5", clocksource.DeltaMaxRaw, clocksource.DeltaMaxRaw, clocksource.OverflowSafe, true, false, false, false},
		{E10, "6.16", clocksource.DeltaMaxRaw, clocksource.DeltaMaxRaw, clocksource.OverflowSafe, true, false, true, false},
		{LTS61192, "6.1.106", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.Wrapping, true, false, false, false},
		{LTS61192, "6.1.142", clocksource.DeltaTopBit, clocksource.DeltaPlain, clocksource.OverflowSafe, true, false, true, false},
		{E12, "7.2.13", clocksource.DeltaMaxRaw, clocksource.DeltaMaxRaw, clocksource.OverflowSafe, false, false, false, false},
		{E12, "7.3.4", clocksource.DeltaMaxRaw, clocksource.DeltaMaxRaw, clocksource.OverflowSafe, false, false, false, true},
	}
	for _, tt := range tests {
		p, ok := ProfileAt(tt.era, release(tt.release))
		if !ok {
			t.Fatalf("no profile for %s", tt.era)
		}
		got := []any{p.DeltaX86, p.DeltaOther, p.Arithmetic, p.Text.RetriedStrict, p.Text.UnsignedMS, p.Verify.AllIfFew, p.ExpiryFromNow}
		want := []any{tt.x86, tt.other, tt.arithmetic, tt.strict, tt.unsignedMS, tt.fewMeansAll, tt.fromNow}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s at %s, detail %d: got %v, want %v", tt.era, tt.release, i, got[i], want[i])
			}
		}
	}
}

func TestTheRewriteLimitsSkewByTheInterval(t *testing.T) {
	p, _ := ProfileOf(E12)
	half := clocksource.Nanos(500_000_000)
	if got := p.SkewLimit(0, 0, half, 3000, true); got != 244140+3000 {
		t.Errorf("calibrated: %d, want 247140", got)
	}
	if got := p.SkewLimit(0, 0, half, 3000, false); got != 1953125+3000 {
		t.Errorf("uncalibrated: %d, want 1956125", got)
	}
	for distance, want := range map[int]clocksource.Nanos{0: 50_000, 10: 50_000, 20: 100_000, 255: 500_000, 1 << 62: 500_000} {
		if got := p.RemoteTimeout(distance); got != want {
			t.Errorf("remote timeout at distance %d is %d, want %d", distance, got, want)
		}
	}
}

func TestSkewText(t *testing.T) {
	for era, want := range map[Era]string{
		E0:  "at least 62.5 ms, however long the interval",
		E4:  "more than 62.5 ms, however long the interval",
		E5:  "more than 200 us, however long the interval",
		E11: "more than 500 us, however long the interval",
		E12: "488 ppm of the interval for calibrated clocks, 3906 ppm otherwise, plus the read-out time",
	} {
		p, _ := ProfileOf(era)
		if got := p.SkewText(); got != want {
			t.Errorf("%s: %q, want %q", era, got, want)
		}
	}
}

func TestTheDesignThatWasNeverReleasedForgivesLatency(t *testing.T) {
	p, ok := ProfileOf(TipForgive)
	if !ok || p.LatencyCondemns() || p.OnSlow != ActCoarse || p.Retries != 3 {
		t.Errorf("tip-forgive: %+v, %v", p, ok)
	}
	if p, ok := ProfileOf("E99"); ok {
		t.Errorf("an unknown era has profile %+v", p)
	}
}
