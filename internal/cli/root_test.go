package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/report"
)

// runWith runs a tree that has one more command, "probe", which does what the test says.
func runWith(t *testing.T, probe *cobra.Command, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := newEnv(strings.NewReader(""), &out, &errs)
	root, started := newRoot(env)
	root.AddCommand(probe)
	prepare(probe, started)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err != nil && !*started {
		err = &usageError{err: err}
	}
	return exitCode(env, cmd, err), out.String(), errs.String()
}

func TestExitCodeFollowsTheErrorThatACommandReturns(t *testing.T) {
	cases := []struct {
		name   string
		err    error
		code   int
		stderr string
	}{
		{"no error is 0 and says nothing", nil, 0, ""},
		{"a plain error is 1", errors.New("read x: gone"), 1, "cswatch: read x: gone\n"},
		{"a usage error is 2 and points to the help", usagef("--a and %s contradict each other", "--b"), 2,
			"cswatch: --a and --b contradict each other\ncswatch: see 'cswatch probe --help'\n"},
		{"a verdict is its code and says nothing", &ExitError{Code: 3}, 3, ""},
		{"a code with a reason gives both", &ExitError{Code: 3, Err: errors.New("it condemned tsc")}, 3, "cswatch: it condemned tsc\n"},
		{"a wrapped code counts", errors.Join(&ExitError{Code: 7, Err: errors.New("a")}, errors.New("b")), 7, "cswatch: a\ncswatch: b\n"},
		{"several lines get the prefix each", errors.New("one\n\ntwo\r\n"), 1, "cswatch: one\ncswatch: two\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			probe := &cobra.Command{Use: "probe", RunE: func(*cobra.Command, []string) error { return c.err }}
			code, stdout, stderr := runWith(t, probe, "probe")
			if code != c.code || stderr != c.stderr || stdout != "" {
				t.Errorf("code %d, stdout %q, stderr %q\nwant %d, nothing and %q", code, stdout, stderr, c.code, c.stderr)
			}
		})
	}
}

func TestACommandCanHaveExitCodesOfItsOwn(t *testing.T) {
	status := exitStatus{Failed: 3, Usage: 3, Table: []exitMeaning{{0, "fine"}, {3, "cannot tell, or usage"}}}
	newProbe := func(err error) *cobra.Command {
		probe := &cobra.Command{Use: "probe", RunE: func(*cobra.Command, []string) error { return err }}
		probe.Flags().Int("needed", 0, "a number")
		setExitStatus(probe, status)
		return probe
	}
	if got := exitStatusOf(newProbe(nil)); !cmp.Equal(got, status) {
		t.Errorf("the exit status does not survive: %s", cmp.Diff(status, got))
	}
	if code, _, _ := runWith(t, newProbe(errors.New("no")), "probe"); code != 3 {
		t.Errorf("failure: exit code %d, want 3", code)
	}
	for _, args := range [][]string{{"probe", "--wrong"}, {"probe", "--needed", "x"}, {"probe", "extra"}} {
		if code, _, _ := runWith(t, newProbe(nil), args...); code != 3 {
			t.Errorf("%q: exit code %d, want 3", args, code)
		}
	}
}

func TestFlagsThatCobraChecksAreUsageToo(t *testing.T) {
	newProbe := func() *cobra.Command {
		probe := &cobra.Command{Use: "probe FILE", Args: cobra.ExactArgs(1), RunE: func(*cobra.Command, []string) error { return nil }}
		probe.Flags().Bool("a", false, "one")
		probe.Flags().Bool("b", false, "other")
		probe.Flags().String("must", "", "needed")
		probe.MarkFlagsMutuallyExclusive("a", "b")
		if err := probe.MarkFlagRequired("must"); err != nil {
			t.Fatal(err)
		}
		return probe
	}
	cases := []struct {
		args []string
		code int
	}{
		{[]string{"probe", "file", "--must=x"}, 0},
		{[]string{"probe", "file"}, 2},
		{[]string{"probe", "--must=x"}, 2},
		{[]string{"probe", "file", "--must=x", "--a", "--b"}, 2},
	}
	for _, c := range cases {
		if code, _, stderr := runWith(t, newProbe(), c.args...); code != c.code {
			t.Errorf("%q: exit code %d, want %d; stderr %q", c.args, code, c.code, stderr)
		}
	}
}

// fullDisk takes some bytes and then no more.
type fullDisk struct{ left int }

var errFull = errors.New("no space left")

func (f *fullDisk) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n := f.left
		f.left = 0
		return n, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

func TestALostResultIsAFailure(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"version"}, {"version", "--format", "json"}, {"--help"}, {"man"}, {"completion", "bash"}} {
		for _, room := range []int{0, 5} {
			var stderr bytes.Buffer
			if code := Run(args, strings.NewReader(""), &fullDisk{left: room}, &stderr); code != ExitFailed {
				t.Errorf("%q on a disk with %d bytes: exit code %d, want %d", args, room, code, ExitFailed)
			}
			if !strings.Contains(stderr.String(), "no space left") || strings.Contains(stderr.String(), "--help") {
				t.Errorf("%q on a disk with %d bytes: stderr %q does not say why", args, room, stderr.String())
			}
		}
	}
}

func TestAVerdictThatNobodyCouldReadIsAFailure(t *testing.T) {
	env := newEnv(strings.NewReader(""), &fullDisk{}, io.Discard)
	if _, err := io.WriteString(env.Stdout, "WARNING"); !errors.Is(err, errFull) {
		t.Fatalf("write: %v", err)
	}
	if code := exitCode(env, nil, &ExitError{Code: 0}); code != ExitFailed {
		t.Errorf("exit code %d, want %d", code, ExitFailed)
	}
}

func TestColorIsDecidedByFlagThenVariablesThenTerminal(t *testing.T) {
	cases := []struct {
		name     string
		flag     string
		vars     map[string]string
		terminal bool
		want     bool
	}{
		{"a terminal gets colour", "auto", nil, true, true},
		{"a pipe does not", "auto", nil, false, false},
		{"NO_COLOR forbids it on a terminal", "auto", map[string]string{"NO_COLOR": "0"}, true, false},
		{"an empty NO_COLOR does not count", "auto", map[string]string{"NO_COLOR": ""}, true, true},
		{"CLICOLOR_FORCE demands it on a pipe", "auto", map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{"CLICOLOR_FORCE=0 demands nothing", "auto", map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{"NO_COLOR goes before CLICOLOR_FORCE", "auto", map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, true, false},
		{"CLICOLOR=0 forbids it", "auto", map[string]string{"CLICOLOR": "0"}, true, false},
		{"a dumb terminal has none", "auto", map[string]string{"TERM": "dumb"}, true, false},
		{"always goes before NO_COLOR", "always", map[string]string{"NO_COLOR": "1"}, false, true},
		{"never goes before CLICOLOR_FORCE", "never", map[string]string{"CLICOLOR_FORCE": "1"}, true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env := newEnv(nil, io.Discard, io.Discard)
			env.Getenv = func(name string) string { return c.vars[name] }
			env.IsTerminal = func(io.Writer) bool { return c.terminal }
			if err := env.color.Set(c.flag); err != nil {
				t.Fatal(err)
			}
			if got := env.Color(env.Stdout); got != c.want {
				t.Errorf("colour %t, want %t", got, c.want)
			}
		})
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	env := newEnv(nil, io.Discard, io.Discard)
	if env.IsTerminal(env.Stdout) {
		t.Error("a discarded stream counts as a terminal")
	}
}

func TestHelpShowsOnlyGroupsThatHaveACommand(t *testing.T) {
	root, _ := newRoot(newEnv(nil, io.Discard, io.Discard))
	used := map[string]bool{}
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" {
			t.Errorf("%s has no group", cmd.Name())
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the short description is %q, want a phrase without a full stop", cmd.Name(), cmd.Short)
		}
		used[cmd.GroupID] = true
	}
	for _, g := range root.Groups() {
		if !used[g.ID] {
			t.Errorf("group %s is empty", g.ID)
		}
		delete(used, g.ID)
	}
	if len(used) > 0 {
		t.Errorf("commands name groups that do not exist: %v", used)
	}
}

func TestOrList(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := report.Either(words); got != want {
			t.Errorf("report.Either(%q) = %q, want %q", words, got, want)
		}
	}
}
