package cli

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/cswatch/cswatch/internal/monitor"
	"github.com/cswatch/cswatch/internal/tally"
)

func openHooks(t *testing.T, args ...string) (hooks, error) {
	t.Helper()
	var h hookFlags
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	h.add(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return h.open("cswatch/test", slog.New(slog.DiscardHandler))
}

func TestFlagsOfHooksThatCannotBeAreRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--on-event", "  "}, "names no command"},
		{[]string{"--on-event", "/no/such/program --loudly"}, "--on-event"},
		{[]string{"--webhook.url", "ftp://example.com/x"}, "the webhook"},
		{[]string{"--webhook.url", "https://example.com/x", "--webhook.url-file", empty}, "want one of the two"},
		{[]string{"--webhook.url-file", empty}, "holds no URL"},
		{[]string{"--webhook.url-file", empty + "x"}, "no such file"},
		{[]string{"--webhook.bearer-token-file", empty}, "goes with --webhook.url"},
	} {
		if _, err := openHooks(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.args, err, c.want)
		}
	}
}

func TestAnEntryReachesTheCommandAndTheWebhook(t *testing.T) {
	posted := make(chan map[string]any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var doc map[string]any
		b, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Error(err)
		}
		posted <- doc
	}))
	defer server.Close()
	dir := t.TempDir()
	script, out, secret := filepath.Join(dir, "tell"), filepath.Join(dir, "out"), filepath.Join(dir, "url")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat > \"$1.new\" && echo \"$CSWATCH_EVENT_KIND $CSWATCH_EVENT_CAUSE\" >> \"$1.new\" && mv \"$1.new\" \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte(server.URL+"/hook\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := openHooks(t, "--on-event", script+" "+out, "--webhook.url-file", secret)
	if err != nil {
		t.Fatal(err)
	}
	m, err := monitor.New(monitor.Config{Sources: monitor.Sources{Boot: func() (string, error) { return "a-boot", nil }}, Hooks: h.of()})
	if err != nil {
		t.Fatal(err)
	}
	h.belong(m)
	go h.run(t.Context())
	e := tally.Entry{Number: 7, Kind: tally.Condemned, Moment: tally.Moment{At: time.Unix(1000, 0), Lookback: true}, Clocksource: "tsc", Reference: "hpet",
		Cause: "read-delay", Summary: "the kernel gave up tsc", Line: "a line"}
	for _, t := range h {
		t.Offer(e)
	}
	doc := <-posted
	if doc["kind"] != "condemned" || doc["id"] != "a-boot:7" || doc["lookback"] != true || doc["reference"] != "hpet" || doc["summary"] != "the kernel gave up tsc" {
		t.Errorf("posted %v", doc)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(out)
		if err == nil {
			if !strings.HasPrefix(string(b), `{"schema":"cswatch.event/v1"`) || !strings.HasSuffix(string(b), "\ncondemned read-delay\n") {
				t.Errorf("the command was told %q", b)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command was not run")
		}
	}
	for end := time.Now().Add(time.Minute); h.counts()[0].Outcomes["ok"] != 1 || h.counts()[1].Outcomes["ok"] != 1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("counts %+v", h.counts())
		}
	}
}
