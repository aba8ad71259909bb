package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// onWrite does something whenever somebody writes.
type onWrite struct{ do func(p []byte) }

func (w *onWrite) Write(p []byte) (int, error) {
	w.do(p)
	return len(p), nil
}

func simulateArgs(ctx context.Context, t *testing.T, env *Env, args ...string) error {
	t.Helper()
	env.color = newChoice("never")
	cmd := newSimulateCommand(env)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetContext(ctx)
	return cmd.ExecuteContext(ctx)
}

func TestASimulationThatIsStoppedPrintsWhatItHasAndGoesOnLater(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"--era", "5.15", "--boots", "20000", "--jobs", "2", "--format", "json", "--state", state}
	var whole, part, rest bytes.Buffer
	if err := simulateArgs(context.Background(), t, newEnv(nil, &whole, io.Discard), args[:len(args)-2]...); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	// The progress on a terminal is the sign to stop.
	env := newEnv(nil, &part, &onWrite{func(p []byte) {
		if bytes.Contains(p, []byte("left")) || bytes.Contains(p, []byte("boots")) {
			stop()
		}
	}})
	env.IsTerminal = func(w io.Writer) bool { return w == env.Stderr }
	err := simulateArgs(ctx, t, env, args...)
	if err == nil || !strings.Contains(err.Error(), "stopped") || !strings.Contains(err.Error(), "the same command goes on from there") {
		t.Errorf("error %v", err)
	}
	var doc struct {
		Interrupted bool
		Cells       []struct{ Boots uint64 }
	}
	if err := json.Unmarshal(part.Bytes(), &doc); err != nil || !doc.Interrupted {
		t.Errorf("%v, interrupted %v", err, doc.Interrupted)
	}
	for _, c := range doc.Cells {
		if c.Boots >= 20000 {
			t.Errorf("a cell of %d boots", c.Boots)
		}
	}

	if err := simulateArgs(context.Background(), t, newEnv(nil, &rest, io.Discard), args...); err != nil {
		t.Fatal(err)
	}
	if rest.String() != whole.String() {
		t.Errorf("stopped and gone on:\n%s\nat one go:\n%s", rest.String(), whole.String())
	}
}

func TestAStoppedSimulationSaysSoInText(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for _, args := range [][]string{{"--boots", "1000"}, {"--smallest", "step"}, {"--curve", "--fault", "step:+1ms@20s"}} {
		var out bytes.Buffer
		err := simulateArgs(ctx, t, newEnv(nil, &out, io.Discard), args...)
		if err == nil || !strings.Contains(err.Error(), "name a file with --state") || !strings.Contains(out.String(), "Stopped after 0 boots") {
			t.Errorf("%q: %v\n%s", args, err, out.String())
		}
	}
}

func TestProgressIsForTerminalsAndTellsTheTimeLeft(t *testing.T) {
	var shown bytes.Buffer
	env := newEnv(nil, io.Discard, &shown)
	p := newSimulateProgress(env)
	p.tell(true, 1000, 0)
	p.end()
	if shown.Len() > 0 {
		t.Errorf("not on a terminal: %q", shown.String())
	}
	env.IsTerminal = func(io.Writer) bool { return true }
	p = newSimulateProgress(env)
	p.label = "search 1 of 2"
	p.tell(true, 1000, 500)
	p.tell(false, 250, 0)
	if got := p.text(time.Now().Add(time.Hour)); !strings.HasPrefix(got, "simulate: search 1 of 2, 750 of 1000 boots, 75 %, 1h0m") || !strings.HasSuffix(got, " left") {
		t.Errorf("progress %q", got)
	}
	p.end()
	if !strings.HasSuffix(shown.String(), "\r\x1b[K") {
		t.Errorf("the line stays: %q", shown.String())
	}
}
