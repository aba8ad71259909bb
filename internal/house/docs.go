package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// CheckDocs reports a package without a doc.go that says what it is for, or
// without an example. A program needs no example: its scripts are examples.
// The folder's tests are read too.
func CheckDocs(dir, importPath string) []Violation {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return []Violation{{Where: importPath, What: err.Error()}}
	}
	fset := token.NewFileSet()
	var documented, inDocGo, example, program bool
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return []Violation{{Where: importPath, What: err.Error(), Why: "the package must parse"}}
		}
		if strings.HasSuffix(name, "_test.go") {
			example = example || hasExample(f)
			continue
		}
		program = program || f.Name.Name == "main"
		if isPackageComment(f) {
			documented = true
			inDocGo = inDocGo || filepath.Base(name) == "doc.go"
		}
	}
	var found []Violation
	switch {
	case !documented:
		found = append(found, Violation{importPath, "no package comment",
			`a reader must learn what the package is for and what it does not do: begin it with "Package ` + baseName(importPath) + `"`})
	case !program && !inDocGo:
		found = append(found, Violation{importPath, "the package comment does not stand in doc.go", "it is looked for there"})
	}
	if !program && !example {
		found = append(found, Violation{importPath, "no example", "an example shows how the package is meant to be called, and the tests keep it true"})
	}
	return found
}

func hasExample(f *ast.File) bool {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example") {
			return true
		}
	}
	return false
}

func isPackageComment(f *ast.File) bool {
	if f.Doc == nil {
		return false
	}
	if f.Name.Name == "main" {
		return strings.TrimSpace(f.Doc.Text()) != ""
	}
	return strings.HasPrefix(f.Doc.Text(), "Package "+f.Name.Name+" ")
}
