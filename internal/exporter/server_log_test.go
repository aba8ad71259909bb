package exporter

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestEachKindOfLineIsLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(newSparse(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}})))
		for i := range 1000 {
			log.Warn(fmt.Sprintf("http: TLS handshake error from [2001:db8::%x]:%d: EOF", i, i))
			log.With("a", 1).Warn(fmt.Sprintf("http: panic serving 192.0.2.1:%d: oh", i))
		}
		time.Sleep(sparseTime)
		log.Warn("http: TLS handshake error from 192.0.2.1:1: EOF")
		log.Warn("http: TLS handshake error from 192.0.2.1:2: EOF")
		want := `msg="http: TLS handshake error from [2001:db8::0]:0: EOF"
msg="http: panic serving 192.0.2.1:0: oh" a=1
msg="http: TLS handshake error from 192.0.2.1:1: EOF" left_out=999
`
		if out.String() != want {
			t.Errorf("logged\n%s, not\n%s", out.String(), want)
		}
	})
}

func TestTheKindsOfLinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		h := newSparse(slog.NewTextHandler(&out, nil))
		log := slog.New(h)
		for i := range 10 * maxKinds {
			log.Warn(strings.Repeat("x", i))
		}
		if len(h.kinds) > maxKinds+1 {
			t.Errorf("%d kinds are kept", len(h.kinds))
		}
		if lines := strings.Count(out.String(), "\n"); lines > maxKinds+1 {
			t.Errorf("%d lines", lines)
		}
	})
}
