package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/trace"
)

// fall is a recording of 18 ticks in which a TSC falls: see internal/docs.
const fall = "../docs/testdata/fall.jsonl"

// called runs a command line.
func called(t testing.TB, stdin []byte, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(args, bytes.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// inBinary returns the recording in the binary form.
func inBinary(t testing.TB) []byte {
	t.Helper()
	code, out, errs := called(t, nil, "trace", "convert", fall, "-o", "-", "--to", "binary")
	if code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	return []byte(out)
}

// stream reads JSON Lines: the ticks, and the document of the last line.
func stream(t testing.TB, text string) (ticks []report.Tick, summary map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		if summary != nil {
			t.Fatalf("a line follows the summary: %s", line)
		}
		var last struct {
			Schema  string
			Summary map[string]any
		}
		var tick report.Tick
		if err := json.Unmarshal([]byte(line), &last); err != nil || last.Schema != report.TickSchema {
			t.Fatalf("%v in %s", err, line)
		}
		if summary = last.Summary; summary != nil {
			continue
		}
		if err := json.Unmarshal([]byte(line), &tick); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		ticks = append(ticks, tick)
	}
	return ticks, summary
}

func TestTheStreamAndTheDocumentTellTheSame(t *testing.T) {
	args := []string{"replay", fall, "--era", "E0,E5,6.1.78,E12", "--retries", "3,10", "--format"}
	_, text, _ := called(t, nil, append(args, "jsonl")...)
	ticks, summary := stream(t, text)
	code, text, errs := called(t, nil, append(args, "json")...)
	if code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(doc, summary); diff != "" {
		t.Errorf("the last line is not the document (-document +line):\n%s", diff)
	}
	var whole report.Replay
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	if len(whole.Columns) != 6 {
		t.Fatalf("%d columns, want E0 and E12 once and the others with 3 and 10 retries", len(whole.Columns))
	}
	for _, c := range whole.Columns {
		kinds := map[string]uint64{}
		var exact, answers uint64
		for _, tick := range ticks {
			if tick.Era != c.Era || tick.Release != c.Release || tick.Watch.Retries != c.Watch.Retries {
				continue
			}
			kinds[tick.Kind.String()]++
			if tick.Kind.String() != "already-condemned" {
				answers++
				if tick.Exact {
					exact++
				}
			}
			if tick.Kind.Condemns() && (c.Clocks[0].Condemned == nil || c.Clocks[0].Condemned.Tick != tick.Tick) {
				t.Errorf("%s with %d retries condemned at tick %d, which the document does not say", c.Era, c.Watch.Retries, tick.Tick)
			}
		}
		k := c.Clocks[0]
		if diff := cmp.Diff(k.Kinds, kinds); diff != "" || exact != k.Exact || answers != k.Answers {
			t.Errorf("%s with %d retries: %d of %d exact, in the document %d of %d; kinds (-document +stream):\n%s",
				c.Era, c.Watch.Retries, exact, answers, k.Exact, k.Answers, diff)
		}
	}
}

func TestBothFormsReplayAlike(t *testing.T) {
	for _, format := range []string{"text", "json", "jsonl"} {
		_, text, _ := called(t, []byte(readFile(t, fall)), "replay", "-", "--era", "all", "--format", format)
		code, binary, errs := called(t, inBinary(t), "replay", "-", "--era", "all", "--format", format)
		if code != 0 {
			t.Fatalf("code %d: %s", code, errs)
		}
		if format != "text" { // which does not name the form
			text = strings.NewReplacer(`"form": "jsonl"`, `"form": "binary"`, `"form":"jsonl"`, `"form":"binary"`).Replace(text)
			text, binary = withoutBytes(text), withoutBytes(binary)
		}
		if diff := cmp.Diff(text, binary); diff != "" {
			t.Errorf("%s (-JSON Lines +binary):\n%s", format, diff)
		}
	}
}

// withoutBytes takes the size of the recording out of a document.
func withoutBytes(text string) string {
	var kept []string
	for _, part := range strings.Split(text, ",") {
		if !strings.Contains(part, `"bytes":`) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A recording cut anywhere behind its header is replayed up to the cut, with the same answers as
// the whole one; the exit code and stderr tell.
func TestACutRecordingIsReplayedUpToTheCut(t *testing.T) {
	for form, whole := range map[string][]byte{"binary": inBinary(t), "jsonl": []byte(readFile(t, fall))} {
		_, text, _ := called(t, whole, "replay", "-", "--era", "E6", "--format", "jsonl")
		all, _ := stream(t, text)
		cuts, before := 0, -1
		for n := 1; n < len(whole); n += 131 {
			code, text, errs := called(t, whole[:n], "replay", "-", "--era", "E6", "--format", "jsonl")
			if text == "" {
				if code != ExitFailed || !strings.Contains(errs, "cut off at byte") || before >= 0 {
					t.Errorf("%s cut in its header at byte %d: code %d, %s", form, n, code, errs)
				}
				continue
			}
			ticks, summary := stream(t, text)
			if len(ticks) < before || len(ticks) > len(all) {
				t.Fatalf("%s cut at byte %d: %d ticks, at a cut before it were %d", form, n, len(ticks), before)
			}
			before = len(ticks)
			if diff := cmp.Diff(all[:len(ticks)], ticks); len(ticks) > 0 && diff != "" {
				t.Fatalf("%s cut at byte %d (-whole +cut):\n%s", form, n, diff)
			}
			recording := summary["recording"].(map[string]any)
			if damage, _ := recording["damage"].(string); damage != "" {
				cuts++
				lost := fmt.Sprintf("%d ticks before it were read, %.0f bytes are lost", len(ticks), recording["lost_bytes"])
				if code != ExitFailed || !strings.Contains(errs, lost) {
					t.Errorf("%s cut at byte %d: code %d, want %q in %s", form, n, code, lost, errs)
				}
			} else if code != ExitOK || !strings.Contains(errs, "did not close it") {
				t.Errorf("%s cut at byte %d between two parts: code %d, %s", form, n, code, errs)
			}
		}
		if cuts < 10 || before < 15 {
			t.Errorf("%s: only %d cuts, the last after %d ticks", form, cuts, before)
		}
	}
}

func TestADamagedRecordingIsVerifiedAndConvertedUpToTheDamage(t *testing.T) {
	bad := inBinary(t)
	bad[len(bad)*2/3] ^= 0x10
	name := filepath.Join(t.TempDir(), "bad.trace")
	if err := os.WriteFile(name, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := called(t, nil, "trace", "verify", name)
	if code != ExitFailed || !strings.Contains(out, "DAMAGED") || !strings.Contains(out, "damage ") || !strings.Contains(errs, "bytes are lost") {
		t.Errorf("verify: code %d\n%s%s", code, out, errs)
	}
	code, out, errs = called(t, nil, "trace", "verify", name, "--format", "json")
	if code != ExitFailed || !strings.Contains(out, `"whole": false`) {
		t.Errorf("verify as JSON: code %d\n%s%s", code, out, errs)
	}
	saved := filepath.Join(t.TempDir(), "good.trace")
	code, _, errs = called(t, nil, "trace", "convert", name, "-o", saved)
	if code != ExitFailed || !strings.Contains(errs, "wrote ") || !strings.Contains(errs, "bytes are lost") {
		t.Errorf("convert: code %d, %s", code, errs)
	}
	r, err := trace.Verify(strings.NewReader(readFile(t, saved)))
	if err != nil || r.Ticks < 5 || r.Ended {
		t.Errorf("the copy has %d ticks, closed: %t, %v; want the good ones and no end", r.Ticks, r.Ended, err)
	}
}

func TestAPlanHasEachWatchdogOnce(t *testing.T) {
	cases := []struct {
		name    string
		eras    []string
		retries []int
		want    string
		notes   int
	}{
		{"nothing named", nil, nil, "E0 E1 E2 E3 E4 E5 E6 E7 E8 E9 E10 E11 E12", 0},
		{"an era twice", []string{"E5", "e5"}, nil, "E5", 0},
		{"a release and its era", []string{"5.15", "E5"}, nil, "E5@5.15.0 E5", 0},
		{"a stable release", []string{"6.1.78"}, nil, "LTS-6.1.78@6.1.78", 0},
		{"a release that may have two eras", []string{"7.1"}, nil, "E12@7.1.0 E11@7.1.0", 1},
		{"retries", []string{"E5", "E6"}, []int{3, 10, 3}, "E5/3 E5/10 E6/3 E6/10", 0},
		{"retries of eras without them", []string{"E0", "E5", "E9", "E12"}, []int{7, 8}, "E0 E5/7 E5/8 E9 E12", 1},
		{"an era that was not released", []string{"tip-forgive"}, nil, "tip-forgive", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plan, err := planReplay(c.eras, c.retries)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range plan.watches {
				text := string(w.profile.Era)
				if w.release != "" {
					text += "@" + w.release
				}
				if w.retries >= 0 {
					text += fmt.Sprintf("/%d", w.retries)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" || len(plan.notes) != c.notes {
				t.Errorf("notes %q, want %d of them; watchdogs (-want +got):\n%s", plan.notes, c.notes, diff)
			}
		})
	}
}

func TestTheVariantsComeOnlyWhenAskedFor(t *testing.T) {
	plan, err := planReplay([]string{"all"}, nil)
	if err != nil || len(plan.watches) < 20 || len(plan.notes) != 0 {
		t.Errorf("%d watchdogs, notes %q, %v", len(plan.watches), plan.notes, err)
	}
}

func TestARecordingWithoutAReferenceIsForTheErasThatCanDoWithout(t *testing.T) {
	lines := strings.SplitAfter(readFile(t, fall), "\n")
	var h trace.Header
	if err := json.Unmarshal([]byte(lines[0]), &h); err != nil {
		t.Fatal(err)
	}
	h.Reference = trace.Clock{}
	first, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	recording := append(append(first, '\n'), strings.Join(lines[1:], "")...)
	code, out, errs := called(t, recording, "replay", "-")
	if code != 0 || !strings.Contains(out, "no reference") || !strings.Contains(out, "of 1 watchdog") || !strings.Contains(errs, "left out: era E0 over this recording") {
		t.Errorf("every era: code %d\n%s%s", code, out, errs)
	}
	code, out, errs = called(t, recording, "replay", "-", "--era", "E0,E12")
	if code != ExitFailed || out != "" || !strings.Contains(errs, "only from 7.1 on") {
		t.Errorf("E0 by name: code %d\n%s%s", code, out, errs)
	}
}

func TestErasAreCompleted(t *testing.T) {
	words, _ := completeEras(nil, nil, "")
	for _, want := range []string{"all\t", "E5\t5.14 to 5.16", "LTS-6.1.78\t"} {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, want) }) {
			t.Errorf("%q is not offered: %q", want, words)
		}
	}
}

// FuzzReplay reads anything as a recording: no panic, code 0 or 1, and an error
// for whatever is not replayed.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(readFile(f, fall)))
	f.Add(inBinary(f))
	f.Add([]byte("CSWATCH"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, recording []byte) {
		code, out, errs := called(t, recording, "replay", "-", "--era", "E0,E6,E12")
		if code != ExitOK && code != ExitFailed || code == ExitOK && out == "" || code == ExitFailed && errs == "" {
			t.Errorf("code %d, stdout %q, stderr %q", code, out, errs)
		}
		if verify, _, _ := called(t, recording, "trace", "verify", "-"); verify != code {
			t.Errorf("replay exits with %d and verify with %d", code, verify)
		}
	})
}
