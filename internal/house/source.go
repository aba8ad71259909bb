package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Package is the parsed source of one package, without its tests, with the
// files of all platforms.
type Package struct {
	Path  string // import path
	Files []*ast.File
	fset  *token.FileSet
	uses  map[*ast.Ident]types.Object
	scope *types.Scope
}

// ReadDir parses the package in a folder.
func ReadDir(dir, importPath string) (*Package, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list the source of %s: %w", importPath, err)
	}
	sources := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the source of %s: %w", importPath, err)
		}
		sources[name] = string(text)
	}
	return ParsePackage(importPath, sources)
}

// ParsePackage parses a package from its files, file name to text.
//
// Names are resolved with go/types, but no import is followed: each imported
// package is taken to be empty. That leaves type errors, which are ignored, and
// settles what the checks need: which package or which declaration a name stands for.
func ParsePackage(importPath string, sources map[string]string) (*Package, error) {
	p := &Package{Path: importPath, fset: token.NewFileSet(), uses: map[*ast.Ident]types.Object{}}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(p.fset, name, sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse the source of %s: %w", importPath, err)
		}
		p.Files = append(p.Files, f)
	}
	config := types.Config{Importer: emptyImporter{}, Error: func(error) {}, FakeImportC: true}
	checked, _ := config.Check(importPath, p.fset, p.Files, &types.Info{Uses: p.uses})
	p.scope = checked.Scope()
	return p, nil
}

// emptyImporter answers every import with a package that has a name and nothing else.
type emptyImporter struct{}

func (emptyImporter) Import(importPath string) (*types.Package, error) {
	p := types.NewPackage(importPath, baseName(importPath))
	p.MarkComplete()
	return p, nil
}

// baseName guesses a package's name from its path: the last element that is no major version.
func baseName(importPath string) string {
	base := path.Base(importPath)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(importPath))
	}
	return base
}

// position returns where a node stands.
func (p *Package) position(n ast.Node) token.Position { return p.fset.Position(n.Pos()) }

// eachImport calls f for every import of every file.
func (p *Package) eachImport(f func(pos token.Position, importPath string)) {
	for _, file := range p.Files {
		for _, spec := range file.Imports {
			if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
				f(p.position(spec), imported)
			}
		}
	}
}

// imported returns the path of the package that an identifier names, "" if it names no package.
func (p *Package) imported(id *ast.Ident) string {
	if name, ok := p.uses[id].(*types.PkgName); ok {
		return name.Imported().Path()
	}
	return ""
}

// packageVar returns the package-level variable at the root of an expression
// such as v, v.f, v[i] or *v, and whether there is one.
func (p *Package) packageVar(e ast.Expr) (*types.Var, bool) {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			v, ok := p.uses[x].(*types.Var)
			return v, ok && v.Parent() == p.scope
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil, false
		}
	}
}
