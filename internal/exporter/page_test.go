package exporter

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/tally"
)

// state is what a page is made of.
type state struct {
	view  tally.View
	about About
}

// statesOf are the states of which pictures and golden files are made.
func statesOf(t testing.TB) map[string]state {
	just := aboutTest()
	just.Started = theTime.Add(-2 * time.Second)
	return map[string]state{
		"healthy": {healthy(t), aboutTest()}, "condemned": {condemned(t), aboutTest()}, "empty": {emptyView(), just},
		"blind": {blindView(t), aboutTest()}, "fresh": {freshView(t), aboutTest()},
	}
}

// handlerOf serves the page of a view.
func handlerOf(v tally.View, a About) *statusPage {
	return Page(func() tally.View { return v }, func() About { return a }, func() time.Time { return theTime }).(*statusPage)
}

// serve serves the page of a view over HTTP, and returns its address.
func serve(t testing.TB, v tally.View, a About) string {
	t.Helper()
	s := httptest.NewServer(handlerOf(v, a))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// get asks a handler.
func get(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// pageOf is the text of the page of a view.
func pageOf(t testing.TB, v tally.View, a About) string {
	t.Helper()
	w := get(handlerOf(v, a), "GET", "/")
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestThePageIsAsItWas(t *testing.T) {
	for _, name := range []string{"healthy", "condemned", "empty"} {
		s := statesOf(t)[name]
		got := pageOf(t, s.view, s.about)
		checkPage(t, got)
		file := "testdata/page-" + name + ".html"
		if *updateDocs {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; make it with: go test ./internal/exporter -update", err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s, -want +got:\n%s", file, diff)
		}
	}
}

// checkPage fails on what must not be in any page: elements and attributes that load or run something, links that lead out or
// to what is not there, ids that occur twice, figures without words, tables without heads.
func checkPage(t testing.TB, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the page does not parse: %v", err)
	}
	allowed := strings.Fields("html head meta title link body a header div p h1 h2 h3 main section span b ol ul li dl dt dd figure figcaption svg desc path text circle rect g clippath details summary table caption thead tbody tr th td footer code pre time")
	ids, n := map[string]int{}, map[string]int{}
	var links []string
	for e := range root.Descendants() {
		if e.Type != html.ElementNode {
			continue
		}
		n[strings.ToLower(e.Data)]++
		if !slices.Contains(allowed, strings.ToLower(e.Data)) {
			t.Errorf("the page has an element %s", e.Data)
		}
		for _, a := range e.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
				links = append(links, a.Val[1:])
			case a.Key == "href" && slices.Contains([]string{"style.css", "metrics", "api/v1/status", "./", "./?still"}, a.Val):
			case a.Key == "href", a.Key == "src", a.Key == "style", a.Key == "action", a.Key == "srcset", a.Key == "xlink:href", strings.HasPrefix(a.Key, "on"), a.Key == "http-equiv":
				t.Errorf("<%s> has %s=%q", e.Data, a.Key, a.Val)
			}
		}
	}
	for id, count := range ids {
		if count > 1 {
			t.Errorf("%d elements have the id %q", count, id)
		}
	}
	for _, id := range links {
		if ids[id] == 0 {
			t.Errorf("a link leads to %q, which is not there", id)
		}
	}
	if n["h1"] != 1 || n["main"] != 1 || n["header"] != 1 || n["footer"] != 1 || n["svg"] != n["desc"] || n["table"] != n["thead"] || n["table"] != n["caption"] {
		t.Errorf("headings, landmarks, descriptions or heads are missing: %v", n)
	}
	if i := strings.IndexAny(text, "\u202e\u2028\x00"); i >= 0 {
		t.Errorf("a character that turns text around, or none at all, is in the page: %q", text[max(i-200, 0):min(i+50, len(text))])
	}
}

func TestNothingThatALogSaysBecomesActive(t *testing.T) {
	a := aboutTest()
	a.Host, a.Kernel, a.Version = evil, evil, evil
	got := pageOf(t, hostileView(t), a)
	checkPage(t, got)
	if n := strings.Count(got, "&lt;script&gt;alert(1)"); n < 20 {
		t.Errorf("the hostile text is shown %d times only", n)
	}
	a.Flags.TelemetryPath = "javascript:alert(1)"
	if got := pageOf(t, emptyView(), a); strings.Contains(got, `href="javascript`) {
		t.Error("a link runs something")
	}
}

func TestAPageStaysSmallWhateverThereIs(t *testing.T) {
	const most = 256 << 10
	for name, v := range map[string]tally.View{"large": largeView(t), "hostile": hostileView(t)} {
		got := pageOf(t, v, aboutTest())
		checkPage(t, got)
		t.Logf("%s: %d bytes", name, len(got))
		if len(got) > most {
			t.Errorf("%s: %d bytes, want at most %d", name, len(got), most)
		}
	}
}

func TestWhatIsWorthTellingIsShownBeforeTheRest(t *testing.T) {
	v := largeView(t)
	shown := timeline(v, calendar{theTime})
	n := map[bool]int{}
	for _, g := range shown.Groups {
		n[g.Summary != ""] += len(g.Entries)
	}
	if total := n[true] + n[false]; total != mostEntries || shown.Left != len(v.Timeline)-mostEntries {
		t.Errorf("%d entries, %d left; want %d and %d", total, shown.Left, mostEntries, len(v.Timeline)-mostEntries)
	}
	// A flood of what is not worth telling hides nothing.
	v = condemned(t)
	for i := range 200 {
		v.Entries++
		v.Timeline = append(v.Timeline, tally.Entry{Number: v.Entries, Kind: tally.Skipped, Moment: tally.Moment{At: theTime.Add(time.Duration(i-300) * time.Second)}, Summary: "skipped"})
	}
	shown = timeline(v, calendar{theTime})
	if len(shown.Groups) != 2 || shown.Groups[0].Summary != "skipped 75 times: 18:27:45 to 18:28:59" || len(shown.Groups[1].Entries) != 5 {
		t.Errorf("%d groups, the first one: %q", len(shown.Groups), shown.Groups[0].Summary)
	}
}

func TestManySwitchesAreFoldedBehindTheLastOnes(t *testing.T) {
	for _, c := range []struct {
		switches, open int
		summary        string
	}{
		{mostOpen + mostInRow, mostOpen + mostInRow, ""},
		{30, mostOpen, "switched 20 times: 18:25:40 to 18:28:50"},
	} {
		v := emptyView()
		for i := range c.switches {
			v.Entries++
			v.Timeline = append(v.Timeline, tally.Entry{Number: v.Entries, Kind: tally.Switched, Moment: tally.Moment{At: theTime.Add(time.Duration(i-c.switches) * 10 * time.Second)}, Summary: "switched"})
		}
		shown := timeline(v, calendar{theTime})
		summary := ""
		if len(shown.Groups) == 2 {
			summary = shown.Groups[1].Summary
		}
		if len(shown.Groups[0].Entries) != c.open || shown.Groups[0].Summary != "" || summary != c.summary {
			t.Errorf("%d switches: %d are open, then %q; want %d, %q", c.switches, len(shown.Groups[0].Entries), summary, c.open, c.summary)
		}
	}
}

func TestTheVerdictIsWhatIsSeenFirst(t *testing.T) {
	staleAbout := func(v tally.View) tally.View {
		v.Collectors[tally.Doctor] = tally.Health{Known: true, Error: "no /proc", LastSuccess: theTime.Add(-3 * time.Hour)}
		return v
	}
	restarted := emptyView()
	restarted.Status = "warning"
	failed := emptyView()
	failed.Collectors[tally.Doctor] = tally.Health{Known: true, Error: "no /proc"}
	for _, c := range []struct {
		name     string
		view     tally.View
		status   page.Status
		headline string
		about    string
		do       int
	}{
		{"a machine that is well", healthy(t), page.OK, "tsc is in use and nothing speaks against it", "The doctor's verdict of 18:30:28, 12 s ago.", 0},
		{"one that is not", condemned(t), page.Warning, "the kernel gave up a TSC that the evidence clears (reference-read-delay); hpet is in use", "95 s ago", 3},
		{"a line that the doctor does not know yet", freshView(t), page.Warning, "the kernel gave up tsc because reading it against hpet took 60666 ns", "has not judged this yet", 0},
		{"just started", emptyView(), page.Unknown, "no verdict yet", "The monitor was started 7 h ago.", 0},
		{"started anew", restarted, page.Unknown, "no verdict yet", "started 7 h ago. The verdict before: warning.", 0},
		{"the doctor cannot examine the machine", failed, page.Unknown, "could not examine this machine: no /proc", "started 7 h ago", 0},
		{"the doctor cannot any more", staleAbout(healthy(t)), page.OK, "tsc is in use", "3 h ago. It may be out of date", 0},
	} {
		got := verdictOf(c.view, aboutTest(), calendar{theTime})
		if got.Status != c.status || !strings.Contains(got.Headline, c.headline) || !strings.Contains(got.About, c.about) || len(got.Do) != c.do {
			t.Errorf("%s: %s, %q, %q, %d things to do", c.name, got.Status, got.Headline, got.About, len(got.Do))
		}
		text := pageOf(t, c.view, aboutTest())
		if head := text[:strings.Index(text, `id="clock"`)]; !strings.Contains(head, html.EscapeString(got.Headline)) || !strings.Contains(head, "<title>"+c.status.Word()+": web-7") {
			t.Errorf("%s: the head of the page lacks the verdict", c.name)
		}
	}
}

func TestWhatCannotBeSeenIsSaidWithWhatHelps(t *testing.T) {
	got := pageOf(t, blindView(t), aboutTest())
	for _, want := range []string{"What the monitor cannot see", `<a href="#collectors">kernel log</a>`, "it may have given one up", "CAP_SYSLOG", "permission denied: the kernel restricts its log", "--reference none", "sudo dmesg"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, c := range tally.CollectorNames() {
		if w := collectorWords(c); w.reads == "" || w.without == "" || w.remedy == "" {
			t.Errorf("%s: %+v", c, w)
		}
	}
	for _, k := range tally.EntryKinds() {
		if w := kindOfEntry(k); w.word == "" || strings.Contains(w.word, "-") || w.status == "" {
			t.Errorf("%s: %+v", k, w)
		}
	}
}

func TestTheTileOfTheClockComparesItWithTheBest(t *testing.T) {
	fallen := condemned(t)
	other := fallen
	other.Clocks.Condemned, other.Diagnosis = nil, &doctor.Diagnosis{Status: doctor.StatusWarning}
	chosen := other
	chosen.Diagnosis = &doctor.Diagnosis{Status: doctor.StatusOK}
	unknown := healthy(t)
	unknown.Best = ""
	for _, c := range []struct {
		name string
		view tally.View
		want tile
	}{
		{"the best", healthy(t), tile{"Clock in use", "tsc", "the best that this machine has", ""}},
		{"one that is left", fallen, tile{"Clock in use", "hpet", "tsc is better, but the kernel gave it up in this boot", page.Warning}},
		{"one beside a better", other, tile{"Clock in use", "hpet", "tsc is better, and is not used", page.Warning}},
		{"one beside a better, and the doctor finds it fine", chosen, tile{"Clock in use", "hpet", "tsc is better, and is not used", ""}},
		{"nobody knows a better", unknown, tile{"Clock in use", "tsc", "whether there is a better one cannot be told", ""}},
		{"nothing is known", emptyView(), tile{"Clock in use", "not known", "the kernel's list of clocksources was not read yet", ""}},
	} {
		if diff := cmp.Diff(c.want, tiles(c.view, calendar{theTime})[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestTimesAreToldAsPeopleReadThem(t *testing.T) {
	c := calendar{theTime}
	for _, w := range []struct {
		before    time.Duration
		text, ago string
	}{
		{0, "18:30:40", "just now"}, {95 * time.Second, "18:29:05", "95 s ago"}, {40 * time.Minute, "17:50:40", "40 min ago"}, {20 * time.Hour, "4 March, 22:30:40", "20 h ago"},
		{51 * time.Hour, "3 March, 15:30:40", "2 days ago"}, {100 * 24 * time.Hour, "25 November 2025, 18:30:40", "100 days ago"}, {-time.Minute, "18:31:40", "in the future"},
	} {
		if m := c.moment(theTime.Add(-w.before).UTC()); m.Text != w.text || m.Ago != w.ago {
			t.Errorf("%v: %+v", w.before, m)
		}
	}
	for zone, want := range map[*time.Location]string{time.UTC: "UTC", time.FixedZone("CET", 3600): "CET (UTC+01:00)", time.FixedZone("+0530", 19800): "UTC+05:30", time.FixedZone("", -3600): "UTC-01:00"} {
		if got := (calendar{theTime.In(zone)}).zone(); got != want {
			t.Errorf("%v: %q, want %q", zone, got, want)
		}
	}
}

func TestANumberThatIsNoneSpoilsNeitherPageNorDocument(t *testing.T) {
	for _, none := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for i := range 1 << 12 {
			v := condemned(t)
			v.History = v.History[:3]
			d := *diagnosisOfFile(t, "diagnosis-condemned.json")
			d.Live, d.Decisions = &doctor.Live{}, make([]doctor.Decision, 1)
			d.Decisions[0].SkewPPM.Known = true
			v.Diagnosis = &d
			spoilt, ok := spoil(reflect.ValueOf(&v).Elem(), none, i)
			if !ok {
				if i < 20 {
					t.Fatalf("only %d numbers were found", i)
				}
				break
			}
			if _, err := Status(v, aboutTest(), theTime); err != nil {
				t.Errorf("%s: %v", spoilt, err)
			}
			checkPage(t, pageOf(t, v, aboutTest()))
		}
	}
}

// spoil sets the i-th float64 of a value, and returns where it stands.
func spoil(v reflect.Value, to float64, i int) (where string, ok bool) {
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Float64:
			if i == 0 {
				v.SetFloat(to)
				where, ok = path, true
			}
			i--
		case reflect.Pointer:
			if !v.IsNil() && v.Type().Elem().Name() != "Location" {
				walk(v.Elem(), path)
			}
		case reflect.Slice:
			for k := range v.Len() {
				if strings.HasSuffix(path, ".Edges") {
					return // constants of the program
				}
				walk(v.Index(k), fmt.Sprintf("%s[%d]", path, k))
			}
		case reflect.Struct:
			for k := range v.NumField() {
				if f := v.Type().Field(k); f.IsExported() {
					walk(v.Field(k), path+"."+f.Name)
				}
			}
		}
	}
	walk(v, "")
	return where, ok
}

func TestTheHandlerAnswersForThePageAndItsStyleAlone(t *testing.T) {
	h := handlerOf(healthy(t), aboutTest())
	for _, c := range []struct {
		method, target string
		status         int
		kind           string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"}, {"HEAD", "/", 200, "text/html; charset=utf-8"}, {"GET", "/?still", 200, "text/html; charset=utf-8"},
		{"GET", "/style.css", 200, "text/css; charset=utf-8"},
		{"GET", "/index.html", 404, ""}, {"GET", "//", 404, ""}, {"GET", "/style.css/", 404, ""}, {"GET", "/favicon.ico", 404, ""}, {"POST", "/x", 404, ""},
		{"POST", "/", 405, ""}, {"DELETE", "/style.css", 405, ""},
	} {
		w := get(h, c.method, c.target)
		if w.Code != c.status || c.kind != "" && w.Header().Get("Content-Type") != c.kind {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.target, w.Code, w.Header().Get("Content-Type"), c.status, c.kind)
		}
		if w.Header().Get("Content-Security-Policy") != statusPolicy || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: headers %v", c.method, c.target, w.Header())
		}
	}
	if got := get(h, "GET", "/style.css", "If-None-Match", get(h, "GET", "/style.css").Header().Get("ETag")); got.Code != http.StatusNotModified || got.Body.Len() > 0 {
		t.Errorf("the style sheet that a browser has is sent again: %d", got.Code)
	}
}

func TestAPageRenewsItselfUntilAReaderStopsIt(t *testing.T) {
	for _, c := range []struct {
		name, target, want string
		view               tally.View
	}{
		{"well", "/", "30", healthy(t)}, {"before the first verdict", "/", "5", emptyView()}, {"before the verdict on what was seen", "/", "5", freshView(t)},
		{"stopped", "/?still", "", healthy(t)}, {"stopped before the first verdict", "/?still", "", emptyView()},
	} {
		w := get(handlerOf(c.view, aboutTest()), "GET", c.target)
		if got := w.Header().Get("Refresh"); got != c.want {
			t.Errorf("%s: Refresh %q, want %q", c.name, got, c.want)
		}
		link := `<a href="./?still">stop</a>`
		if c.want == "" {
			link = `<a href="./">go on</a>`
		}
		if !strings.Contains(w.Body.String(), link) {
			t.Errorf("%s: the page lacks %s", c.name, link)
		}
	}
}

func TestHoweverManyLookThePageIsMadeOnceASecond(t *testing.T) {
	var lock sync.Mutex
	views, at := 0, theTime
	v := healthy(t)
	h := Page(func() tally.View { views++; return v }, aboutTest, func() time.Time { lock.Lock(); defer lock.Unlock(); return at })
	look := func() {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if w := get(h, "GET", "/"); w.Code != 200 || !strings.HasSuffix(w.Body.String(), "</html>\n") {
					t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
				}
			})
		}
		all.Wait()
	}
	for i, step := range []time.Duration{0, 999 * time.Millisecond, time.Millisecond, -time.Hour} { // the clock may be set back
		lock.Lock()
		at = at.Add(step)
		lock.Unlock()
		look()
		if want := []int{1, 1, 2, 3}[i]; views != want {
			t.Errorf("after step %d the page was made %d times, want %d", i, views, want)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	for name, v := range map[string]tally.View{"healthy": healthy(b), "condemned": condemned(b), "large": largeView(b)} {
		b.Run(name, func(b *testing.B) {
			h := handlerOf(v, aboutTest())
			for b.Loop() {
				h.made = [2]madePage{}
				if _, err := h.page(false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStatus(b *testing.B) {
	v := condemned(b)
	for b.Loop() {
		if _, err := Status(v, aboutTest(), theTime); err != nil {
			b.Fatal(err)
		}
	}
}
