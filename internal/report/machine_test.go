package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
)

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		status           doctor.Status
		failOn           string
		text, npd, alone int
	}{
		{doctor.StatusOK, "warning", 0, 0, 0},
		{doctor.StatusWarning, "warning", 1, 1, 1},
		{doctor.StatusWarning, "", 1, 1, 1},
		{doctor.StatusWarning, "critical", 0, 0, 0},
		{doctor.StatusCritical, "critical", 2, 1, 2},
		{doctor.StatusCritical, "warning", 2, 1, 2},
		{doctor.StatusUnknown, "warning", 3, 2, 3},
		{doctor.StatusUnknown, "critical", 3, 2, 3},
		{"", "warning", 3, 2, 3},
	} {
		t.Run(fmt.Sprintf("%s, fail on %s", tt.status, tt.failOn), func(t *testing.T) {
			d := &doctor.Diagnosis{Status: tt.status}
			if got := ExitCode(d, tt.failOn); got != tt.text {
				t.Errorf("ExitCode: %d, want %d", got, tt.text)
			}
			if got := NPDExitCode(d, tt.failOn); got != tt.npd {
				t.Errorf("NPDExitCode: %d, want %d", got, tt.npd)
			}
			if got := ExitCodeOf([]*doctor.Diagnosis{healthy(), d, healthy()}, tt.failOn); got != tt.alone {
				t.Errorf("ExitCodeOf with two healthy machines: %d, want %d", got, tt.alone)
			}
		})
	}
}

func TestAKnownTroubleWeighsMoreThanNotToKnow(t *testing.T) {
	all := []*doctor.Diagnosis{container(), fallen(), healthy()}
	if got := ExitCodeOf(all, "warning"); got != 1 {
		t.Errorf("unknown, warning and OK exit with %d, want 1", got)
	}
	if got := ExitCodeOf(append(all, convicted()), "warning"); got != 2 {
		t.Errorf("with a critical one they exit with %d, want 2", got)
	}
	if got := ExitCodeOf(nil, "warning"); got != 3 {
		t.Errorf("no machine exits with %d, want 3", got)
	}
}

// at follows keys and indices into a decoded JSON document.
func at(document any, path ...any) (any, bool) {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := document.(map[string]any)
			value, ok := object[step]
			if !ok {
				return nil, false
			}
			document = value
		case int:
			list, ok := document.([]any)
			if !ok || step >= len(list) {
				return nil, false
			}
			document = list[step]
		}
	}
	return document, true
}

func TestJSONHoldsTheFieldsOfTheContract(t *testing.T) {
	d := fallen()
	d.Missing = []doctor.Missing{{ID: "platform", HowToGet: "systemd-detect-virt"}}
	d.Unreadable = []machine.Unreadable{{What: "/dev/kmsg", Reason: "permission denied"}}
	text := output(t, func(w io.Writer) error { return JSON(w, d) })
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]any{
		{"schema"}, {"status"}, {"summary"}, {"kernel_trusts_tsc"}, {"current_clocksource"}, {"final_clocksource"}, {"tsc_verdict"},
		{"findings", 0, "id"}, {"findings", 0, "severity"}, {"findings", 0, "summary"}, {"findings", 0, "suppressed"},
		{"findings", 0, "evidence", 0, "source"}, {"findings", 0, "evidence", 0, "line"}, {"findings", 0, "evidence", 0, "text"},
		{"advice", 1, "id"}, {"advice", 1, "summary"}, {"advice", 1, "command"}, {"advice", 1, "risk"},
		{"missing", 0, "id"}, {"missing", 0, "how_to_get"},
		{"kernel", "release"}, {"kernel", "era_candidates", 0}, {"kernel", "why"},
		{"cost", "read_ns"}, {"cost", "path"}, {"cost", "syscall_ns"}, {"inputs", "fail_on"}, {"inputs", "logs", 0},
	} {
		if _, ok := at(got, path...); !ok {
			t.Errorf("the document has no %v", path)
		}
	}
	if !strings.HasPrefix(text, "{\n  \"schema\": \"cswatch.doctor/v1\",\n") {
		t.Errorf("the schema does not stand first: %.60q", text)
	}
	if !strings.Contains(text, "<-(13965149377") {
		t.Error("the document escapes < as for HTML")
	}
	var back doctor.Diagnosis
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	want := complete(d)
	if diff := cmp.Diff(want, back); diff != "" {
		t.Errorf("the document reads back otherwise, -want +got:\n%s", diff)
	}
}

func TestJSONHasEmptyListsInsteadOfNull(t *testing.T) {
	d := &doctor.Diagnosis{Status: doctor.StatusOK, Findings: []doctor.Finding{{ID: "x"}}}
	text := output(t, func(w io.Writer) error { return JSON(w, d) })
	if strings.Contains(text, "null") {
		t.Errorf("the document holds null:\n%s", text)
	}
	if d.Findings[0].Evidence != nil || d.Advice != nil {
		t.Error("writing changed the diagnosis")
	}
	if !strings.Contains(text, doctor.Schema) {
		t.Error("a diagnosis without a schema gets none")
	}
}

func TestJSONEscapesWhatIsHiddenAndKeepsItsValue(t *testing.T) {
	d := &doctor.Diagnosis{Summary: "a\u202eb\u009b\u200b\U000e0041\x7f時計 µ"}
	text := output(t, func(w io.Writer) error { return JSON(w, d) })
	if !strings.Contains(text, `"a\u202eb\u009b\u200b\udb40\udc41\u007f時計 µ"`) {
		t.Errorf("the summary is not escaped as expected:\n%s", text)
	}
	var back doctor.Diagnosis
	if err := json.Unmarshal([]byte(text), &back); err != nil || back.Summary != d.Summary {
		t.Errorf("the summary reads back as %q (%v), want %q", back.Summary, err, d.Summary)
	}
}

func TestAListOfMachinesIsOneDocument(t *testing.T) {
	text := output(t, func(w io.Writer) error { return JSONList(w, []*doctor.Diagnosis{healthy(), fallen()}) })
	var got struct {
		Schema   string
		Machines []doctor.Diagnosis
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "cswatch.doctor-list/v1" || len(got.Machines) != 2 || got.Machines[1].Host != "skylake8" {
		t.Errorf("schema %q, %d machines", got.Schema, len(got.Machines))
	}
	if empty := output(t, func(w io.Writer) error { return JSONList(w, nil) }); !strings.Contains(empty, `"machines": []`) {
		t.Errorf("no machines: %s", empty)
	}
}

// perfField is one field of performance data as the plugin guidelines define it.
var perfField = regexp.MustCompile(`^('[^'=]+'|[^ '=]+)=(U|-?[0-9]+(\.[0-9]+)?)(s|us|ms|%|B|KB|MB|TB|c)?(;[0-9.:@~]*){0,2}(;-?[0-9.]*){0,2}$`)

func TestNagiosOutputKeepsTheConventions(t *testing.T) {
	for name, d := range cases() {
		text := output(t, func(w io.Writer) error { return Nagios(w, d) })
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		states := [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}
		if want := "CSWATCH " + states[ExitCode(d, d.Inputs.FailOn)] + " - "; !strings.HasPrefix(lines[0], want) {
			t.Errorf("%s begins with %.30q, want %q", name, lines[0], want)
		}
		if n := strings.Count(text, "|"); n != 1 || !strings.Contains(lines[0], " | ") {
			t.Errorf("%s has %d times |, want one, in the first line:\n%s", name, n, text)
		}
		_, data, _ := strings.Cut(lines[0], " | ")
		for _, field := range strings.Fields(data) {
			if !perfField.MatchString(field) {
				t.Errorf("%s: %q is no performance data", name, field)
			}
		}
		if len(text) > 4096 {
			t.Errorf("%s: %d bytes, Nagios reads 4096", name, len(text))
		}
	}
}

func TestNagiosWordAgreesWithTheExitCode(t *testing.T) {
	d := fallen()
	d.Inputs.FailOn = "critical"
	text := output(t, func(w io.Writer) error { return Nagios(w, d) })
	if !strings.HasPrefix(text, "CSWATCH OK - ") || !strings.Contains(text, "only what is critical counts") {
		t.Errorf("a warning that is let pass reads %q", text)
	}
}

func TestNagiosLeavesOutACommandWithAPipe(t *testing.T) {
	d := fallen()
	d.Advice = []doctor.Advice{{ID: "find-the-stall", Summary: "Find it", Command: "dmesg | grep stall", Risk: doctor.RiskNone}}
	text := output(t, func(w io.Writer) error { return Nagios(w, d) })
	if strings.Contains(text, "grep") || !strings.HasSuffix(text, "advice find-the-stall (changes nothing): Find it\n") {
		t.Errorf("the advice reads %q", text)
	}
}

func TestNPDSaysWhatMattersInEightyBytes(t *testing.T) {
	for _, tt := range []struct {
		d    *doctor.Diagnosis
		want string
	}{
		{healthy(), "tsc is in use and nothing speaks against it\n"},
		{fallen(), "hpet in use; TSC given up (evidence: cleared): reference-read-delay\n"},
		{convicted(), "hpet in use; TSC given up (evidence: convicted): tsc-frequency-wrong\n"},
		{disagreeing(), "tsc in use; TSC convicted: tsc-offset-between-cpus\n"},
		{&doctor.Diagnosis{}, "no summary\n"},
		{&doctor.Diagnosis{Summary: strings.Repeat("long ", 40)}, strings.Repeat("long ", 15) + "l...\n"},
	} {
		if got := output(t, func(w io.Writer) error { return NPD(w, tt.d) }); got != tt.want {
			t.Errorf("%.40q: got %q, want %q", tt.d.Summary, got, tt.want)
		}
	}
}

func FuzzNPD(f *testing.F) {
	f.Add("summary", "tsc", "id", "good", "no")
	f.Add(evil, evil, evil, "bad", "yes")
	f.Add(strings.Repeat("µ", 100), strings.Repeat("時", 40), "x", "undecided", "no")
	f.Fuzz(func(t *testing.T, summary, clock, id, verdict, trust string) {
		d := &doctor.Diagnosis{Summary: summary, CurrentClock: clock, TSCVerdict: doctor.Verdict(verdict), KernelTrustsTSC: doctor.Trust(trust),
			Findings: []doctor.Finding{{ID: id, Severity: doctor.Warning}}}
		text := output(t, func(w io.Writer) error { return NPD(w, d) })
		harmless(t, "the plugin output", text)
		if len(text) > 80 || strings.Count(text, "\n") != 1 || !utf8.ValidString(text) || strings.TrimSpace(text) == "" {
			t.Errorf("%q has %d bytes, want one line of at most 80", text, len(text))
		}
	})
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAFullDiskIsAnError(t *testing.T) {
	for form, write := range forms(fallen()) {
		if err := write(full{}); err == nil || !strings.Contains(err.Error(), "no space left") || !strings.HasPrefix(err.Error(), "write ") {
			t.Errorf("%s on a full disk: %v", form, err)
		}
	}
}

func TestTheTableIsSortedWithoutTouchingTheArgument(t *testing.T) {
	all := []*doctor.Diagnosis{healthy(), convicted()}
	var b bytes.Buffer
	if err := Table(&b, all, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if all[0].Status != doctor.StatusOK {
		t.Error("Table reordered its argument")
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.Contains(lines[1], "CRITICAL") || !strings.Contains(lines[2], "OK") {
		t.Errorf("the worst does not stand first:\n%s", b.String())
	}
}

func TestTheTableKeepsToTheWidthWhereItCan(t *testing.T) {
	all := []*doctor.Diagnosis{healthy(), container(), fallen(), convicted(), guest(), arm(), hostile()}
	for _, width := range [...]int{90, 100, 130} {
		for line := range strings.Lines(output(t, func(w io.Writer) error { return Table(w, all, TextOptions{Width: width}) })) {
			if n := columns(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at %d columns a row has %d: %q", width, n, line)
			}
		}
	}
}
