package dispatch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/journal"
)

var some = []Parameter{{"seed", "1"}, {"boots", "400"}}

func open(t *testing.T, name string, p []Parameter) *Ledger {
	t.Helper()
	l, err := OpenLedger(name, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // some tests have closed it
	return l
}

// filled writes a ledger of three pieces and returns its bytes.
func filled(t *testing.T, name string) []byte {
	t.Helper()
	l := open(t, name, some)
	for i, piece := range []string{"a", "b", "c"} {
		if err := l.Append(piece, map[string]int{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestALedgerGivesBackWhatWasFinished(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	filled(t, name)
	l := open(t, name, some)
	var got struct{ N int }
	if found, err := l.Find("c", &got); !found || err != nil || got.N != 2 || l.Len() != 3 {
		t.Errorf("%v %v %+v of %d", found, err, got, l.Len())
	}
	if found, _ := l.Find("d", &got); found {
		t.Error("a piece that nobody did")
	}
}

// A process may be killed and a disk may be full at any byte.
func TestALedgerThatWasCutAnywhereGoesOn(t *testing.T) {
	dir := t.TempDir()
	whole := filled(t, filepath.Join(dir, "whole"))
	for cut := range len(whole) {
		name := filepath.Join(dir, "cut")
		if err := os.WriteFile(name, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, name, some)
		for i, piece := range []string{"a", "b", "c"} {
			var got struct{ N int }
			found, err := l.Find(piece, &got)
			if err != nil || found && got.N != i {
				t.Fatalf("cut at %d: %v, %+v", cut, err, got)
			}
			if !found {
				if err := l.Append(piece, map[string]int{"n": i}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(name); !bytes.Equal(text, whole) {
			t.Fatalf("cut at %d and gone on:\n%s", cut, text)
		}
	}
}

func TestALedgerRefusesWhatIsNotItsOwn(t *testing.T) {
	dir := t.TempDir()
	whole := string(filled(t, filepath.Join(dir, "whole")))
	lines := strings.SplitAfter(whole, "\n")
	for name, c := range map[string]struct {
		text, want string
		with       []Parameter
	}{
		"another value":       {whole, "begun with another boots (400, now 500): run with the same parameters, or name another file", []Parameter{{"seed", "1"}, {"boots", "500"}}},
		"a parameter more":    {whole, "begun with another cpus (none, now 8)", append(some[:2:2], Parameter{"cpus", "8"})},
		"a parameter less":    {whole, "begun with other parameters", some[:1]},
		"some other file":     {"a log\nof something\n", "line 1: this is no state of a run", some},
		"one without lines":   {"\x7fELF", "this is no state of a run", some},
		"damage inside":       {lines[0] + "xx" + lines[1] + lines[2], "line 2: this is no line of this run; delete the file from this line on", some},
		"a line of elsewhere": {lines[0] + `{"run":"0123456789abcdef","piece":"a","result":{}}` + "\n", "line 2: this is no line of this run", some},
		"a line without end":  {lines[0] + strings.Repeat("x", journal.MaxLine+1), "line 2", some},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "state")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := OpenLedger(file, c.with)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if text, _ := os.ReadFile(file); string(text) != c.text {
				t.Error("the file was changed")
			}
		})
	}
}

func TestTwoRunsDoNotShareALedger(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	open(t, name, some)
	if _, err := OpenLedger(name, some); err == nil || !strings.Contains(err.Error(), "another run is using it") {
		t.Errorf("error %v", err)
	}
}
