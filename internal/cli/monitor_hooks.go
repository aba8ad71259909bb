package cli

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/hook"
	"github.com/cswatch/cswatch/internal/monitor"
	"github.com/cswatch/cswatch/internal/tally"
)

// hookFlags say whom a monitor tells of what matters.
type hookFlags struct {
	command, url, urlFile      string
	tokenFile                  string
	commandLimit, webhookLimit time.Duration
}

func (h *hookFlags) add(f *pflag.FlagSet) {
	f.StringVar(&h.command, "on-event", "", "run this `command` for each event that matters: words separated by blanks, without a shell; the event is in its environment and on its standard input")
	f.DurationVar(&h.commandLimit, "on-event.timeout", hook.DefaultCommandLimit, "time after which the command is ended")
	f.StringVar(&h.url, "webhook.url", "", "post each event that matters to this `URL`, as JSON, until it is taken")
	f.StringVar(&h.urlFile, "webhook.url-file", "", "`file` with the URL of the webhook, which may be a secret that a list of processes must not show")
	f.DurationVar(&h.webhookLimit, "webhook.timeout", hook.DefaultWebhookLimit, "time that one attempt may take")
	f.StringVar(&h.tokenFile, "webhook.bearer-token-file", "", "`file` with a bearer token for the webhook, read anew at each attempt")
}

// hooks are those of a monitor.
type hooks []*teller

// open makes the hooks that the flags ask for.
func (h *hookFlags) open(agent string, log *slog.Logger) (hooks, error) {
	host, _ := os.Hostname()
	var all hooks
	add := func(name string, to hook.Hook) error {
		t := &teller{name: name, host: host}
		var err error
		t.queue, err = hook.NewQueue(hook.QueueConfig{Hook: to, Log: log, Delivered: func(n uint64) { t.monitor.Told(name, n) }})
		all = append(all, t)
		return err
	}
	if h.command != "" {
		words := strings.Fields(h.command)
		if len(words) == 0 {
			return nil, usagef("--on-event: it names no command")
		}
		c, err := hook.NewCommand(hook.CommandConfig{Path: words[0], Args: words[1:], Limit: h.commandLimit, Log: log})
		if err != nil {
			return nil, usagef("--on-event: %w", err)
		}
		if err := add("command", c); err != nil {
			return nil, err
		}
	}
	url, err := h.webhookURL()
	switch {
	case err != nil:
		return nil, err
	case url != "":
		seed := fnv.New64a()
		_, _ = seed.Write([]byte(host))
		w, err := hook.NewWebhook(hook.WebhookConfig{URL: url, Limit: h.webhookLimit, TokenFile: h.tokenFile, Seed: seed.Sum64(), Agent: agent, Log: log})
		if err != nil {
			return nil, usagef("the webhook: %w", err)
		}
		if err := add("webhook", w); err != nil {
			return nil, err
		}
	case h.tokenFile != "":
		return nil, &usageError{errors.New("--webhook.bearer-token-file goes with --webhook.url")}
	}
	return all, nil
}

// webhookURL is the URL of the webhook, "" where there is none.
func (h *hookFlags) webhookURL() (string, error) {
	switch {
	case h.url != "" && h.urlFile != "":
		return "", usagef("--webhook.url and --webhook.url-file: want one of the two")
	case h.urlFile == "":
		return h.url, nil
	}
	b, err := os.ReadFile(h.urlFile)
	if err != nil {
		return "", usagef("--webhook.url-file: %w", err)
	}
	url := strings.TrimSpace(string(b))
	if url == "" {
		return "", usagef("--webhook.url-file %s: it holds no URL", h.urlFile)
	}
	return url, nil
}

// of returns the hooks as a monitor knows them.
func (h hooks) of() (all []monitor.Hook) {
	for _, t := range h {
		all = append(all, t)
	}
	return all
}

// belong tells the hooks whose they are, before anything is offered to them.
func (h hooks) belong(m *monitor.Monitor) {
	for _, t := range h {
		t.boot, t.monitor = m.View().Boot, m
	}
}

// run tells what is offered until the context ends.
func (h hooks) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range h {
		all.Go(func() { t.queue.Run(ctx) })
	}
	all.Wait()
}

// names are those of the hooks.
func (h hooks) names() (all []string) {
	for _, t := range h {
		all = append(all, t.name)
	}
	return all
}

// counts are for the metrics.
func (h hooks) counts() (all []exporter.HookCounts) {
	for _, t := range h {
		c := exporter.HookCounts{Hook: t.name, Outcomes: map[string]uint64{}, Queue: t.queue.Length()}
		for _, o := range hook.Outcomes() {
			c.Outcomes[string(o)] = t.queue.Count(o)
		}
		all = append(all, c)
	}
	return all
}

// teller is a hook as a monitor knows it.
type teller struct {
	name, host, boot string
	monitor          *monitor.Monitor
	queue            *hook.Queue
}

// Name implements [monitor.Hook].
func (t *teller) Name() string { return t.name }

// Offer implements [monitor.Hook].
func (t *teller) Offer(e tally.Entry) {
	t.queue.Add(hook.Event{
		BootID: t.boot, Number: e.Number, Kind: hook.Kind(e.Kind), Host: t.host, At: e.At, Doubt: e.Doubt, Lookback: e.Lookback, PrintkNS: e.PrintkNS,
		Clocksource: e.Clocksource, From: e.From, To: e.To, Reference: e.Reference, Cause: e.Cause,
		StatusBefore: e.Before, StatusAfter: e.After, Summary: e.Summary, Line: e.Line,
	})
}
