package house

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// moduleOf returns the module that holds a package: the longest path of the list that is a prefix of it.
func moduleOf(importPath string, modules []string) string {
	best := ""
	for _, m := range modules {
		if (importPath == m || strings.HasPrefix(importPath, m+"/")) && len(m) > len(best) {
			best = m
		}
	}
	return best
}

// directModules returns the modules that hold the given packages, sorted. It
// goes by what is imported, not by the "// indirect" marks of go.mod, which lag behind.
func directModules(importPaths, modules []string) []string {
	set := map[string]bool{}
	for _, p := range importPaths {
		if m := moduleOf(p, modules); m != "" {
			set[m] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// CheckDependencies compares the modules that the repository needs directly
// with docs/dependencies.md, whose table has one row a module: | `path` | ... |.
// known is every module of go.mod.
func CheckDependencies(direct, known []string, document string) []Violation {
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| *`([^`]+)` *\\|(.*)$").FindAllStringSubmatch(document, -1) {
		rows[m[1]] = true
	}
	var found []Violation
	for _, m := range direct {
		if !rows[m] {
			found = append(found, Violation{"docs/dependencies.md", fmt.Sprintf("no row for %s", m),
				"every dependency is code that runs on its users' machines: say what it is for and why this one"})
		}
	}
	for _, m := range slices.Sorted(maps.Keys(rows)) {
		if !slices.Contains(known, m) {
			found = append(found, Violation{"docs/dependencies.md", fmt.Sprintf("has a row for %s, which go.mod does not require", m),
				"a list that is not true is not read"})
		}
	}
	return found
}
