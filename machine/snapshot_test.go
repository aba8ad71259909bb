package machine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
)

func TestWordsSplitsAsTheKernelDoes(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"an empty line has no words", "", nil},
		{"blanks of every kind separate", " quiet\ttsc=reliable \n", []string{"quiet", "tsc=reliable"}},
		{"a quoted value keeps its blanks", `dyndbg="file a +p" ro`, []string{`dyndbg="file a +p"`, "ro"}},
		{"an open quote runs to the end", `x="a b`, []string{`x="a b`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, machine.Words(tt.in)); diff != "" {
				t.Errorf("Words(%q), -want +got:\n%s", tt.in, diff)
			}
		})
	}
}

func TestOptionFindsValuesAndBareWords(t *testing.T) {
	for _, tt := range []struct {
		name, line, option string
		want               []string
		bare               bool
	}{
		{"a value given twice is told twice, in order", "tsc=reliable tsc=nowatchdog", "tsc", []string{"reliable", "nowatchdog"}, false},
		{"dash and underscore are the same", "no_kvmclock", "no-kvmclock", nil, true},
		{"quotes around a value are not part of it", `clocksource="hpet"`, "clocksource", []string{"hpet"}, false},
		{"an empty value is a value", "tsc=", "tsc", []string{""}, false},
		{"a longer name is another option", "tsc_early_khz=1", "tsc", nil, false},
		{"what follows -- belongs to init", "quiet -- tsc=unstable", "tsc", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := machine.Snapshot{CommandLine: tt.line}
			got, bare := s.Option(tt.option)
			if diff := cmp.Diff(tt.want, got); diff != "" || bare != tt.bare {
				t.Errorf("Option(%q): bare %t, want %t; -want +got:\n%s", tt.option, bare, tt.bare, diff)
			}
		})
	}
}

func TestHasIsUnknownWithoutFlags(t *testing.T) {
	if got := (machine.CPU{}).Has("tsc"); got != machine.Unknown {
		t.Errorf("no flags: got %s, want unknown", got)
	}
	c := machine.CPU{Flags: []string{"tsc", "constant_tsc"}}
	if got := c.Has("constant_tsc"); got != machine.Yes {
		t.Errorf("constant_tsc: got %s, want yes", got)
	}
	if got := c.Has("tsc_adjust"); got != machine.No {
		t.Errorf("tsc_adjust: got %s, want no", got)
	}
}

func TestEmptyParametersDifferFromUnreadOnesInJSON(t *testing.T) {
	unread, err := json.Marshal(machine.Clocksource{})
	if err != nil {
		t.Fatal(err)
	}
	none, err := json.Marshal(machine.Clocksource{Parameters: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(unread), "parameters") || !strings.Contains(string(none), `"parameters":{}`) {
		t.Errorf("unread: %s\nnone: %s\nwant the second alone to carry an empty parameters object", unread, none)
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`a b="c d" -- e`)
	f.Add(`"""`)
	f.Fuzz(func(t *testing.T, line string) {
		words := machine.Words(line)
		again := machine.Words(strings.Join(words, " "))
		// An open quote swallows what is joined behind it, so only even quotes must come back.
		if strings.Count(line, `"`)%2 == 0 {
			if diff := cmp.Diff(words, again); diff != "" {
				t.Errorf("splitting the joined words of %q again, -first +second:\n%s", line, diff)
			}
		}
	})
}
