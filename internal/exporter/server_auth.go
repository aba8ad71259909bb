package exporter

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/exporter-toolkit/web"
)

// secured puts the authentication of the exporter toolkit before a handler, as
// its configuration file says, and returns the TLS configuration, nil without
// one. Both follow later changes of the file. No file: the handler as it is.
func secured(file string, inner http.Handler, log *slog.Logger) (http.Handler, *tls.Config, error) {
	if file == "" {
		return inner, nil, nil
	}
	// The toolkit sets both up in a server that it then runs. It gets one whose
	// listener ends at once: the sockets, their limits and the order in which
	// passwords are checked are ours.
	passing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := r.Context().Value(passageKey{}).(*passage); ok {
			p.pass(r)
		}
		inner.ServeHTTP(w, r)
	})
	rehearsal := &http.Server{Handler: &checkpoint{passing}, Protocols: onlyHTTP1()}
	warnings := slog.New(atLeast{slog.LevelWarn, log.Handler()}) // it also says where it listens, which is not where we do
	err := web.Serve(noListener{}, rehearsal, &web.FlagConfig{WebConfigFile: &file}, warnings)
	if !errors.Is(err, errRehearsed) {
		return nil, nil, fmt.Errorf("read the web configuration %s: %w", file, err)
	}
	if _, bare := rehearsal.Handler.(*checkpoint); bare {
		// Better no server than one that lets everybody in.
		return nil, nil, fmt.Errorf("read the web configuration %s: the toolkit put no authentication in place", file)
	}
	return newDoor(rehearsal.Handler), rehearsal.TLSConfig, nil
}

type checkpoint struct{ http.Handler }

// noListener ends a server before its first connection.
type noListener struct{}

var errRehearsed = errors.New("no connections here")

func (noListener) Accept() (net.Conn, error) { return nil, errRehearsed }
func (noListener) Close() error              { return nil }
func (noListener) Addr() net.Addr            { return &net.TCPAddr{} }
