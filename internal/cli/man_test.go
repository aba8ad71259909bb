package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestManPageKeepsHelpTextsLiterally(t *testing.T) {
	cmd := &cobra.Command{
		Use:   "probe [--x N] FILE...",
		Short: "TSC <notes> in \"quotes\"",
		Long: "Lines carry the prefix cswatch(<source>): and *stars* stay.\n.TH is no macro here\n'nor this\n\n" +
			"A layout:\n  0  back\\slash\n\ttab\n\nThe end µs.",
		Example: "  cswatch probe --x 2 \"a b\"\n  .hidden",
		Run:     func(*cobra.Command, []string) {},
	}
	cmd.Flags().IntP("x", "x", 2, "read `N` times, <often>")
	cmd.Flags().String("quiet", "", "nothing")
	cmd.Flags().String("secret", "", "not shown")
	if err := cmd.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	setExitStatus(cmd, exitStatus{Failed: 3, Usage: 3, Table: []exitMeaning{{0, "OK"}, {3, "cannot tell"}}})
	want := strings.TrimLeft(`
.TH "PROBE" "1" "2026-11-30" "cswatch" "User Commands"
.SH "NAME"
probe \- TSC <notes> in \(dqquotes\(dq
.SH "SYNOPSIS"
\fBprobe\fR [OPTION]... [\-\-x N] FILE...
.SH "DESCRIPTION"
Lines carry the prefix cswatch(<source>): and *stars* stay.
\&.TH is no macro here
\&'nor this
.PP
A layout:
.nf
  0  back\eslash
    tab
.fi
.PP
The end \[u00B5]s.
.SH "OPTIONS"
.TP
\fB\-h\fR, \fB\-\-help\fR
Help for probe.
.TP
\fB\-\-quiet\fR \fIstring\fR
Nothing.
.TP
\fB\-x\fR, \fB\-\-x\fR \fIN\fR
Read N times, <often> (default: 2).
.SH "EXIT STATUS"
.TP
\fB0\fR
OK
.TP
\fB3\fR
cannot tell
.SH "ENVIRONMENT"
`, "\n")
	got := string(manPage(cmd))
	// The rest belongs to the program's own page; the example stands last.
	if !strings.HasPrefix(got, want) {
		t.Errorf("the page does not begin as it should:\n%s\nwant\n%s", got, want)
	}
	if end := ".SH \"EXAMPLES\"\n.nf\n  cswatch probe \\-\\-x 2 \\(dqa b\\(dq\n  .hidden\n.fi\n"; !strings.HasSuffix(got, end) {
		t.Errorf("the page does not end with the example:\n%s", got)
	}
	if strings.Contains(got, "secret") {
		t.Error("the page shows a hidden flag")
	}
}

func TestEveryCommandHasAManPageWithoutStrayMacros(t *testing.T) {
	known := map[string]bool{".TH": true, ".SH": true, ".SS": true, ".TP": true, ".PP": true, ".nf": true, ".fi": true}
	root, _ := newRoot(newEnv(nil, &bytes.Buffer{}, &bytes.Buffer{}))
	pages := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		pages++
		for line := range strings.Lines(string(manPage(cmd))) {
			macro, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if (line[0] == '.' || line[0] == '\'') && !known[macro] {
				t.Errorf("%s: stray macro in %q", cmd.CommandPath(), line)
			}
			for _, c := range line {
				if c > 126 {
					t.Errorf("%s: not ASCII: %q", cmd.CommandPath(), line)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	if pages < 5 {
		t.Errorf("only %d pages were looked at", pages)
	}
}
