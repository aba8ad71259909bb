package hook

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const sampleDocument = `{"schema":"cswatch.event/v1","id":"0f1f7c4a-16a4-4b2a-9f0f-6e0c5a3e1a11:17",` +
	`"text":"db01: the kernel gave up tsc because reading it against hpet took 60666 ns",` +
	`"boot_id":"0f1f7c4a-16a4-4b2a-9f0f-6e0c5a3e1a11","number":17,"kind":"condemned","host":"db01","at":"2026-03-01T12:00:00.25Z",` +
	`"doubt":"the machine has slept","lookback":true,"printk_ns":13669682000,"clocksource":"tsc","from":"tsc","to":"hpet","reference":"hpet",` +
	`"cause":"read-delay","status_before":"ok","status_after":"warning","summary":"the kernel gave up tsc because reading it against hpet took 60666 ns",` +
	`"line":"clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable"}` + "\n"

func document(t testing.TB, e Event) string {
	t.Helper()
	b, err := e.Document()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestADocumentIsOneLineOfJSONWithSchemaAndID(t *testing.T) {
	if diff := cmp.Diff(sampleDocument, document(t, sample())); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotKnownOfAnEventIsNotInItsDocument(t *testing.T) {
	e := Event{BootID: "b", Number: 1, Kind: StatusChanged, Host: "h", At: time.Unix(0, 0), Summary: "<all> & sundry"}
	want := `{"schema":"cswatch.event/v1","id":"b:1","text":"h: ?all? & sundry","boot_id":"b","number":1,"kind":"status","host":"h",` +
		`"at":"1970-01-01T00:00:00Z","lookback":false,"summary":"<all> & sundry"}` + "\n"
	if diff := cmp.Diff(want, document(t, e)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// environment returns the variables as a map.
func environment(t testing.TB, e Event) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, v := range e.Environment() {
		name, value, ok := strings.Cut(v, "=")
		if _, twice := found[name]; !ok || twice {
			t.Fatalf("the variable %q", v)
		}
		found[name] = value
	}
	return found
}

func TestTheEnvironmentHasEveryKeyOfTheDocumentWithItsValue(t *testing.T) {
	var keys map[string]any
	in := json.NewDecoder(strings.NewReader(document(t, sample())))
	in.UseNumber()
	if err := in.Decode(&keys); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for key, value := range keys {
		text, isText := value.(string)
		if !isText {
			b, _ := json.Marshal(value)
			text = string(b)
		}
		want["CSWATCH_EVENT_"+strings.ToUpper(key)] = text
	}
	if diff := cmp.Diff(want, environment(t, sample())); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	empty := environment(t, Event{})
	for name := range want {
		if _, there := empty[name]; !there {
			t.Errorf("%s is not set for an event without it", name)
		}
	}
}

func TestHostileTextIsOneBoundedLineOfPrintableCharacters(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"a line's end", "a\nCSWATCH_EVENT_KIND=x", "a?CSWATCH_EVENT_KIND=x"},
		{"a NUL", "a\x00b", "a?b"},
		{"a terminal's sequence", "\x1b[31mred", "?[31mred"},
		{"text that turns its direction", "a\u202eb\u2028c", "a?b?c"},
		{"bytes that are no text", "a\xff\xfeb", "a?b"},
		{"a text that is too long", strings.Repeat("x", 1000), strings.Repeat("x", 512)},
		{"a character that the limit goes through", strings.Repeat("x", 511) + "ü", strings.Repeat("x", 511)},
		{"a character that just fits", strings.Repeat("x", 510) + "üy", strings.Repeat("x", 510) + "ü"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := sample()
			e.Line = c.text
			if got := environment(t, e)["CSWATCH_EVENT_LINE"]; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTheTextForPeopleMentionsNobodyInAChat(t *testing.T) {
	e := sample()
	e.Summary = "<!channel> @all\n<https://example.com|click>"
	if got, want := e.Text(), "db01: ?!channel? ?all??https://example.com|click?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestATimeThatCannotBeWrittenIsDoubtful(t *testing.T) {
	e := sample()
	e.At = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	if d := document(t, e); !strings.Contains(d, `"at":"0001-01-01T00:00:00Z"`) || !strings.Contains(d, `"doubt":"the clock of the machine`) {
		t.Error(d)
	}
}

// largest is what a document takes at most: every byte of its texts may become six ("\u0001").
const largest = 6*(3*maxText+9*maxName+2*maxHost+maxText) + 1000

func FuzzTheFormsOfAnEvent(f *testing.F) {
	f.Add("0f1f7c4a-16a4-4b2a-9f0f-6e0c5a3e1a11", uint64(17), uint8(1), "db01", int64(0), "", "tsc", "a summary", "a line\nand another")
	f.Add("", uint64(0), uint8(9), "\x00", int64(-1<<62), "\n", "=", "<@\xff\xff", strings.Repeat("\x01", 2000))
	f.Fuzz(func(t *testing.T, boot string, number uint64, kind uint8, host string, at int64, doubt, name, summary, line string) {
		e := Event{
			BootID: boot, Number: number, Kind: Kind(name), Host: host, At: time.Unix(at, 0), Doubt: doubt, Clocksource: name, From: name, To: name,
			Reference: name, Cause: name, StatusBefore: name, StatusAfter: name, Summary: summary, Line: line,
		}
		if int(kind) < len(Kinds()) {
			e.Kind = Kinds()[kind]
		}
		total := 0
		odd := func(r rune) bool { return !unicode.IsPrint(r) }
		for _, v := range e.Environment() {
			total += len(v)
			if !utf8.ValidString(v) || strings.ContainsFunc(v, odd) { // no NUL and no line's end among them
				t.Errorf("the variable %q", v)
			}
		}
		if limit := 4*maxText + 9*maxName + 2*maxHost + 1000; total > limit {
			t.Errorf("an environment of %d bytes, want %d at most", total, limit)
		}
		env := environment(t, e)
		if got := env["CSWATCH_EVENT_ID"]; got != e.ID() {
			t.Errorf("the id %q, want %q", got, e.ID())
		}
		if got := Kind(env["CSWATCH_EVENT_KIND"]); slices.Contains(Kinds(), e.Kind) && got != e.Kind {
			t.Errorf("the kind %q, want %q", got, e.Kind)
		}
		b := document(t, e)
		if len(b) > largest || strings.Count(b, "\n") != 1 {
			t.Errorf("a document of %d bytes: %q", len(b), b)
		}
		var back struct {
			Schema, ID string
			Kind       Kind
		}
		if err := json.Unmarshal([]byte(b), &back); err != nil || back.Schema != Schema || back.ID != e.ID() {
			t.Errorf("%v, %+v of %q", err, back, b)
		}
		if slices.Contains(Kinds(), e.Kind) && back.Kind != e.Kind {
			t.Errorf("the kind %q, want %q", back.Kind, e.Kind)
		}
	})
}
