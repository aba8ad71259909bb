package exporter

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the page that are no Go
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/tally"
)

//go:embed page.tmpl
var statusTemplate string

//go:embed page.css
var statusStyle string

// statusPolicy lets a browser load the style sheet and nothing else, run nothing, send nothing, and show the page
// inside of no other.
const statusPolicy = "default-src 'none'; style-src 'self'; img-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const (
	// renewEvery is how often a browser asks for the page anew, renewSoon the same where a verdict is to come.
	renewEvery = 30 * time.Second
	renewSoon  = 5 * time.Second
	// fresh is for how long a page that was made is given to others, too: however many
	// look at it, it is not made more often.
	fresh = time.Second
)

// Page serves the status page at "/" and its style sheet at "/style.css". view, about and now are called by one goroutine at a time.
func Page(view func() tally.View, about func() About, now func() time.Time) http.Handler {
	style := page.Style() + statusStyle
	sum := sha256.Sum256([]byte(style))
	return &statusPage{
		view: view, about: about, now: now, style: []byte(style), tag: `"` + hex.EncodeToString(sum[:8]) + `"`,
		template: template.Must(page.Template("status", statusTemplate)),
	}
}

// statusPage makes the page.
type statusPage struct {
	view     func() tally.View
	about    func() About
	now      func() time.Time
	template *template.Template
	style    []byte
	tag      string // of the style sheet

	mu   sync.Mutex
	made [2]madePage // the one that renews itself, and the one that does not
}

// madePage is a page with what was so when it was made.
type madePage struct {
	at    time.Time
	renew time.Duration // 0: never
	text  []byte
}

// ServeHTTP answers GET and HEAD.
func (p *statusPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", statusPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	switch {
	case r.URL.Path != "/" && r.URL.Path != "/style.css":
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered", http.StatusMethodNotAllowed)
	case r.URL.Path == "/style.css":
		h.Set("Content-Type", "text/css; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", p.tag)
		http.ServeContent(w, r, "style.css", time.Time{}, bytes.NewReader(p.style))
	default:
		made, err := p.page(r.URL.Query().Has("still"))
		if err != nil {
			http.Error(w, err.Error()+"; /api/v1/status has what is on it", http.StatusInternalServerError)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Length", strconv.Itoa(len(made.text)))
		if made.renew > 0 {
			h.Set("Refresh", strconv.Itoa(int(made.renew.Seconds())))
		}
		w.Write(made.text) // whoever has gone away misses nothing
	}
}

// page returns the page, made now or a moment ago.
func (p *statusPage) page(still bool) (madePage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	made := &p.made[0]
	if still {
		made = &p.made[1]
	}
	if since := now.Sub(made.at); made.text != nil && since >= 0 && since < fresh {
		return *made, nil
	}
	v := p.view()
	shown, err := show(v, p.about(), now)
	if err != nil {
		return madePage{}, err
	}
	renew := renewEvery
	switch {
	case still:
		renew = 0
	case v.Diagnosis == nil, len(shown.Verdict.News) > 0:
		renew = renewSoon
	}
	shown.Renew = int(renew.Seconds())
	var b bytes.Buffer
	if err := p.template.Execute(&b, shown); err != nil {
		return madePage{}, fmt.Errorf("make the status page: %w", err)
	}
	*made = madePage{now, renew, b.Bytes()}
	return *made, nil
}
