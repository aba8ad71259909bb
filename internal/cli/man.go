package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manDate stands on every page. It is a constant, changed by hand when the
// commands change, so that the same source gives the same pages byte for byte.
const manDate = "2026-11-30"

func newManCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man [COMMAND]...",
		Short: "Write the manual pages",
		Long: "Prints the manual page of cswatch, or of one of its commands, for a pager such as man -l.\n" +
			"With --dir it writes all pages, cswatch.1 and one cswatch-COMMAND.1 for each command.",
		Example: "  cswatch man | man -l -\n  cswatch man --dir /usr/local/share/man/man1",
		GroupID: groupAbout,
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeCommands(cmd.Root(), args)
		},
	}
	dir := cmd.Flags().String("dir", "", "write all pages to the folder `DIR`, made if need be")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *dir == "" {
			of, err := findCommand(cmd.Root(), args)
			if err != nil {
				return err
			}
			_, err = env.Stdout.Write(manPage(of))
			return err
		}
		if len(args) > 0 {
			return usagef("man --dir writes all pages: leave out %q, or leave out --dir", strings.Join(args, " "))
		}
		return writeManPages(cmd.Root(), *dir)
	}
	return cmd
}

// writeManPages writes the page of a command and of all below it.
func writeManPages(cmd *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder for the manual pages: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), manPage(cmd), 0o644); err != nil {
		return fmt.Errorf("write the manual page of %s: %w", cmd.CommandPath(), err)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			if err := writeManPages(sub, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// manName is the page's name: the command's path with dashes.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage renders a command's page of section 1.
func manPage(cmd *cobra.Command) []byte {
	cmd.InitDefaultHelpFlag()
	var b bytes.Buffer
	r := roff{w: &b}
	r.line(`.TH "%s" "1" "%s" "cswatch" "User Commands"`, r.escape(strings.ToUpper(manName(cmd))), manDate)
	r.section("NAME")
	r.line(`%s \- %s`, r.escape(manName(cmd)), r.escape(lowerFirst(cmd.Short)))
	r.section("SYNOPSIS")
	r.line(`%s`, synopsis(r, cmd))
	r.section("DESCRIPTION")
	r.text(description(cmd))
	manCommands(r, cmd)
	manFlags(r, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(r, "GLOBAL OPTIONS", cmd.InheritedFlags())
	r.section("EXIT STATUS")
	for _, m := range exitStatusOf(cmd).Table {
		r.item(fmt.Sprintf(`\fB%d\fR`, m.Code), m.Meaning)
	}
	if !cmd.HasParent() {
		manEnvironment(r)
	}
	if cmd.HasExample() {
		r.section("EXAMPLES")
		r.preformatted(strings.Split(strings.Trim(cmd.Example, "\n"), "\n"))
	}
	manSeeAlso(r, cmd)
	return b.Bytes()
}

// synopsis sets the literal part of the usage line in bold.
func synopsis(r roff, cmd *cobra.Command) string {
	bold := `\fB` + r.escape(cmd.CommandPath()) + `\fR`
	if cmd.HasAvailableSubCommands() {
		return bold + ` [OPTION]... COMMAND [ARGUMENT]...`
	}
	_, rest, _ := strings.Cut(cmd.Use, " ")
	if rest != "" {
		rest = " " + rest
	}
	return bold + ` [OPTION]...` + r.escape(rest)
}

func description(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

func manCommands(r roff, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	r.section("COMMANDS")
	list := func(group string) {
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group && sub.IsAvailableCommand() {
				r.item(`\fB`+r.escape(sub.Name())+`\fR`, sub.Short+".")
			}
		}
	}
	for _, g := range cmd.Groups() {
		r.line(`.SS "%s"`, r.escape(strings.TrimSuffix(g.Title, ":")))
		list(g.ID)
	}
	list("")
}

func manFlags(r roff, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	r.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		tag := `\fB` + r.escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			tag = `\fB` + r.escape("-"+f.Shorthand) + `\fR, ` + tag
		}
		if value != "" {
			tag += ` \fI` + r.escape(value) + `\fR`
		}
		text := upperFirst(usage)
		if !isZeroDefault(f.DefValue) {
			text += " (default: " + f.DefValue + ")"
		}
		r.item(tag, text+".")
	})
}

// isZeroDefault reports whether a flag's default says nothing.
func isZeroDefault(value string) bool {
	switch value {
	case "", "false", "0", "0s", "[]":
		return true
	}
	return false
}

func manEnvironment(r roff) {
	r.section("ENVIRONMENT")
	r.item(`\fBCSWATCH_CONFIG\fR`, "The configuration file to read. It must exist; /dev/null is none.")
	r.item(`\fBXDG_CONFIG_HOME\fR`, "An absolute path; cswatch/config in it is read next.")
	r.item(`\fBNO_COLOR\fR`, "If not empty: no colour, even on a terminal.")
	r.item(`\fBCLICOLOR_FORCE\fR`, "If neither empty nor 0: colour even where the output is not a terminal, unless NO_COLOR forbids.")
	r.section("FILES")
	r.item(r.escape(systemConfig), "The configuration file where the environment names none. Lines are \"key = value\"; # begins a comment. "+
		"Keys: ignore (ids of findings, with commas between, may be repeated), expect (the name of a clocksource), fail-on (warning or critical).")
}

func manSeeAlso(r roff, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, manName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, manName(sub))
		}
	}
	if len(pages) == 0 {
		return
	}
	for i, p := range pages {
		pages[i] = `\fB` + r.escape(p) + `\fR(1)`
	}
	r.section("SEE ALSO")
	r.line(`%s`, strings.Join(pages, ", "))
}

func lowerFirst(s string) string {
	if len(s) < 2 || s[1] >= 'A' && s[1] <= 'Z' {
		return s // an abbreviation keeps its capitals
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// roff writes the man macros. Help texts are plain text, not a markup
// language, so everything in them is escaped and nothing is interpreted.
type roff struct{ w io.Writer }

func (r roff) line(format string, args ...any) { fmt.Fprintf(r.w, format+"\n", args...) }

func (r roff) section(title string) { r.line(`.SH "%s"`, title) }

// item writes a tagged paragraph; the tag is roff already, the text is not.
func (r roff) item(tag, text string) {
	r.line(".TP")
	r.line("%s", tag)
	for line := range strings.Lines(text) {
		r.line("%s", r.escape(strings.TrimSpace(line)))
	}
}

// text writes paragraphs. Blank lines part them, and indented lines keep their layout.
func (r roff) text(s string) {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		switch {
		case strings.TrimSpace(lines[i]) == "":
			r.line(".PP")
		case strings.HasPrefix(lines[i], " "), strings.HasPrefix(lines[i], "\t"):
			first := i
			for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], " ") || strings.HasPrefix(lines[i+1], "\t")) {
				i++
			}
			r.preformatted(lines[first : i+1])
		default:
			r.line("%s", r.escape(lines[i]))
		}
	}
}

func (r roff) preformatted(lines []string) {
	r.line(".nf")
	for _, l := range lines {
		r.line("%s", r.escape(strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), " ")))
	}
	r.line(".fi")
}

// escape makes text literal: backslashes, control characters at the start of a
// line, dashes (else they become hyphens, which nobody can paste into a shell),
// quotes (which end a macro argument) and what is not ASCII.
func (r roff) escape(s string) string {
	var b strings.Builder
	for i, c := range s {
		switch {
		case c == '\\':
			b.WriteString(`\e`)
		case c == '-':
			b.WriteString(`\-`)
		case c == '"':
			b.WriteString(`\(dq`)
		case i == 0 && (c == '.' || c == '\''):
			b.WriteString(`\&` + string(c))
		case c == '\n':
			b.WriteByte(' ')
		case c > 126:
			fmt.Fprintf(&b, `\[u%04X]`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
