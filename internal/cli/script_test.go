package cli

import (
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cswatch": Main})
}

// TestScripts runs the program as a shell would, by the scripts in
// testdata/script. With -update it rewrites the expected output in them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			// Not the surroundings of the tests but each script decides about colour and configuration.
			for _, name := range []string{"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"} {
				env.Setenv(name, "")
			}
			env.Setenv("CSWATCH_CONFIG", "/dev/null")
			cases, err := filepath.Abs(filepath.Join("..", "doctor", "testdata", "cases"))
			if err != nil {
				return err
			}
			env.Setenv("CASES", cases)
			// Under the race detector each process would end with a second of sleep.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits is the script command "exits CODE PROGRAM [ARG]...": it runs a program
// and checks its exit code, of which "exec" knows only whether it is 0.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG]...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%q: exit code %d, want %s", args[1:], code, args[0])
	}
}
