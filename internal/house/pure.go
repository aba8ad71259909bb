package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// ban is a package, or names of a package, that the core does without.
type ban struct {
	path  string // import path; with a trailing slash also all below it
	why   string
	names []string // nil: the whole package
	not   []string // with names nil: all names but these
}

// bans lists what the core may not use of the standard library. Packages that
// reach the system below the surface (fmt imports os) are no matter: what
// counts is what our code calls, and fmt.Sprintf asks the world nothing.
func bans() []ban {
	const (
		world = "the core touches no files, sockets, processes or system calls: take an io.Reader, an fs.FS or a value from the caller"
		quiet = "the core logs nothing: doubt and warnings are part of the result"
		clock = "the core knows no time but what its caller hands it, so that a simulation and a recording give the same answer every time"
		luck  = "random numbers come from an explicit, seeded source, so that the same seed gives the same result"
		here  = "a result must not depend on the machine that computes it"
	)
	return []ban{
		{path: "os", why: world}, {path: "os/", why: world},
		{path: "net", why: world}, {path: "net/", why: world},
		{path: "syscall", why: world}, {path: "syscall/", why: world},
		{path: "plugin", why: world}, {path: "io/ioutil", why: world}, {path: "path/filepath", why: world},
		{path: "golang.org/x/sys/", why: world}, {path: "golang.org/x/term", why: world},
		{path: "unsafe", why: "the core is memory-safe: hardware access belongs to internal/hw"},
		{path: "C", why: "the core is pure Go"},
		{path: "log", why: quiet}, {path: "log/", why: quiet},
		{path: "flag", why: "command lines belong to internal/cli"},
		{path: "runtime", why: here}, {path: "runtime/", why: here},
		{path: "testing", why: "tests belong to test files"}, {path: "testing/", why: "tests belong to test files"},
		{path: "crypto/rand", why: luck},
		{path: "math/rand", why: luck, not: []string{"New", "NewSource", "NewZipf", "Rand", "Source", "Source64", "Zipf"}},
		{path: "math/rand/v2", why: luck, not: []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}},
		{path: "time", why: clock, names: []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}},
		{path: "time", why: here + ": name a zone or use UTC", names: []string{"Local", "LoadLocation"}},
		{path: "context", why: clock, names: []string{"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"}},
		{path: "fmt", why: "the core prints nothing: write to an io.Writer of the caller or return a string",
			names: []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}},
	}
}

// covers reports whether the ban is about a package.
func (b ban) covers(importPath string) bool {
	if prefix, tree := strings.CutSuffix(b.path, "/"); tree {
		return strings.HasPrefix(importPath, prefix+"/")
	}
	return importPath == b.path
}

func (b ban) whole() bool { return b.names == nil && b.not == nil }

func (b ban) forbids(name string) bool {
	if b.names != nil {
		return slices.Contains(b.names, name)
	}
	return !slices.Contains(b.not, name)
}

// allowedModules lists the modules of others that the core may import, with the reason.
func allowedModules() map[string]string {
	return map[string]string{
		"github.com/pelletier/go-toml/v2":    "reads and writes a text as values; opens no files and no sockets",
		"github.com/klauspost/compress/zstd": "decodes Zstandard from an io.Reader; opens no files and no sockets",
		"gonum.org/v1/gonum/mathext":         "special functions: numbers in, numbers out",
		"github.com/ulikunitz/xz":            "decodes xz from an io.Reader; opens no files and no sockets",
		"github.com/ulikunitz/xz/lzma":       "decodes lzma from an io.Reader; opens no files and no sockets",
	}
}

// CheckPure reports what a core package does that only edges may do.
func CheckPure(p *Package) []Violation {
	c := &pureCheck{p: p}
	c.imports()
	for _, f := range p.Files {
		for _, d := range f.Decls {
			c.declaration(d)
		}
		ast.Inspect(f, c.node)
	}
	return c.found
}

type pureCheck struct {
	p     *Package
	found []Violation
}

func (c *pureCheck) report(pos token.Position, why, format string, args ...any) {
	c.found = append(c.found, Violation{Where: pos.String(), What: fmt.Sprintf(format, args...), Why: why})
}

func (c *pureCheck) imports() {
	c.p.eachImport(func(pos token.Position, imported string) {
		for _, b := range bans() {
			if b.whole() && b.covers(imported) {
				c.report(pos, b.why, "imports %s", imported)
				return
			}
		}
		first, _, _ := strings.Cut(imported, "/")
		_, allowed := allowedModules()[imported]
		if strings.Contains(first, ".") && !strings.HasPrefix(imported, Module+"/") && !allowed {
			c.report(pos, "the core stands on the standard library: what it may import besides is listed, with reasons, in internal/house/pure.go",
				"imports %s", imported)
		}
	})
	for _, f := range c.p.Files {
		for _, spec := range f.Imports {
			if spec.Name != nil && spec.Name.Name == "." {
				c.report(c.p.position(spec), "a dot import hides where a name comes from, from readers and from this check", "dot import of %s", spec.Path.Value)
			}
		}
	}
}

// declaration checks what stands at package level.
func (c *pureCheck) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name == "init" {
			c.report(c.p.position(d), "importing a package must change nothing: give a table a function that returns it", "an init function")
		}
	case *ast.GenDecl:
		if d.Tok != token.VAR {
			return
		}
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && c.isShared(v.Type) {
				c.report(c.p.position(v), "a package-level variable of this type is only of use if it changes: keep state in a value that the caller holds",
					"%s has a type of package sync", v.Names[0].Name)
			}
		}
	}
}

// isShared reports whether a type is made for sharing state: anything of sync and sync/atomic.
func (c *pureCheck) isShared(t ast.Expr) bool {
	shared := false
	if t == nil {
		return false
	}
	ast.Inspect(t, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok {
				from := c.p.imported(id)
				shared = shared || from == "sync" || from == "sync/atomic"
			}
		}
		return true
	})
	return shared
}

const stateReason = "package-level state outlives the call: two runs on the same input could differ. Keep it in a value that the caller holds"

// node checks one node of the syntax tree.
func (c *pureCheck) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.report(c.p.position(n), "the core runs on its caller's goroutine: jobs run in parallel in internal/dispatch alone", "a go statement")
	case *ast.SelectorExpr:
		c.selector(n)
	case *ast.CallExpr:
		c.call(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				c.written(e)
			}
		}
	case *ast.IncDecStmt:
		c.written(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.written(n.Key)
			c.written(n.Value)
		}
	}
	return true
}

func (c *pureCheck) written(e ast.Expr) {
	if v, ok := c.p.packageVar(e); ok {
		c.report(c.p.position(e), stateReason, "writes to the package-level variable %s", v.Name())
	}
}

func (c *pureCheck) selector(n *ast.SelectorExpr) {
	id, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	from := c.p.imported(id)
	for _, b := range bans() {
		if !b.whole() && b.covers(from) && b.forbids(n.Sel.Name) {
			c.report(c.p.position(n), b.why, "uses %s.%s", from, n.Sel.Name)
		}
	}
}

// call checks the builtin functions that write to what they are given, or to the error stream.
func (c *pureCheck) call(n *ast.CallExpr) {
	id, ok := n.Fun.(*ast.Ident)
	if !ok || c.p.uses[id] != nil && c.p.uses[id].Pkg() != nil {
		return // not a builtin: declared somewhere
	}
	switch id.Name {
	case "print", "println":
		c.report(c.p.position(n), "the core prints nothing", "uses the builtin %s", id.Name)
	case "delete", "clear", "copy":
		if len(n.Args) > 0 {
			c.written(n.Args[0])
		}
	}
}
