package house

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// wordRule forbids a pattern in the repository's files.
type wordRule struct {
	pattern *regexp.Regexp
	applies func(file string) bool
	why     string
}

// wordRules builds the patterns from pieces, so that this file does not break its own rules.
func wordRules() []wordRule {
	hosts := strings.Join([]string{
		`(?:proxy|sum)\.golang\.org`,
		`(?:deb|security|snapshot|ftp)\.debian\.org`,
		`(?:archive|security)\.ubuntu\.com`,
		`registry\.npmjs\.org`,
		`pypi\.org`,
		`(?:index\.)?crates\.io`,
		`registry-1\.docker\.io`,
	}, "|")
	notSums := func(file string) bool { return path.Base(file) != "go.sum" }
	return []wordRule{
		{regexp.MustCompile(`(?i)\b(?:` + hosts + `)\b`), notSums,
			"the repository names no package registry: each user's tools have their own"},
		{regexp.MustCompile(`(?:^|[^\w.~$}/-])/` + `work/`), notSums,
			"a path of the machine on which it was written means nothing to a reader"},
		{regexp.MustCompile(`\b(?:TO` + `DO|FIX` + `ME|X` + `XX)\b`), isSource,
			"unfinished work is finished, or described in an issue"},
	}
}

// isSource tells code and documentation, which we wrote, from test data, which others may have.
func isSource(file string) bool {
	if strings.Contains("/"+file, "/testdata/") {
		return false
	}
	switch path.Ext(file) {
	case ".go", ".md", ".s", ".sh", ".conf":
		return true
	}
	return path.Base(file) == "Makefile" || strings.HasPrefix(file, "scripts/") || strings.HasPrefix(file, ".ci/")
}

// CheckWords reports forbidden words in the text of one file.
func CheckWords(file string, text []byte) []Violation {
	var found []Violation
	for _, rule := range wordRules() {
		if !rule.applies(file) || !rule.pattern.Match(text) {
			continue
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if word := rule.pattern.Find(line); word != nil {
				found = append(found, Violation{fmt.Sprintf("%s:%d", file, i+1), fmt.Sprintf("holds %q", bytes.TrimSpace(word)), rule.why})
			}
		}
	}
	return found
}
