package guest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/load"
)

func TestAPlanTravelsAsWordsOfTheCommandLine(t *testing.T) {
	cases := []struct {
		name  string
		plan  Plan
		words string
	}{
		{"the zero value needs no word", Plan{}, ""},
		{"a window", Plan{Window: 10 * time.Second}, "CSWATCH_WINDOW=10s"},
		{
			"an early end",
			Plan{Window: time.Minute, EndOn: []event.Kind{event.TSCUnstable, event.TestSkipped}, Linger: 1500 * time.Millisecond},
			"CSWATCH_WINDOW=1m0s CSWATCH_END=tsc-unstable,test-skipped CSWATCH_LINGER=1.5s",
		},
		{
			"a program with arguments that need escapes",
			Plan{Window: time.Second, Run: []string{"/bin/a b", "-x=1,2", "", `"50%'\`, "ä"}},
			"CSWATCH_WINDOW=1s CSWATCH_RUN=/bin/a%20b,-x=1%2C2,,%2250%25%27%5C,%C3%A4",
		},
		{"functions of the kernel", Plan{Symbols: []string{"read_tsc", "read_hpet"}}, "CSWATCH_SYMBOLS=read_tsc,read_hpet"},
		{"a load", Plan{Window: time.Second, Load: load.Both}, "CSWATCH_WINDOW=1s CSWATCH_LOAD=both"},
		{"no load, in so many words", Plan{Load: load.None}, "CSWATCH_LOAD=none"},
		{"files that are fetched", Plan{Fetch: []string{"/proc/version", "/a b,c"}}, "CSWATCH_FETCH=/proc/version,/a%20b%2Cc"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			words := c.plan.Words()
			if got := strings.Join(words, " "); got != c.words {
				t.Errorf("words %q, want %q", got, c.words)
			}
			back, err := ParsePlan(append([]string{"HOME=/", "TERM=linux"}, words...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.plan, back); diff != "" {
				t.Errorf("the plan came back changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPlanThatCannotBeCarriedOutIsRefused(t *testing.T) {
	cases := []struct{ name, words, want string }{
		{"a window that is no time", "CSWATCH_WINDOW=ten", "CSWATCH_WINDOW: time: invalid duration"},
		{"a negative window", "CSWATCH_WINDOW=-1s", "window -1s: want 0 to 24h0m0s"},
		{"a linger of days", "CSWATCH_LINGER=25h", "linger 25h0m0s: want 0 to 24h0m0s"},
		{"an event that does not exist", "CSWATCH_END=tsc-unsteady", `"tsc-unsteady" is no kind of event`},
		{"a word of a newer host", "CSWATCH_FAULT=step", "CSWATCH_FAULT: this guest program does not know the word"},
		{"a word that is given twice", "CSWATCH_WINDOW=1s CSWATCH_WINDOW=2s", "CSWATCH_WINDOW is given twice"},
		{"a program without a window", "CSWATCH_RUN=/x", "a program without a window"},
		{"a program without a path", "CSWATCH_WINDOW=1s CSWATCH_RUN=x", `program "x": want an absolute path`},
		{"an escape that breaks off", "CSWATCH_RUN=/x%2", "two hexadecimal digits"},
		{"an escape of other letters", "CSWATCH_RUN=/x%2g", "two hexadecimal digits"},
		{"a quote that should be escaped", `CSWATCH_RUN=/x"`, "must be escaped"},
		{"a function without a name", "CSWATCH_SYMBOLS=read_tsc,", `"" is no name of a function`},
		{"a function with a blank in its name", "CSWATCH_SYMBOLS=read%20tsc", `"read tsc" is no name of a function`},
		{"an argument with a zero byte", "CSWATCH_WINDOW=1s CSWATCH_RUN=/x,%00", "holds a zero byte"},
		{"a load that does not exist", "CSWATCH_WINDOW=1s CSWATCH_LOAD=io", `"io": want none, cpu, hpet, both, net`},
		{"a load without a word", "CSWATCH_LOAD=", `CSWATCH_LOAD: read a kind of load: ""`},
		{"a load without a window", "CSWATCH_LOAD=cpu", "the load cpu without a window"},
		{"a file to fetch without a name", "CSWATCH_FETCH=", `file "" to fetch: want an absolute path`},
		{"a file to fetch without a folder", "CSWATCH_FETCH=version", `file "version" to fetch`},
		{"a file to fetch by a detour", "CSWATCH_FETCH=/sys/../proc/version", `file "/sys/../proc/version" to fetch`},
		{"the root as a file", "CSWATCH_FETCH=/", `file "/" to fetch`},
		{"a file that is fetched twice", "CSWATCH_FETCH=/a,/b,/a", `file "/a" to fetch: want an absolute path without detours, once`},
		{"a file with a zero byte in its name", "CSWATCH_FETCH=/a%00", "to fetch"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := ParsePlan(strings.Fields(c.words))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if diff := cmp.Diff(Plan{}, p); diff != "" {
				t.Errorf("an error came with a plan:\n%s", diff)
			}
		})
	}
}

// What is accepted travels and comes back as it was; an error comes without a plan.
func FuzzParsePlan(f *testing.F) {
	f.Add("CSWATCH_WINDOW=10s\nCSWATCH_END=tsc-unstable,switched\nCSWATCH_LINGER=1s\nCSWATCH_RUN=/cswatch,watch,a%20b")
	f.Add("HOME=/\nCSWATCH_WINDOW=1ns")
	f.Add("CSWATCH_RUN=")
	f.Add("CSWATCH_WINDOW=3s\nCSWATCH_LOAD=both\nCSWATCH_FETCH=/proc/version,/a%20b")
	f.Add("CSWATCH_LOAD=none\nCSWATCH_FETCH=/a/")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlan(strings.Split(text, "\n"))
		if err != nil {
			if diff := cmp.Diff(Plan{}, p); diff != "" {
				t.Fatalf("an error came with a plan:\n%s", diff)
			}
			return
		}
		words := p.Words()
		for _, w := range words {
			if strings.ContainsAny(w, " \t\n\"'\\\x00") {
				t.Errorf("the word %q would be split or changed by the kernel", w)
			}
		}
		back, err := ParsePlan(words)
		if err != nil {
			t.Fatalf("its own words are refused: %v", err)
		}
		if diff := cmp.Diff(p, back); diff != "" {
			t.Errorf("the plan came back changed (-want +got):\n%s", diff)
		}
	})
}
