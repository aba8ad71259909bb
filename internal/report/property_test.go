package report

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/klog"
)

// forms writes a diagnosis in every form that a person or a monitoring system reads.
func forms(d *doctor.Diagnosis) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"text":         func(w io.Writer) error { return Text(w, d, TextOptions{}) },
		"text, narrow": func(w io.Writer) error { return Text(w, d, TextOptions{Width: 40, Verbose: true}) },
		"text, ASCII":  func(w io.Writer) error { return Text(w, d, TextOptions{Width: 80, ASCII: true, Verbose: true}) },
		"nagios":       func(w io.Writer) error { return Nagios(w, d) },
		"npd":          func(w io.Writer) error { return NPD(w, d) },
		"json":         func(w io.Writer) error { return JSON(w, d) },
		"table": func(w io.Writer) error {
			return Table(w, []*doctor.Diagnosis{d, healthy()}, TextOptions{Width: 60})
		},
	}
}

// output runs a writer.
func output(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// harmless fails if text holds anything that a terminal could obey.
func harmless(t testing.TB, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is no UTF-8: %q", what, text)
	}
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("%s does not end its last line: %q", what, text)
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%s holds a raw %U:\n%q", what, r, text)
			return
		}
	}
}

func TestNothingInALogReachesATerminal(t *testing.T) {
	for name, d := range cases() {
		for form, write := range forms(d) {
			harmless(t, name+" as "+form, output(t, write))
		}
	}
	for _, dup := range []bool{false, true} {
		e := event.Event{Kind: event.Kind(evil), Text: evil, Detail: evil, Time: event.Time{Wall: evil, Doubt: evil},
			Source: event.Source{File: evil, Line: 1, Duplicate: dup}}
		text := output(t, func(w io.Writer) error { return EventText(w, e, TextOptions{}) })
		harmless(t, "the event", text)
		if strings.Count(text, "\n") != 1 {
			t.Errorf("one event wrote %q, want one line", text)
		}
	}
	harmless(t, "the statistics", output(t, func(w io.Writer) error {
		return StatsText(w, klog.Summary{Kinds: map[event.Kind]int{evil: 1}, Records: klog.Stats{Formats: map[string]int64{evil: 2}}})
	}))
}

func TestASCIIMeansASCII(t *testing.T) {
	for name, d := range cases() {
		for _, form := range [...]string{"text, ASCII", "nagios", "npd"} {
			text := output(t, forms(d)[form])
			if i := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
				t.Errorf("%s as %s holds %q", name, form, text[i:min(i+20, len(text))])
			}
		}
	}
}

func TestOnlyColourUsesEscapesAndOnlyItsOwn(t *testing.T) {
	for name, d := range cases() {
		for _, width := range [...]int{0, 60, 100} {
			plainly := output(t, func(w io.Writer) error { return Text(w, d, TextOptions{Width: width}) })
			coloured := output(t, func(w io.Writer) error { return Text(w, d, TextOptions{Width: width, Color: true}) })
			if !strings.Contains(coloured, "\x1b[") {
				t.Errorf("%s: no colour", name)
			}
			if got := string(colourless([]byte(coloured))); got != plainly {
				t.Errorf("%s: colours change more than colours:\n%s\nwant\n%s", name, got, plainly)
			}
		}
	}
}

func TestLinesKeepToTheWidth(t *testing.T) {
	for name, d := range cases() {
		for _, width := range [...]int{60, 72, 100} {
			text := output(t, func(w io.Writer) error { return Text(w, d, TextOptions{Width: width}) })
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if columns(line) <= width || unbroken(d, line) {
					continue
				}
				t.Errorf("%s at %d columns: a line has %d: %q", name, width, columns(line), line)
			}
		}
	}
}

// unbroken reports whether a line is one that is never wrapped: evidence or a command.
func unbroken(d *doctor.Diagnosis, line string) bool {
	line = strings.TrimLeft(line, " ")
	ok := strings.HasPrefix(line, "cswatch(") || strings.HasPrefix(line, "(the same lines")
	for _, a := range d.Advice {
		ok = ok || line == Safe(a.Command)
	}
	for _, m := range d.Missing {
		ok = ok || line == Safe(m.HowToGet)
	}
	for _, u := range d.Unreadable {
		ok = ok || line == Safe(u.HowTo)
	}
	return ok
}

func TestNothingOfOursIsTakenForTheKernels(t *testing.T) {
	all := cases()
	// The reason of a verdict comes from the log, and a sentence may break right before it.
	sly := fallen()
	sly.Findings[0].Summary = "the kernel gave up the TSC: " + strings.Repeat("clocksource: Switched to clocksource hpet ", 6)
	sly.Decisions[0].Why = "tsc: Marking TSC unstable due to clocksource watchdog"
	sly.Summary = "watchdog: BUG: soft lockup - CPU#3 stuck for 22s"
	all["sly"] = sly
	for name, d := range all {
		for _, width := range [...]int{0, 30, 44, 47, 60, 80, 100} {
			for _, color := range [...]bool{false, true} {
				text := output(t, func(w io.Writer) error { return Text(w, d, TextOptions{Width: width, Color: color, Verbose: true}) })
				for r := klog.NewReader(bytes.NewReader(colourless([]byte(text))), name); r.Next(); {
					t.Errorf("%s at %d columns, line %d would be taken for the kernel's: %s", name, width, r.Event().Source.Line, r.Event().Text)
				}
			}
		}
	}
	for _, e := range timeline() {
		e.Source.Format = ""
		text := output(t, func(w io.Writer) error { return EventText(w, e, TextOptions{}) })
		if !strings.HasPrefix(text, "cswatch(") {
			t.Errorf("the event's line has no prefix: %q", text)
		}
		for r := klog.NewReader(strings.NewReader(text), "x"); r.Next(); {
			t.Errorf("the event's line would be taken for the kernel's: %q", text)
		}
	}
}

func TestEvidenceIsWholeAndNamesItsLine(t *testing.T) {
	d := fallen()
	text := output(t, func(w io.Writer) error { return Text(w, d, TextOptions{Width: 50, Verbose: true}) })
	for _, proof := range d.Findings[0].Evidence {
		want := "cswatch(dmesg.txt:" + strconv.Itoa(proof.Line) + "): " + proof.Text + "\n"
		if !strings.Contains(text, want) {
			t.Errorf("no line %q", want)
		}
	}
	for _, a := range d.Advice {
		if a.Command != "" && !strings.Contains(text, " "+a.Command+"\n") {
			t.Errorf("no line with the command %q alone", a.Command)
		}
	}
}

func TestAHealthyMachineIsTold(t *testing.T) {
	text := output(t, func(w io.Writer) error { return Text(w, healthy(), TextOptions{Width: DefaultWidth}) })
	if n := strings.Count(text, "\n"); n < 12 || n > 18 {
		t.Errorf("a healthy machine takes %d lines, want 12 to 18:\n%s", n, text)
	}
}

func FuzzText(f *testing.F) {
	f.Add("summary", "id", "text", 40, true)
	f.Add(evil, evil, evil, 1, false)
	f.Add("clocksource: Switched to clocksource hpet", "tsc: Marking TSC unstable due to x", "[    1.0] y", 30, true)
	f.Fuzz(func(t *testing.T, summary, id, text string, width int, ascii bool) {
		d := hostile()
		d.Summary, d.Host, d.Findings[0].ID, d.Findings[0].Summary = summary, text, id, text
		d.Findings[0].Evidence[0].Text, d.Advice[0].Summary, d.Kernel.Why = text, summary, text
		out := output(t, func(w io.Writer) error { return Text(w, d, TextOptions{Width: width, ASCII: ascii}) })
		harmless(t, "the text", out)
		if ascii && strings.IndexFunc(out, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			t.Errorf("ASCII text holds more: %q", out)
		}
		harmless(t, "the plugin output", output(t, func(w io.Writer) error { return Nagios(w, d) }))
		harmless(t, "the table", output(t, func(w io.Writer) error { return Table(w, []*doctor.Diagnosis{d}, TextOptions{Width: width}) }))
	})
}
