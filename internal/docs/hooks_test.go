package docs

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/hook"
	"github.com/cswatch/cswatch/internal/tally"
)

const hooksPage = folder + "/hooks.md"

func TestTheKindsOfEventsThatHooksAreToldOfAreThoseOfTheTally(t *testing.T) {
	var want []string
	for _, k := range tally.EntryKinds() {
		if k.Telling() {
			want = append(want, string(k))
		}
	}
	var kinds []string
	for _, k := range hook.Kinds() {
		kinds = append(kinds, string(k))
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-told by the tally +known to hooks):\n%s", diff)
	}
	var described []string
	for _, cells := range rows(section(t, read(t, hooksPage), "## What is told")) {
		described = append(described, code(cells[0])...)
	}
	if diff := cmp.Diff(kinds, described); diff != "" {
		t.Errorf("kinds in docs/hooks.md (-known +described):\n%s", diff)
	}
}

func TestTheOutcomesOfHooksAreTheLabelsOfTheirMetric(t *testing.T) {
	var outcomes []string
	for _, o := range hook.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	if diff := cmp.Diff(outcomes, exporter.HookOutcomes()); diff != "" {
		t.Errorf("outcomes (-of hooks +of the metric):\n%s", diff)
	}
}

func TestTheCausesOfACondemnationAreKindsOfIncidents(t *testing.T) {
	for _, cells := range rows(section(t, read(t, folder+"/json.md"), "## cswatch.event/v1")) {
		if cells[0] != "`cause`" {
			continue
		}
		causes := code(cells[3])
		if len(causes) != 9 {
			t.Errorf("%d causes: %q", len(causes), causes)
		}
		for _, c := range causes {
			if !event.IncidentKind(c).Condemns() {
				t.Errorf("%s is no cause", c)
			}
		}
		return
	}
	t.Error("the key cause is not described")
}

// toldOf is the event that the shown commands are run for. Its line is as hostile as a line can be.
func toldOf() hook.Event {
	return hook.Event{
		BootID: "0f1f7c4a-16a4-4b2a-9f0f-6e0c5a3e1a11", Number: 17, Kind: hook.Condemned, Host: "db01", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Summary: "the kernel gave up tsc against hpet", Line: "x\n.\r\n$(touch /nonexistent) `id` \"'\\ %s *\x00\x1b[31m",
	}
}

// shown writes a script of the page, with some of its words replaced, into a file, and runs it for the event.
func shown(t *testing.T, number int, replace *strings.Replacer, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed, which the commands of docs/hooks.md call")
	}
	blocks, _ := fences(read(t, hooksPage))
	scripts := slices.DeleteFunc(blocks, func(f fence) bool { return f.info != "sh" })
	if number >= len(scripts) {
		t.Fatalf("there are only %d scripts in %s", len(scripts), hooksPage)
	}
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(replace.Replace(strings.Join(scripts[number].lines, "\n"))), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := hook.NewCommand(hook.CommandConfig{Path: "/bin/sh", Args: append([]string{file}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	if outcome, err := c.Tell(t.Context(), toldOf()); outcome != hook.OK {
		t.Fatalf("%s: %v", outcome, err)
	}
}

// mailServer takes one mail over SMTP, and returns its address and what it was told, line by line.
func mailServer(t *testing.T) (address string, lines <-chan []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan []string, 1)
	go func() {
		var list []string
		defer func() { got <- list }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		say := func(code string) { fmt.Fprintf(c, "%s\r\n", code) }
		say("220 test")
		in, data := bufio.NewScanner(c), false
		for in.Scan() {
			line := in.Text()
			list = append(list, line)
			switch {
			case data && line == ".":
				data = false
				say("250 taken")
			case data:
			case line == "DATA":
				data = true
				say("354 go on")
			case line == "QUIT":
				say("221 bye")
				return
			default:
				say("250 well")
			}
		}
	}()
	return l.Addr().String(), got
}

func TestTheShownCommandSendsAMail(t *testing.T) {
	address, lines := mailServer(t)
	shown(t, 0, strings.NewReplacer("smtp://localhost", "smtp://"+address), "ops@example.com")
	got := <-lines
	if len(got) > 0 && strings.HasPrefix(got[0], "EHLO ") {
		got = got[1:] // its name is the machine's
	}
	for i, line := range got {
		got[i], _, _ = strings.Cut(line, " SIZE=") // not by every curl
	}
	want := []string{
		"MAIL FROM:<ops@example.com>", "RCPT TO:<ops@example.com>", "DATA",
		"From: ops@example.com", "To: ops@example.com", "Subject: db01: the kernel gave up tsc against hpet",
		"X-Cswatch-Event: 0f1f7c4a-16a4-4b2a-9f0f-6e0c5a3e1a11:17", "",
		"the kernel gave up tsc against hpet", "2026-03-01T12:00:00Z ", "x?.??$(touch /nonexistent) `id` \"'\\ %s *??[31m", ".", "QUIT",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SMTP (-want +got):\n%s", diff)
	}
}

func TestTheShownWebhookOfAChatGetsTheText(t *testing.T) {
	want, err := toldOf().Document()
	if err != nil {
		t.Fatal(err)
	}
	bodies := make(chan string, 2)
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/hooks/KEY" || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
		}
		bodies <- string(b)
	}))
	defer chat.Close()

	config := filepath.Join(t.TempDir(), "chat")
	if err := os.WriteFile(config, fmt.Appendf(nil, "url = \"%s/hooks/KEY\"\n", chat.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("by a webhook", func(t *testing.T) {
		h, err := hook.NewWebhook(hook.WebhookConfig{URL: chat.URL + "/hooks/KEY"})
		if err != nil {
			t.Fatal(err)
		}
		if outcome, err := h.Tell(t.Context(), toldOf()); outcome != hook.OK {
			t.Fatalf("%s: %v", outcome, err)
		}
		if diff := cmp.Diff(string(want), <-bodies); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	})
	t.Run("by a command", func(t *testing.T) {
		shown(t, 1, strings.NewReplacer("/etc/cswatch/chat", config))
		if diff := cmp.Diff(string(want), <-bodies); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	})
}
