package page

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

var update = flag.Bool("update", false, "write the golden files anew")

// outline is what a page says: headings, sentences, facts, captions, and the sizes of tables.
func outline(t testing.TB, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var textOf func(*html.Node) string
	textOf = func(n *html.Node) string {
		if n.Type == html.TextNode {
			return n.Data
		}
		var s strings.Builder
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			s.WriteString(textOf(c))
			s.WriteByte(' ')
		}
		return s.String()
	}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			switch n.Data {
			case "h1", "h2", "h3", "p", "li", "div", "figcaption", "summary", "pre", "caption", "desc":
				if n.Data == "div" && (n.FirstChild == nil || n.FirstChild.Data != "dt") {
					break
				}
				fmt.Fprintf(&b, "%s: %s\n", n.Data, strings.Join(strings.Fields(textOf(n)), " "))
				if n.Data != "li" {
					return
				}
				return
			case "tbody":
				rows := 0
				for c := n.FirstChild; c != nil; c = c.NextSibling {
					if c.Data == "tr" {
						if rows++; rows == 1 {
							fmt.Fprintf(&b, "row: %s\n", strings.Join(strings.Fields(textOf(c)), " "))
						}
					}
				}
				fmt.Fprintf(&b, "rows: %d\n", rows)
				return
			case "script", "style", "nav":
				return
			}
			for _, a := range n.Attr {
				if n.Data == "svg" && a.Key == "class" && strings.Contains(a.Val, "narrow") {
					return
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	return b.String()
}

func TestThePageOfASetOfDocumentsSaysWhatItSaid(t *testing.T) {
	page := setPage(t)
	checkPage(t, page)
	if len(page) >= 1<<20 {
		t.Errorf("the page has %d bytes, want less than 1 MiB", len(page))
	}
	if again := setPage(t); again != page {
		t.Error("the same documents give another page")
	}
	const file = "testdata/set.golden"
	got := outline(t, page)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with: go test ./internal/page -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestThePolicyAllowsTheStyleAndTheScriptOfThePageAndNothingElse(t *testing.T) {
	page := setPage(t)
	part := func(expression string) string {
		m := regexp.MustCompile(expression).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("the page has nothing like %s", expression)
		}
		return m[1]
	}
	policy := html.UnescapeString(part(`http-equiv="Content-Security-Policy" content="([^"]*)"`))
	want := "default-src 'none'; style-src " + hash(part(`(?s)<style>(.*?)</style>`)) + "; script-src " + hash(part(`(?s)<script>(.*?)</script>`)) + "; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("policy %s\nwant   %s", policy, want)
	}
}

func TestWhatIsNoDocumentIsSaidAndTheRestIsKept(t *testing.T) {
	const good = `{"schema":"cswatch.doctor/v1","status":"ok","host":"db01","summary":"fine"}`
	for _, c := range []struct {
		name, input, err string
		documents        int
	}{
		{"nothing", "", "it is empty", 0},
		{"blanks", " \n", "it is empty", 0},
		{"text", "hello", "no JSON document of this program", 0},
		{"an array", "[1]", "no JSON document of this program", 0},
		{"an object without a schema", `{"a":1}`, "no JSON document of this program", 0},
		{"a schema of somebody else", `{"schema":"other.thing/v1"}`, "no JSON document of this program", 0},
		{"a schema that is none", `{"schema":"cswatch.<b>/v1"}`, "no JSON document of this program", 0},
		{"a good one", good, "", 1},
		{"two", good + good, "", 2},
		{"a good one and a broken one", good + `{"schema":"cswatch.doc`, "breaks off within document 2", 1},
		{"a good one and no document", good + ` {"x":1}`, "no JSON document of this program", 1},
		{"a document of a newer form, which is shown by its keys", `{"schema":"cswatch.doctor/v1","status":{"a":"b"}}`, "not as such documents are", 1},
		{"a kind that is not known", `{"schema":"cswatch.new-thing/v2","n":1}`, "", 1},
		{"a stream without a summary, which is one document", strings.Repeat(`{"schema":"cswatch.tick/v1","era":"E5","kind":"agreed","time_ns":5}`+"\n", 3), "", 1},
	} {
		p := New("")
		err := p.Add("file.json", strings.NewReader(c.input))
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		case p.Documents() != c.documents:
			t.Errorf("%s: %d documents, want %d", c.name, p.Documents(), c.documents)
		}
		checkPage(t, written(t, p))
	}
}

// endless is a document that never ends.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	if !e.begun {
		n = copy(p, `{"schema":"cswatch.x/v1","a":"`)
		e.begun = true
	}
	for i := range p[n:] {
		p[n+i] = 'x'
	}
	return len(p), nil
}

func TestADocumentWithoutEndIsGivenUp(t *testing.T) {
	p := New("")
	if err := p.Add("endless.json", &endless{}); err == nil || !strings.Contains(err.Error(), "document 1 is larger than 32 MiB") {
		t.Errorf("error %v", err)
	}
	if err := p.Add("failing.json", io.MultiReader(strings.NewReader(`{"schema"`), failing{})); err == nil || !strings.Contains(err.Error(), "cable pulled") {
		t.Errorf("error %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("cable pulled") }

func TestAThinnedSeriesKeepsEveryExtreme(t *testing.T) {
	for _, n := range []int{0, 1, 2, 599, 600, 601, 1200, 1201, 5000, 100_000} {
		var s thinned
		least, most := math.Inf(1), math.Inf(-1)
		for i := range n {
			y := math.Sin(float64(i)*0.7) * float64(i%997)
			if i == n/3 {
				y = 1e9 // a single spike
			}
			least, most = min(least, y), max(most, y)
			s.add(float64(i), y)
		}
		points := s.points()
		if len(points) > 2*mostBuckets || n <= mostBuckets && len(points) != n {
			t.Errorf("%d points: %d are kept", n, len(points))
		}
		gotLeast, gotMost := math.Inf(1), math.Inf(-1)
		last := math.Inf(-1)
		for _, p := range points {
			gotLeast, gotMost = min(gotLeast, p.y), max(gotMost, p.y)
			if p.x <= last {
				t.Fatalf("%d points: %v follows %v", n, p.x, last)
			}
			last = p.x
		}
		if gotLeast != least || gotMost != most {
			t.Errorf("%d points: from %v to %v, want %v to %v", n, gotLeast, gotMost, least, most)
		}
		if said := thinNote(&s, len(points)); (said != "") != (len(points) < n) {
			t.Errorf("%d points, %d kept: %q is said", n, len(points), said)
		}
	}
}

func TestALongWatchIsThinnedAndSaysSo(t *testing.T) {
	var b strings.Builder
	for i := range 40_000 {
		delay := 200 + i%7
		if i == 31_234 {
			delay = 77_777
		}
		fmt.Fprintf(&b, `{"schema":"cswatch.tick/v1","era":"E12","retries":2,"tick":%d,"time_ns":%d,"clocksource":"tsc","reference":"hpet","kind":"agreed","readback_delay_ns":%d,"read_limit_ns":50000,"skew_ppm":0.%d,"exact":true}`+"\n", i, i*500_000_000, delay, i%10)
	}
	page := made(t, "", b.String())
	checkPage(t, page)
	for _, want := range []string{`data-v="77777"`, "thinned: ", "of 40000 points", "77.8 µs"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if len(page) > 400_000 {
		t.Errorf("it has %d bytes", len(page))
	}
}

func TestTheStatusOfAMonitorIsAHostOfTheFleet(t *testing.T) {
	p := New("")
	doc := `{"schema":"cswatch.monitor/v1","status":"warning","host":"db01","summary":"hpet is in use","monitor":{"boot_id":"b"},"events":[]}`
	if err := p.Add("db01.json", strings.NewReader(doc)); err != nil {
		t.Fatal(err)
	}
	page := written(t, p)
	checkPage(t, page)
	if !strings.Contains(page, ">db01<") || !strings.Contains(page, "hpet is in use") || strings.Contains(page, "boot_id") {
		t.Error("it is not shown as a host")
	}
}

func TestAFleetIsSortedByHowBadItIs(t *testing.T) {
	var list []string
	for i := range 600 {
		list = append(list, fmt.Sprintf(`{"status":%q,"host":"host%d","summary":"s"}`, []string{"ok", "critical", "unknown", "warning"}[i%4], i))
	}
	p := New("")
	if err := p.Add("fleet.json", strings.NewReader(`{"schema":"cswatch.doctor-list/v1","machines":[`+strings.Join(list, ",")+`]}`)); err != nil {
		t.Fatal(err)
	}
	page := written(t, p)
	checkPage(t, page)
	critical, ok := strings.Index(page, ">host1<"), strings.Index(page, ">host0<")
	if critical < 0 || ok < critical {
		t.Errorf("the critical host1 stands at %d, the good host0 at %d", critical, ok)
	}
	for _, want := range []string{"600 hosts: 150 critical, 150 warning, 150 cannot tell, 150 OK.", "The details of 200 more hosts, none of them worse, are left out.", "150 hosts"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if len(page) > 1<<20 {
		t.Errorf("600 hosts make a page of %d bytes", len(page))
	}
}
