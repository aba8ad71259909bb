package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// sumUp returns what a stream of events comes to.
func sumUp(t *testing.T, events ...event) (string, *summary) {
	t.Helper()
	var in strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(line)
		in.WriteByte('\n')
	}
	var out strings.Builder
	s := newSummary(&out)
	if err := s.read(strings.NewReader(in.String())); err != nil {
		t.Fatal(err)
	}
	s.print()
	return out.String(), s
}

const pkg = "example.com/owner/module/internal/hw"

func TestSummaryOfEachOutcome(t *testing.T) {
	cases := []struct {
		name   string
		events []event
		want   string
	}{
		{
			"tests that pass leave only the closing line of their package",
			[]event{
				{"run", pkg, "TestA", ""},
				{"output", pkg, "TestA", "=== RUN   TestA\n"},
				{"output", pkg, "TestA", "    a_test.go:3: chatter\n"},
				{"output", pkg, "TestA", "--- PASS: TestA (0.00s)\n"},
				{"pass", pkg, "TestA", ""},
				{"output", pkg, "", "PASS\n"},
				{"output", pkg, "", "ok  \t" + pkg + "\t0.1s\n"},
				{"pass", pkg, "", ""},
			},
			"ok  \t" + pkg + "\t0.1s\n\n1 passed, 0 failed, 0 skipped\n",
		},
		{
			"a skipped test is named with its reason",
			[]event{
				{"output", pkg, "TestHPET", "=== RUN   TestHPET\n"},
				{"output", pkg, "TestHPET", "    hpet_test.go:12: no HPET here:\n"},
				{"output", pkg, "TestHPET", "        open /dev/hpet: no such file\n"},
				{"output", pkg, "TestHPET", "--- SKIP: TestHPET (0.00s)\n"},
				{"skip", pkg, "TestHPET", ""},
				{"skip", pkg, "TestSilent", ""},
				{"output", pkg, "", "ok  \t" + pkg + "\t0.1s\n"},
				{"pass", pkg, "", ""},
			},
			"ok  \t" + pkg + "\t0.1s\n\nSkipped:\n  internal/hw TestHPET: no HPET here: open /dev/hpet: no such file\n" +
				"  internal/hw TestSilent: no reason given\n\n0 passed, 0 failed, 2 skipped\n",
		},
		{
			"a failed test shows its output",
			[]event{
				{"output", pkg, "TestA/x", "=== RUN   TestA/x\n"},
				{"output", pkg, "TestA/x", "        a_test.go:3: wrong\n"},
				{"output", pkg, "TestA/x", "    --- FAIL: TestA/x (0.00s)\n"},
				{"fail", pkg, "TestA/x", ""},
				{"output", pkg, "TestA", "--- FAIL: TestA (0.00s)\n"},
				{"fail", pkg, "TestA", ""},
				{"output", pkg, "", "FAIL\n"},
				{"output", pkg, "", "FAIL\t" + pkg + "\t0.1s\n"},
				{"fail", pkg, "", ""},
			},
			"        a_test.go:3: wrong\n    --- FAIL: TestA/x (0.00s)\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\t" + pkg + "\t0.1s\n" +
				"\nFailed:\n  internal/hw TestA/x\n  internal/hw TestA\n\n0 passed, 2 failed, 0 skipped\n",
		},
		{
			"a package that does not build is a failure",
			[]event{
				{"build-output", "", "", "./x.go:3: undefined: y\n"},
				{"build-fail", "", "", ""},
				{"output", pkg, "", "FAIL\t" + pkg + " [build failed]\n"},
				{"fail", pkg, "", ""},
			},
			"./x.go:3: undefined: y\nFAIL\t" + pkg + " [build failed]\n\nFailed:\n  internal/hw (the package as a whole)\n\n0 passed, 1 failed, 0 skipped\n",
		},
		{
			"a test under which the program died shows its output",
			[]event{
				{"output", pkg, "TestA", "=== RUN   TestA\n"},
				{"output", pkg, "TestA", "signal: killed\n"},
				{"output", pkg, "", "FAIL\t" + pkg + "\t0.1s\n"},
				{"fail", pkg, "", ""},
			},
			"FAIL\t" + pkg + "\t0.1s\nsignal: killed\n\nFailed:\n  internal/hw (the package as a whole)\n\n0 passed, 1 failed, 0 skipped\n",
		},
		{
			"a package without tests counts nothing",
			[]event{{"output", pkg, "", "?   \t" + pkg + "\t[no test files]\n"}, {"skip", pkg, "", ""}},
			"?   \t" + pkg + "\t[no test files]\n\n0 passed, 0 failed, 0 skipped\n",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _ := sumUp(t, c.events...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinesThatAreNoEventsPassThrough(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	if err := s.read(strings.NewReader("go: downloading x\n{\"no\":\"event\"}\nlast")); err != nil {
		t.Fatal(err)
	}
	if want := "go: downloading x\n{\"no\":\"event\"}\nlast"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestAReadErrorIsReported(t *testing.T) {
	broken := errors.New("broken pipe")
	if err := newSummary(&strings.Builder{}).read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// The program itself, on a small module of its own: the format of go test's
// events is not ours, so canned ones are not enough.
func TestTheProgramOnARealModule(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "testsum")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	const good = "package m\nimport \"testing\"\nfunc TestGood(t *testing.T) {}\nfunc TestNotHere(t *testing.T) { t.Skip(\"no clock\") }\n"
	const bad = "func TestBad(t *testing.T) { t.Error(\"it is bad\") }\n"
	cases := []struct {
		name, source string
		ok           bool
		want         []string
	}{
		{"good", good, true, []string{`(?m)^ok  \tm\t`, `(?m)^  m TestNotHere: no clock$`, `\n1 passed, 0 failed, 1 skipped\n$`}},
		{"bad", good + bad, false, []string{`m_test\.go:5: it is bad`, `(?m)^FAIL\tm\t`, `(?m)^  m TestBad$`, `\n1 passed, 1 failed, 1 skipped\n$`}},
		{"broken", good + "nonsense", false, []string{`(?m)^FAIL\tm \[setup failed\]`, `\n0 passed, 1 failed, 0 skipped\n$`}},
		{"unbuildable", good + "var x int = \"\"\n", false, []string{`(?m)^FAIL\tm \[build failed\]`, `\n0 passed, 1 failed, 0 skipped\n$`}},
		{"empty", "package m\n", false, []string{`no tests to run|no test files`, `\n0 passed, 0 failed, 0 skipped\n`, `testsum: no test was run\n$`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m_test.go": c.source} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(exe, "./...")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.ok {
				t.Errorf("it ended with %v", err)
			}
			for _, want := range c.want {
				if !regexp.MustCompile(want).Match(out) {
					t.Errorf("the output does not match %s:\n%s", want, out)
				}
			}
		})
	}
}
