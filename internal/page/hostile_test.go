package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// evil is what a document may say to get out of its place.
const evil = `</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)><a href="javascript:alert(1)">x</a>'"><iframe src=//evil.example>` + "\u202e\x00\u2028]]>-->{{.}}"

// made writes the page of documents.
func made(t testing.TB, title string, documents ...string) string {
	t.Helper()
	p := New(title)
	for i, d := range documents {
		if err := p.Add(fmt.Sprintf("file-%d.json", i), strings.NewReader(d)); err != nil {
			t.Logf("file-%d.json: %v", i, err)
		}
	}
	return written(t, p)
}

func written(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checkPage fails on what must not be in any page: elements that load or run
// something, attributes that do, links that lead out, ids that occur twice, links to ids that do not exist.
func checkPage(t testing.TB, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the page does not parse: %v", err)
	}
	allowed := map[string]bool{}
	for word := range strings.FieldsSeq("html head meta title style body a header div p button h1 h2 h3 nav ul li main section span b dl dt dd figure figcaption svg desc path text circle rect g clippath details summary " +
		"label select option table caption thead tbody tr th td footer code pre script") {
		allowed[word] = true
	}
	ids, scripts, styles := map[string]int{}, 0, 0
	var links []string
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			if !allowed[strings.ToLower(n.Data)] {
				t.Errorf("the page has an element %s", n.Data)
			}
			switch n.Data {
			case "script":
				scripts++
			case "style":
				styles++
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "id":
					ids[a.Val]++
				case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
					links = append(links, a.Val[1:])
				case a.Key == "href", a.Key == "src", a.Key == "style", a.Key == "action", a.Key == "srcset", a.Key == "xlink:href", strings.HasPrefix(a.Key, "on"):
					t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	if scripts != 1 || styles != 1 {
		t.Errorf("%d scripts and %d style sheets, want one of each", scripts, styles)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %q", n, id)
		}
	}
	for _, id := range links {
		if ids[id] == 0 {
			t.Errorf("a link leads to %q, which is not there", id)
		}
	}
	if i := strings.IndexAny(text, "\u202e\x00"); i >= 0 {
		t.Errorf("a character that turns text around, or none at all, is in the page: %q", text[max(i-200, 0):min(i+50, len(text))])
	}
}

// documents are those of the golden set.
func documents(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/set/*")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d documents in testdata/set: %v", len(names), err)
	}
	all := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

// poisoned puts the hostile text into every string of a document but words that decide how it is read.
func poisoned(t testing.TB, document string) string {
	t.Helper()
	var out strings.Builder
	dec := json.NewDecoder(strings.NewReader(document))
	dec.UseNumber() // a float64 has not all digits
	for {
		var v any
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(poison("", v))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
}

func poison(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = poison(k, inner)
		}
		return v
	case []any:
		for i := range v {
			v[i] = poison(key, v[i])
		}
		return v
	case string:
		switch key {
		case "schema", "kind", "part", "independent", "delay", "delays", "fault", "faults", "cpus", "online", "mask", "late", "cause", "read_pattern":
			return v
		}
		return v + evil
	}
	return v
}

func TestNothingThatADocumentSaysBecomesActive(t *testing.T) {
	p := New("title " + evil)
	for name, d := range documents(t) {
		if err := p.Add(name+evil, strings.NewReader(poisoned(t, d))); err != nil {
			t.Logf("%s: %v", name, err)
		}
	}
	text := written(t, p)
	checkPage(t, text)
	if n := strings.Count(text, "&lt;script&gt;alert(1)"); n < 100 {
		t.Errorf("the hostile text is shown %d times only: is it still in the documents?", n)
	}
}

func TestAPageOfNothingIsAPage(t *testing.T) {
	text := made(t, "")
	checkPage(t, text)
	if !strings.Contains(text, "There is nothing to show") {
		t.Error("it does not say so")
	}
}
