package fidelity

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestABootComesBackAsItWas(t *testing.T) {
	want := []Boot{*retried(), *bootOf("7.3.4+deb13-amd64", "#1 SMP")}
	text := want[1].Append(append(want[0].Append([]byte("# made by hand\n\n")), '\n'))
	got, err := ParseBoots(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("boots (-want +got):\n%s", diff)
	}
}

func TestATextThatIsNoBootIsAnError(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"a check before the boot", "c 1 0 2", `line 1 stands before the first "boot"`},
		{"an unknown line", "boot x\nd 1", `line 2: "d" is not known`},
		{"a check without a CPU", "boot x\nc 1", "line 2: a check of 1 fields"},
		{"a check with a letter", "boot x\nc 1 0 x", "line 2: check: "},
		{"a negative gap", "boot x\nc 1 0 -1", "line 2: check: "},
		{"a CPU that cannot be", "boot x\nc 1 70000", "70000 is no CPU"},
		{"no CPUs", "boot x\ncpus 0", `"0" is no number of CPUs`},
		{"no rate", "boot x\nhpet -5", `"-5" is no rate`},
		{"a line without end", "boot x\nl " + strings.Repeat("x", 1<<20), "token too long"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			boots, err := ParseBoots(strings.NewReader(c.text))
			if boots != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d boots, error %v, want %q", len(boots), err, c.want)
			}
		})
	}
}

// What is accepted writes and comes back the same, and is compared without a panic.
func FuzzParseBoots(f *testing.F) {
	f.Add(retried().Append(nil))
	f.Add([]byte("boot 7.3.4\nversion x\ncpus 2\nhpet 100000000\nc 5 0 3\nc 18446744073709551615 0 1 2\nl 6,1,2,-;clocksource: x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		boots, err := ParseBoots(bytes.NewReader(text))
		if err != nil {
			if boots != nil {
				t.Fatal("an error came with boots")
			}
			return
		}
		var again []byte
		for i := range boots {
			again = boots[i].Append(again)
			if len(boots[i].Checks) < 1000 {
				_, _ = Compare(&boots[i])
			}
		}
		back, err := ParseBoots(bytes.NewReader(again))
		if err != nil {
			// Facts that are missing are written as zero, which is no fact.
			for _, b := range boots {
				if b.CPUs == 0 || b.HPET == 0 {
					return
				}
			}
			t.Fatal(err)
		}
		if diff := cmp.Diff(boots, back); diff != "" {
			t.Errorf("boots (-want +got):\n%s", diff)
		}
	})
}
