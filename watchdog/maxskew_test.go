package watchdog

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/clocksource"
)

func TestMaxSkewMovesAllLimitsOfItsEraTogether(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		era                      Era
		release                  string
		us                       int
		read, skip, margin, skew clocksource.Nanos // of a TSC against an HPET, ns
		printed                  clocksource.Nanos
		skewEarly                clocksource.Nanos // of tsc-early
		readEarly                clocksource.Nanos
	}{
		{"5.19 reads within S and skips above half of it", E6, "5.19", 100, 100_000, 50_000, 200_000, 400_000, 100_000, 32_200_000, 100_000},
		{"5.19 at the least value", E6, "5.19", 50, 50_000, 25_000, 100_000, 200_000, 50_000, 32_100_000, 50_000},
		{"6.1.192 at another value", LTS61192, "6.1.192", 250, 250_000, 125_000, 500_000, 1_000_000, 250_000, 32_500_000, 250_000},
		{"6.5 at its default", E7, "6.5", 125, 125_000, 62_500, 250_000, 500_000, 125_000, 32_250_000, 125_000},
		{"6.5 at the greatest value", E7, "6.5", 1000, 1_000_000, 500_000, 2_000_000, 4_000_000, 1_000_000, 34_000_000, 1_000_000},
		{"6.11 as 6.5", E9, "6.11", 500, 500_000, 250_000, 1_000_000, 2_000_000, 500_000, 33_000_000, 500_000},
		{"6.14 by its margins", E10, "6.14", 200, 1_200_000, 800_000, 400_000, 800_000, 200_000, 32_400_000, 32_800_000},
		{"7.0 by its margins", E11, "7.0", 200, 800_000, 400_000, 400_000, 800_000, 200_000, 32_400_000, 32_400_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain, _ := ProfileAt(tt.era, release(tt.release))
			p, err := plain.WithMaxSkew(tt.us)
			if err != nil {
				t.Fatal(err)
			}
			w, err := New(setupFor(t, p, "tsc"))
			if err != nil {
				t.Fatal(err)
			}
			early, err := New(setupFor(t, p, "tsc-early"))
			if err != nil {
				t.Fatal(err)
			}
			got := [...]clocksource.Nanos{w.limits[0].read, w.limits[0].skip, w.setup.Watched[0].Margin, w.limits[0].skew, p.MaxSkew, early.limits[0].skew, early.limits[0].read}
			want := [...]clocksource.Nanos{tt.read, tt.skip, tt.margin, tt.skew, tt.printed, tt.skewEarly, tt.readEarly}
			if got != want {
				t.Errorf("read limit, skip limit, margin, skew limit, printed limit, and of tsc-early skew and read limit:\n got %v\nwant %v", got, want)
			}
			if again, _ := ProfileAt(tt.era, release(tt.release)); plain != again {
				t.Error("the profile that it was made of changed")
			}
		})
	}
}

func TestTheDefaultMaxSkewIsTheProfileItself(t *testing.T) {
	for _, p := range Profiles() {
		if !p.Configurable {
			continue
		}
		if same, err := p.WithMaxSkew(int(p.MaxSkew / us)); err != nil || same != p {
			t.Errorf("%s with its own S: %+v, %v", p.Era, same, err)
		}
	}
}

func TestMaxSkewIsRefusedWhereNoKernelHasIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		era     Era
		release string
		us      int
		why     string
	}{
		{"5.15 has the number fixed", E5, "5.15", 100, "no such build option"},
		{"5.17 came before the option", E6, "5.17", 100, "no such build option"},
		{"5.15.224 has it fixed, too", LTS515224, "5.15.224", 100, "no such build option"},
		{"5.10 has it fixed", LTS510223, "5.10.223", 100, "no such build option"},
		{"the rewrite took it away", E12, "7.2.13", 100, "no such build option"},
		{"one less than the least", E7, "6.5", 49, "50 to 1000"},
		{"one more than the most", E7, "6.5", 1001, "50 to 1000"},
		{"a negative number", E11, "7.0", -1, "50 to 1000"},
	} {
		p, _ := ProfileAt(tt.era, release(tt.release))
		if got, err := p.WithMaxSkew(tt.us); err == nil || !strings.Contains(err.Error(), tt.why) || got != (Profile{}) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.why)
		}
	}
}
