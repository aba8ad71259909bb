package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// DefaultWebhookLimit is how long one attempt may take.
	DefaultWebhookLimit = 10 * time.Second
	// DefaultGiveUp is how long an event is tried.
	DefaultGiveUp = time.Hour

	maxAnswer    = 512      // bytes of a refusal that are read
	maxHeader    = 64 << 10 // bytes of the header of an answer
	maxToken     = 8 << 10  // bytes of a file with a token
	maxRedirects = 3
)

// WebhookConfig says where events are posted to.
type WebhookConfig struct {
	// URL is http or https. It often holds a secret, so no error and no line of the log shows more of it than scheme and host.
	URL   string
	Limit time.Duration // for one attempt; 0: DefaultWebhookLimit
	// TokenFile, unless empty, holds a bearer token. It is read at each attempt, so that it may be replaced.
	TokenFile string
	GiveUp    time.Duration // 0: DefaultGiveUp
	// Seed is that of the jitter: another one on each machine, so that those of a fleet do not call in step.
	Seed  uint64
	Agent string       // the User-Agent; "": cswatch
	Log   *slog.Logger // nil: nothing is logged
}

// Validate reports everything that is wrong with the configuration, without a look at the machine.
func (c WebhookConfig) Validate() error {
	_, err := c.parse()
	return err
}

func (c WebhookConfig) parse() (*url.URL, error) {
	var all []error
	wrong := func(format string, args ...any) {
		all = append(all, fmt.Errorf("the webhook for events: "+format, args...))
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		wrong("its URL cannot be read, and is not shown, because it may hold a key")
	case u.Scheme != "http" && u.Scheme != "https":
		wrong("its URL begins with %q: want http or https", u.Scheme)
	case u.Hostname() == "":
		wrong("its URL names no host")
	case c.TokenFile != "" && u.Scheme == "http" && !loopback(u.Hostname()):
		wrong("a bearer token over http to %s can be read on its way: use https, or no token", u.Host)
	}
	if c.Limit < 0 {
		wrong("a time limit of %v", c.Limit)
	}
	if c.GiveUp < 0 {
		wrong("giving up after %v", c.GiveUp)
	}
	return u, errors.Join(all...)
}

// withoutURL takes the URL out of an error of net/http or net/url.
func withoutURL(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Webhook posts the document of each event to a URL, again and again until it is taken.
//
// Every answer 2xx is [OK]. Errors of the network, 5xx, 408 and 429 are tried again, at first after a second, then after
// twice as long each time up to five minutes, half of it by chance, or when the receiver says (Retry-After) within a quarter of
// an hour; after an hour it is given up. All other answers are final. Redirects are followed only where they keep the method and the host.
// TLS is verified by the roots of the system; a proxy is one of the environment (HTTPS_PROXY, NO_PROXY) or none.
//
// It keeps no connection between two attempts.
type Webhook struct {
	url       *url.URL
	limit     time.Duration
	tokenFile string
	giveUp    time.Duration
	seed      uint64
	agent     string
	log       *slog.Logger
	transport *http.Transport
}

// NewWebhook returns the webhook. It does not call the receiver.
func NewWebhook(c WebhookConfig) (*Webhook, error) {
	u, err := c.parse()
	if err != nil {
		return nil, err
	}
	h := &Webhook{
		url: u, limit: c.Limit, tokenFile: c.TokenFile, giveUp: c.GiveUp, seed: c.Seed, agent: c.Agent, log: logger(c.Log),
		transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DisableKeepAlives:      true, // the next event comes in weeks
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeader,
		},
	}
	if h.limit == 0 {
		h.limit = DefaultWebhookLimit
	}
	if h.giveUp == 0 {
		h.giveUp = DefaultGiveUp
	}
	if h.agent == "" {
		h.agent = "cswatch"
	}
	return h, nil
}

// Tell posts the event.
func (h *Webhook) Tell(ctx context.Context, e Event) (Outcome, error) {
	document, err := e.Document()
	if err != nil {
		return Failed, err
	}
	chance := rand.New(rand.NewPCG(h.seed, e.Number))
	begun := time.Now()
	for n := 1; ; n++ {
		a := h.attempt(ctx, document)
		if a.outcome == OK {
			return OK, nil
		}
		err := fmt.Errorf("post to %s: %w", h.where(), a.err)
		if n > 1 {
			err = fmt.Errorf("attempt %d, %w", n, err)
		}
		if !a.again || ctx.Err() != nil {
			return a.outcome, err
		}
		wait := max(backoff(n, chance), a.wait)
		if time.Since(begun)+wait > h.giveUp {
			return a.outcome, fmt.Errorf("given up after %v: %w", time.Since(begun).Round(time.Second), err)
		}
		level := slog.LevelDebug
		if n == 1 {
			level = slog.LevelWarn
		}
		h.log.Log(ctx, level, "could not tell of an event yet", keyEvent, e.ID(), keyError, err)
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return a.outcome, err
		}
	}
}

// attempt is what became of one.
type attempt struct {
	outcome Outcome
	err     error
	again   bool          // another one may succeed
	wait    time.Duration // as the receiver asks
}

func (h *Webhook) attempt(ctx context.Context, document []byte) attempt {
	limited, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	request, err := h.request(limited, document)
	if err != nil {
		return attempt{outcome: Failed, err: err, again: true}
	}
	client := http.Client{Transport: h.transport, CheckRedirect: redirect}
	answer, err := client.Do(request)
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return attempt{outcome: TimedOut, err: fmt.Errorf("no answer within %v", h.limit), again: true}
	case err != nil:
		// What a receiver sends instead of HTTP stands in the error, as much as fits into a header.
		return attempt{outcome: Failed, err: errors.New(printable(cut(withoutURL(err).Error(), maxText))), again: true}
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		return attempt{outcome: OK} // whatever it says
	}
	return refused(answer)
}

func (h *Webhook) request(ctx context.Context, document []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url.String(), bytes.NewReader(document))
	if err != nil {
		return nil, withoutURL(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", h.agent)
	if h.tokenFile == "" {
		return request, nil
	}
	token, err := readToken(h.tokenFile)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	return request, nil
}

// readToken reads a token, alone in its file.
func readToken(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read the bearer token: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read the bearer token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if token == "" || len(b) > maxToken || strings.ContainsFunc(token, odd) {
		return "", fmt.Errorf("read the bearer token: %s holds no token: want one word of ASCII", name)
	}
	return token, nil
}

// where names the receiver without what may be secret of its URL.
func (h *Webhook) where() string { return h.url.Scheme + "://" + h.url.Host }
