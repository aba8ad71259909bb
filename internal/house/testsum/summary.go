package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json, as far as it matters here.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// summary takes in the events of a run. Tests and subtests count one each, and
// a package that fails without a failed test (it does not build, or it panics) counts as one failure.
type summary struct {
	w                       io.Writer
	passed, failed, skipped int
	packages                map[string]*packageRun
	skips, failures         []string
}

type packageRun struct {
	output map[string]*strings.Builder // of tests that have not ended
	failed int
}

func newSummary(w io.Writer) *summary {
	return &summary{w: w, packages: map[string]*packageRun{}}
}

// read takes in a whole stream. Lines that are no events are passed through.
func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(s.w, "%s", line)
			} else {
				s.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) take(e event) {
	if e.Action == "build-output" {
		io.WriteString(s.w, e.Output)
		return
	}
	p := s.packages[e.Package]
	if p == nil {
		p = &packageRun{output: map[string]*strings.Builder{}}
		s.packages[e.Package] = p
	}
	if e.Test == "" {
		s.takePackage(p, e)
		return
	}
	out := p.output[e.Test]
	if out == nil {
		out = &strings.Builder{}
		p.output[e.Test] = out
	}
	name := shortPackage(e.Package) + " " + e.Test
	switch e.Action {
	case "output":
		out.WriteString(e.Output)
		return
	case "pass":
		s.passed++
	case "skip":
		s.skipped++
		s.skips = append(s.skips, name+": "+skipReason(out.String()))
	case "fail":
		s.failed++
		p.failed++
		s.failures = append(s.failures, name)
		io.WriteString(s.w, withoutNoise(out.String()))
	default:
		return
	}
	delete(p.output, e.Test)
}

// takePackage takes in an event about a package as a whole.
func (s *summary) takePackage(p *packageRun, e event) {
	switch e.Action {
	case "output":
		if e.Output != "PASS\n" { // go test itself leaves it out too where it closes with "ok"
			io.WriteString(s.w, e.Output)
		}
	case "fail":
		// Tests that never ended: the program died under them.
		for _, test := range slices.Sorted(maps.Keys(p.output)) {
			io.WriteString(s.w, withoutNoise(p.output[test].String()))
		}
		if p.failed == 0 {
			s.failed++
			s.failures = append(s.failures, shortPackage(e.Package)+" (the package as a whole)")
		}
	}
}

// print writes the lists of skipped and failed tests and the closing line.
func (s *summary) print() {
	for _, list := range []struct {
		title string
		names []string
	}{{"Skipped:", s.skips}, {"Failed:", s.failures}} {
		if len(list.names) == 0 {
			continue
		}
		fmt.Fprintf(s.w, "\n%s\n", list.title)
		for _, name := range list.names {
			fmt.Fprintf(s.w, "  %s\n", name)
		}
	}
	fmt.Fprintf(s.w, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
}

// shortPackage drops host, owner and module from an import path.
func shortPackage(importPath string) string {
	parts := strings.SplitN(importPath, "/", 4)
	return parts[len(parts)-1]
}

var noise = regexp.MustCompile(`(?m)^=== (?:RUN|PAUSE|CONT|NAME) .*\n`)

// withoutNoise drops the lines that only -v prints.
func withoutNoise(output string) string { return noise.ReplaceAllString(output, "") }

var (
	skipLine = regexp.MustCompile(`(?m)^\s*--- SKIP: .*\n`)
	location = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: `)
)

// skipReason takes what t.Skip said out of a test's output.
func skipReason(output string) string {
	output = skipLine.ReplaceAllString(withoutNoise(output), "")
	output = location.ReplaceAllString(output, "")
	if reason := strings.Join(strings.Fields(output), " "); reason != "" {
		return reason
	}
	return "no reason given"
}
