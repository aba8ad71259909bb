package campaign

import (
	"strings"
	"testing"
	"time"
)

func TestAFaultIsWrittenAsItIsRead(t *testing.T) {
	for _, c := range []struct {
		text     string
		want     Fault
		restored bool
	}{
		{"none", Fault{}, false},
		{"restore", Fault{Kind: Restore, CPU: AllCPUs}, true},
		{"step +1ms", Fault{Kind: Step, CPU: AllCPUs, By: time.Millisecond}, true},
		{"step -250us", Fault{Kind: Step, CPU: AllCPUs, By: -250 * time.Microsecond}, true},
		{"cpu1 +300us", Fault{Kind: Step, CPU: 1, By: 300 * time.Microsecond}, true},
		{"rate +50000ppm", Fault{Kind: Rate, CPU: AllCPUs, PPM: 50000}, false},
	} {
		if f, err := ParseFault(c.text); err != nil || f != c.want || f.String() != c.text || f.Restored() != c.restored || f.None() != (c.text == "none") {
			t.Errorf("%q: %+v, written %q, error %v", c.text, f, f, err)
		}
	}
	if f, err := ParseFault("rate -5%"); err != nil || f.PPM != -50000 || f.String() != "rate -50000ppm" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAFaultWithoutSenseIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"step", "want none, step +TIME"},
		{"step 1ms", "with its sign"},
		{"step +0ms", "with its sign"},
		{"step +30s", "up to 20s"},
		{"step +1 ms", "want none, step +TIME"},
		{"gpu1 +1ms", "want none, step +TIME"},
		{"cpu-1 +1ms", "want none, step +TIME"},
		{"cpu1000 +1ms", "want none, step +TIME"},
		{"rate 5%", "with its sign"},
		{"rate +5", "with its sign"},
		{"rate +", "with its sign"},
		{"rate +600000ppm", "up to 500000 ppm"},
		{"rate +NaN%", "with its sign"},
	} {
		if f, err := ParseFault(c.text); err == nil || f != (Fault{}) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %+v, %v", c.text, f, err)
		}
	}
}

func FuzzParseFault(f *testing.F) {
	for _, s := range []string{"none", "restore", "step +1ms", "cpu1 -300us", "rate +50000ppm", "rate -5%", "rate +1e-3ppm"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseFault(text)
		if err != nil {
			if v != (Fault{}) {
				t.Fatalf("an error came with %+v", v)
			}
			return
		}
		if again, err := ParseFault(v.String()); err != nil || again != v {
			t.Fatalf("%q was read as %+v, written as %q, and read again as %+v, %v", text, v, v, again, err)
		}
	})
}
