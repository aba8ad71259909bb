package docs

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/cli"
)

// call finds a call of the program in a block or a code span: the word stands
// alone, or behind a path, and an argument follows.
var call = regexp.MustCompile(`(?:^|[\s'"(|;])(?:[\w./]*/)?cswatch((?:\s+[^|;&#>)]+)?)`)

// quoted is a word of a shell's line, with its quotes.
var quoted = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"']|["'])+`)

// calls returns the arguments of every call in a line of shell.
func calls(line string) [][]string {
	var all [][]string
	for _, m := range call.FindAllStringSubmatch(line, -1) {
		args := quoted.FindAllString(m[1], -1)
		if len(args) > 0 && args[0] == "..." { // stands for any call
			continue
		}
		all = append(all, args)
	}
	return all
}

// checkCall says what is wrong with the arguments of a call, "" if nothing is.
func checkCall(args []string) string {
	if len(args) == 0 {
		return ""
	}
	path := []string{}
	for _, a := range args {
		if strings.HasPrefix(a, "-") || len(path) == 2 || len(path) == 1 && !slices.Contains([]string{"completion", "trace", "trial", "bench"}, path[0]) {
			break
		}
		path = append(path, a)
	}
	help, ok := helpOf(path)
	if !ok {
		return fmt.Sprintf("there is no command %q", strings.Join(path, " "))
	}
	for i, a := range args[len(path):] {
		a = strings.Trim(a, `'"`)
		name, value, has := strings.Cut(a, "=")
		if !flagWord.MatchString(name) {
			continue
		}
		line := flagLine(help, name)
		if line == "" {
			return fmt.Sprintf("%q has no flag %s", strings.Join(path, " "), name)
		}
		if rest := args[len(path)+i+1:]; !has && len(rest) > 0 {
			value = strings.Trim(rest[0], `'"`)
		}
		if choices := choiceList.FindString(line); choices != "" && !slices.Contains(strings.Split(choices, "|"), value) {
			return fmt.Sprintf("%s takes %s, not %q", name, choices, value)
		}
	}
	return ""
}

var (
	flagWord   = regexp.MustCompile(`^(-[a-zA-Z]|--[a-z][a-z-]*)$`)
	choiceList = regexp.MustCompile(`\b[a-z]+(?:\|[a-z]+)+\b`)
)

func helpOf(path []string) (string, bool) {
	var out, errs bytes.Buffer
	code := cli.Run(append(slices.Clone(path), "--help"), strings.NewReader(""), &out, &errs)
	// For an unknown command the help of the one above it would be shown.
	usage := strings.TrimRight("cswatch "+strings.Join(path, " "), " ")
	return out.String(), code == 0 && strings.Contains(out.String(), "\n  "+usage)
}

// flagLine returns the line of a help text that lists the flag.
func flagLine(help, name string) string {
	listed := regexp.MustCompile(`^\s+(-\w, )?` + regexp.QuoteMeta(name) + `\b`)
	short := regexp.MustCompile(`^\s+` + regexp.QuoteMeta(name) + `, `)
	for line := range strings.SplitSeq(help, "\n") {
		if strings.HasPrefix(name, "--") && listed.MatchString(line) || short.MatchString(line) {
			return line
		}
	}
	return ""
}

// shownCalls returns the calls of a page, each with the number of its line.
func shownCalls(text string) map[int][][]string {
	found := map[int][][]string{}
	blocks, prose := fences(text)
	for _, b := range blocks {
		for i, line := range b.lines {
			command, isCommand := strings.CutPrefix(line, "$ ")
			if b.info == "console" && !isCommand || b.info == "json" {
				continue // output
			}
			if c := calls(command); len(c) > 0 {
				found[b.line+i+1] = append(found[b.line+i+1], c...)
			}
		}
	}
	for i, line := range prose {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok { // an indented block
			found[i+1] = append(found[i+1], calls(command)...)
		}
		for _, span := range code(line) {
			if c := calls(span); len(c) > 0 {
				found[i+1] = append(found[i+1], c...)
			}
		}
	}
	return found
}

func TestEveryShownCommandLineParses(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		for line, all := range shownCalls(read(t, page)) {
			for _, args := range all {
				n++
				if problem := checkCall(args); problem != "" {
					t.Errorf("%s:%d: cswatch %s: %s", page, line, strings.Join(args, " "), problem)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d calls were found", n)
	}
}

func TestTheCommandCheckSeesWhatDoesNotExist(t *testing.T) {
	cases := []struct {
		line string
		bad  bool
	}{
		{"cswatch doctor --log x --format json", false},
		{"sudo /usr/local/bin/cswatch doctor --format=npd | cat", false},
		{"dmesg | cswatch log --stats -", false},
		{"cswatch completion bash > file", false},
		{"cswatch collect -o x.tar.gz", false},
		{"cswatch doctor $(printf -- '--root %s ' fleet/*)", false},
		{"cswatch --help", false},
		{"cswatch nosuchcommand", true},
		{"cswatch completion nosuchshell", true},
		{"cswatch doctor --nosuchflag", true},
		{"cswatch collect -x file", true},
		{"cswatch doctor --format xml", true},
		{"x=$(cswatch doctor --fail-on ok)", true},
		{"ssh h 'cswatch log --loud x'", true},
	}
	for _, c := range cases {
		problem := ""
		all := calls(c.line)
		if len(all) == 0 {
			t.Errorf("%s: no call was found", c.line)
		}
		for _, args := range all {
			problem += checkCall(args)
		}
		if (problem != "") != c.bad {
			t.Errorf("%s: problem %q", c.line, problem)
		}
	}
}

// runnable reports a block that shows one call on files of testdata, or one that
// needs none, and its output.
func runnable(b fence) (args []string, ok bool) {
	if b.info != "console" || len(b.lines) < 2 {
		return nil, false
	}
	command, ok := strings.CutPrefix(b.lines[0], "$ cswatch ")
	if !ok || slices.ContainsFunc(b.lines[1:], func(l string) bool { return strings.HasPrefix(l, "$ ") }) {
		return nil, false
	}
	args = strings.Fields(command)
	return args, args[0] == "simulate" || computes(args) || slices.ContainsFunc(args, func(a string) bool {
		_, err := os.Stat("testdata/" + a)
		return err == nil
	})
}

// computes reports a call of the model on numbers alone.
func computes(args []string) bool {
	return len(args) > 1 && args[0] == "bench" && args[1] == "model" && !slices.Contains(args, "--clock")
}

// output runs the program in testdata and returns what a terminal would show.
func output(t *testing.T, args []string) []string {
	t.Helper()
	for _, name := range []string{"NO_COLOR", "CLICOLOR_FORCE"} {
		t.Setenv(name, "")
	}
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("CSWATCH_CONFIG", os.DevNull) // not the one of the machine that tests
	t.Chdir("testdata")
	var out bytes.Buffer
	cli.Run(args, strings.NewReader(""), &out, &out)
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// elide shortens output as the page does: what stands before and after its "...".
func elide(shown, whole []string) []string {
	at := slices.Index(shown, "...")
	if at < 0 || len(whole) < len(shown) {
		return whole
	}
	tail := len(shown) - at - 1
	rest := slices.Clone(whole[len(whole)-tail:])
	if i := slices.Index(shown[at+1:], "..."); i >= 0 { // a second gap: the middle part is found by its first line
		middle := shown[at+1 : at+1+i]
		tail = len(shown) - at - i - 2
		rest = append([]string{}, whole[len(whole)-tail:]...)
		if start := slices.Index(whole, middle[0]); start >= 0 && start+len(middle) <= len(whole) {
			middle = whole[start : start+len(middle)]
		}
		rest = slices.Concat(middle, []string{"..."}, rest)
	}
	return slices.Concat(whole[:at], []string{"..."}, rest)
}

func TestShownOutputIsWhatTheProgramPrints(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		text := read(t, page)
		lines := strings.Split(text, "\n")
		blocks, _ := fences(text)
		slices.Reverse(blocks) // from the end, so that line numbers stay true under -update
		changed := false
		for _, b := range blocks {
			args, ok := runnable(b)
			if !ok {
				continue
			}
			n++
			t.Run(fmt.Sprintf("%s:%d", page, b.line), func(t *testing.T) {
				shown := b.lines[1:]
				want := elide(shown, output(t, args))
				if *update {
					lines = slices.Concat(lines[:b.line+1], want, lines[b.line+len(b.lines):])
					changed = true
					return
				}
				if diff := cmp.Diff(want, shown); diff != "" {
					t.Errorf("cswatch %s (-printed +shown): run go test ./internal/docs -update\n%s", strings.Join(args, " "), diff)
				}
			})
		}
		if changed {
			if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 6 {
		t.Errorf("only %d blocks were run", n)
	}
}

func TestElisionKeepsHeadAndTail(t *testing.T) {
	whole := []string{"a", "b", "c", "d", "e", "f", "g"}
	cases := []struct{ shown, want []string }{
		{[]string{"a", "b"}, whole},
		{[]string{"x", "...", "y", "z"}, []string{"a", "...", "f", "g"}},
		{[]string{"x", "...", "d", "y", "...", "z"}, []string{"a", "...", "d", "e", "...", "g"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, elide(c.shown, whole)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.shown, diff)
		}
	}
}
