package hook

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	firstWait = time.Second
	mostWait  = 5 * time.Minute
	mostAsked = 15 * time.Minute // that a receiver may put off an attempt
)

// backoff is how long to wait after attempt n, from 1: twice as long each time, half of it by chance.
func backoff(n int, chance *rand.Rand) time.Duration {
	wait := mostWait
	if n <= 9 { // 256 s, and one more would be beyond the most
		wait = min(firstWait<<(n-1), mostWait)
	}
	return wait/2 + time.Duration(chance.Int64N(int64(wait/2)+1))
}

// refused is an attempt whose answer is not 2xx.
func refused(answer *http.Response) attempt {
	a := attempt{outcome: Failed}
	status := answer.StatusCode
	switch {
	case status/100 == 3:
		a.err = fmt.Errorf("the receiver redirects (%d)%s, which is not followed: give the URL that it redirects to", status, target(answer))
		return a
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		a.again = true
		a.wait = asked(answer.Header.Get("Retry-After"), time.Now())
	}
	a.err = fmt.Errorf("the receiver answers %d %s%s", status, http.StatusText(status), said(answer))
	return a
}

// said is the beginning of what a refusal says, for the log. An answer below 200 has switched protocols: reading on
// would not end with the context.
func said(answer *http.Response) string {
	if answer.StatusCode < 200 {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // a part of it will do
	text := strings.Join(strings.Fields(cut(string(b), maxAnswer)), " ")
	if text == "" {
		return ""
	}
	return ": " + printable(text)
}

// asked is how long a Retry-After asks to wait, within bounds; 0 where it does not.
func asked(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), mostAsked)
}

// redirect follows a redirect that keeps the method and the host. Others would send the event, or the token,
// to somebody who was not meant, or a GET in place of the event.
func redirect(next *http.Request, before []*http.Request) error {
	keeps := []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect}
	first := before[0].URL
	if !slices.Contains(keeps, next.Response.StatusCode) || !sameHost(first, next.URL) || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) }

// target says where a redirect leads, without what may be secret of it.
func target(answer *http.Response) string {
	to, err := answer.Location()
	if err != nil {
		return ""
	}
	return " to " + cut(printable(to.Scheme+"://"+to.Host), maxHost)
}
