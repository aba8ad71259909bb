package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const greeting = `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": "Debian"}, "capabilities": ["oob"]}}`

// server plays QEMU on one end of a pipe: it sends its lines in order, and waits
// at "<" for a command, which it checks against the rest of the line. In what it
// sends, ID stands for the id of the last command.
func server(t *testing.T, script string) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer theirs.Close()
		in, id := bufio.NewReader(theirs), ""
		for line := range strings.Lines(script) {
			line = strings.TrimSpace(line)
			if want, isCommand := strings.CutPrefix(line, "< "); isCommand {
				got, err := in.ReadBytes('\n')
				if err != nil {
					t.Errorf("the command %s did not come: %v", want, err)
					return
				}
				var c struct {
					Execute   string          `json:"execute"`
					Arguments json.RawMessage `json:"arguments"`
					ID        json.RawMessage `json:"id"`
				}
				if err := json.Unmarshal(got, &c); err != nil {
					t.Errorf("the command %s: %v", got, err)
					return
				}
				id = string(c.ID)
				if text := strings.TrimSpace(c.Execute + " " + string(c.Arguments)); text != want {
					t.Errorf("the command is %s, want %s", text, want)
				}
				continue
			}
			if _, err := fmt.Fprintf(theirs, "%s\r\n", strings.ReplaceAll(line, "ID", id)); err != nil {
				return // the client had enough
			}
		}
	}()
	t.Cleanup(func() {
		ours.Close()
		<-done
	})
	return ours
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

const begin = greeting + "\n< qmp_capabilities\n{\"return\": {}, \"id\": ID}\n"

func connect(t *testing.T, script string) *Client {
	t.Helper()
	c, err := New(limited(t), server(t, begin+script))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACommandGetsItsAnswer(t *testing.T) {
	c := connect(t, `< query-status
		{"return": {"status": "running"}, "id": 77}
		{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "NOTHING"}
		{"return": {"status": "paused"}, "id": ID}
		< stop {"deep":[1]}
		{"error": {"class": "GenericError", "desc": "not now"}, "id": ID}`)
	var status struct {
		Status string `json:"status"`
	}
	if err := c.Execute(limited(t), "query-status", nil, &status); err != nil || status.Status != "paused" {
		t.Errorf("status %q, error %v", status.Status, err)
	}
	err := c.Execute(limited(t), "stop", map[string]any{"deep": []int{1}}, nil)
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Class != "GenericError" || err.Error() != "QMP command stop: not now" {
		t.Errorf("error %v", err)
	}
	if v := c.Greeting().Version.QEMU; v.Major != 7 || v.Minor != 2 || v.Micro != 22 {
		t.Errorf("version %v", v)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestEventsComeInOrderAndTheChannelCloses(t *testing.T) {
	c := connect(t, `{"timestamp": {"seconds": 1700000000, "microseconds": 5}, "event": "STOP"}
		{"timestamp": {"seconds": -1, "microseconds": -1}, "event": "SHUTDOWN", "data": {"guest": true}}`)
	want := []Event{
		{Name: "STOP", Time: time.Unix(1700000000, 5000).UTC()},
		{Name: "SHUTDOWN", Data: json.RawMessage(`{"guest": true}`)},
	}
	var got []Event
	for e := range c.Events() {
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := c.Execute(limited(t), "cont", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a command after the end: %v", err)
	}
}

func TestEventsThatNobodyReadsAreDroppedAndCounted(t *testing.T) {
	const more = 10
	c := connect(t, strings.Repeat(`{"event": "RTC_CHANGE"}`+"\n", eventsKept+more)+"< stop\n{\"return\": {}, \"id\": ID}")
	if err := c.Execute(limited(t), "stop", nil, nil); err != nil {
		t.Fatal(err)
	}
	if n := c.Dropped(); n != more {
		t.Errorf("%d events were dropped, want %d", n, more)
	}
}

func TestCommandsAtTheSameTimeGetTheirOwnAnswers(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() { // answers pairs of commands in the opposite order
		in := bufio.NewScanner(theirs)
		fmt.Fprintln(theirs, greeting)
		var held string
		for in.Scan() {
			var c struct {
				Execute string `json:"execute"`
				ID      int    `json:"id"`
			}
			if json.Unmarshal(in.Bytes(), &c) != nil {
				return
			}
			answer := fmt.Sprintf(`{"return": %q, "id": %d}`, c.Execute, c.ID)
			switch {
			case c.Execute == "qmp_capabilities":
				fmt.Fprintln(theirs, answer)
			case held == "":
				held = answer
			default:
				fmt.Fprintf(theirs, "%s\n%s\n", answer, held)
				held = ""
			}
		}
	}()
	c, err := New(limited(t), ours)
	if err != nil {
		t.Fatal(err)
	}
	ctx := limited(t)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			name, got := fmt.Sprintf("command-%d", i), ""
			if err := c.Execute(ctx, name, nil, &got); err != nil || got != name {
				t.Errorf("%s got the answer of %q, error %v", name, got, err)
			}
		})
	}
	wg.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestAConversationThatGoesWrongIsAnError(t *testing.T) {
	cases := []struct{ name, script, want string }{
		{"nobody speaks", "", "the connection to QEMU is closed"},
		{"no QMP at all", "HTTP/1.1 400 Bad Request\n", "read a QMP message"},
		{"no greeting", `{"return": {}}` + "\n", "did not begin with its greeting"},
		{"two greetings", greeting + "\n" + greeting + "\n", "greeted twice"},
		{"the mode is refused", greeting + "\n< qmp_capabilities\n" + `{"error": {"class": "CommandNotFound", "desc": "no"}, "id": ID}`, "qmp_capabilities: no"},
		{"it ends before the answer", greeting + "\n< qmp_capabilities\n", "qmp_capabilities: the connection to QEMU is closed"},
		{"a message of no kind", greeting + "\n{}\n", "not exactly one"},
		{"a line without end", `{"QMP": "` + strings.Repeat("x", maxLine+1), "token too long"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client, err := New(limited(t), server(t, c.script))
			if err == nil || client != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, ours); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the greeting: %v", err)
	}
	if _, err := Dial(ctx, filepath.Join(t.TempDir(), "none")); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the socket: %v", err)
	}
	c := connect(t, "< stop\n< cont\n{\"return\": {}, \"id\": ID}")
	if err := c.Execute(ctx, "stop", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the answer: %v", err)
	}
	if err := c.Execute(limited(t), "cont", nil, nil); err != nil {
		t.Errorf("the next command: %v", err)
	}
}

func TestMigrateWaitsUntilTheStateIsSaved(t *testing.T) {
	const first = `< migrate-set-parameters {"max-bandwidth":1099511627776}
		{"return": {}, "id": ID}
		< migrate {"uri":"exec:cat\u003ex"}
		{"return": {}, "id": ID}
		< query-migrate
		{"return": {"status": "active"}, "id": ID}
		< query-migrate
		`
	if err := connect(t, first+`{"return": {"status": "completed"}, "id": ID}`).Migrate(limited(t), "exec:cat>x"); err != nil {
		t.Error(err)
	}
	err := connect(t, first+`{"return": {"status": "failed", "error-desc": "no space"}, "id": ID}`).Migrate(limited(t), "exec:cat>x")
	if err == nil || !strings.Contains(err.Error(), "exec:cat>x: failed no space") {
		t.Errorf("error %v", err)
	}
}

// The protocol as a real QEMU speaks it. Its machine has no kernel and never
// gets beyond the firmware.
func TestARealQEMUIsStoppedContinuedSavedAndEnded(t *testing.T) {
	program, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("qemu-system-x86_64 is not installed")
	}
	dir, err := os.MkdirTemp("", "cswatch-qmp-") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, saved := filepath.Join(dir, "qmp"), filepath.Join(dir, "saved")
	cmd := exec.Command(program, "-machine", "pc", "-accel", "tcg", "-m", "16", "-display", "none", "-nodefaults", "-no-user-config",
		"-S", "-qmp", "unix:"+socket+",server=on,wait=off")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	defer cmd.Process.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Dial(ctx, socket)
	if err != nil {
		t.Fatal(err)
	}
	if c.Greeting().Version.QEMU.Major < 2 {
		t.Errorf("greeting %+v", c.Greeting())
	}
	for _, step := range []struct{ command, event string }{{"cont", "RESUME"}, {"stop", "STOP"}} {
		if err := c.Execute(ctx, step.command, nil, nil); err != nil {
			t.Fatal(err)
		}
		if e := <-c.Events(); e.Name != step.event {
			t.Errorf("after %s came the event %s", step.command, e.Name)
		}
	}
	var refusal *Error
	if err := c.Execute(ctx, "no-such-command", nil, nil); !errors.As(err, &refusal) || refusal.Class != "CommandNotFound" {
		t.Errorf("a command that does not exist: %v", err)
	}
	if err := c.Migrate(ctx, "exec:cat>"+saved); err != nil {
		t.Fatal(err)
	}
	// The state begins with this magic number.
	if b, err := os.ReadFile(saved); err != nil || !strings.HasPrefix(string(b), "QEVM") {
		t.Errorf("the saved state has %d bytes, error %v", len(b), err)
	}
	if err := c.Execute(ctx, "quit", nil, nil); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("QEMU ended with %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A line is one of the four kinds of messages, or an error.
func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(greeting))
	f.Add([]byte(`{"return": {}, "id": 1}`))
	f.Add([]byte(`{"error": {"class": "GenericError", "desc": "x"}, "id": 18446744073709551615}`))
	f.Add([]byte(`{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "STOP", "data": null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseMessage(line)
		if err != nil {
			if diff := cmp.Diff(message{}, m); diff != "" {
				t.Fatalf("an error came with a message:\n%s", diff)
			}
			return
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseMessage(out)
		if err != nil {
			t.Fatalf("%s comes back as an error: %v", out, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(out) {
			t.Errorf("it came back as %s, was %s (%v)", again, out, err)
		}
	})
}
