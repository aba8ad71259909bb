package role

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var echo = New("CSWATCH_TEST_ROLE", "repeat what is said", "TestMain")

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // a program under the race detector otherwise sleeps at its end
	if told, taken := echo.Taken(); taken {
		_, again := os.LookupEnv(echo.variable)
		os.Stdout.WriteString(told + " " + strings.Join(os.Args[1:], " "))
		if again || echo.Ready() == nil {
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAProgramInARoleKnowsWhatItIsTold(t *testing.T) {
	c, err := echo.Command("words", "(repeats", "words)")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.Output(); err != nil || string(out) != "words (repeats words)" {
		t.Errorf("%v, %q", err, out)
	}
}

func TestACommandThatIsCastKeepsItsEnvironment(t *testing.T) {
	c := exec.Command("/bin/true")
	c.Env = []string{"A=1", "GORACE=atexit_sleep_ms=0"}
	if err := echo.Cast(c, "told", "x"); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(c.Env, "A=1") || !slices.Contains(c.Env, echo.variable+"=told") || c.Path != self || len(c.Env) != 3 {
		t.Errorf("%+v", c)
	}
	if out, err := c.Output(); err != nil || string(out) != "told x" {
		t.Errorf("%v, %q", err, out)
	}
}

func TestAProgramThatDoesNotAskStartsNothing(t *testing.T) {
	r := New("CSWATCH_TEST_NO_ROLE", "do a thing", "thing.Main")
	if _, err := r.Command(""); err == nil || err.Error() != "do a thing: this program does not call thing.Main, so it cannot start itself for that" {
		t.Errorf("%v", err)
	}
}
