package house

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse makes a package of one file.
func parse(t *testing.T, importPath, text string) *Package {
	t.Helper()
	p, err := ParsePackage(importPath, map[string]string{"x.go": text})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lines shortens violations to "line: what", and sees to it that each says why.
func lines(t *testing.T, found []Violation) []string {
	t.Helper()
	var out []string
	for _, v := range found {
		if len(v.Why) < 10 {
			t.Errorf("%s: %s: the reason is %q", v.Where, v.What, v.Why)
		}
		file, rest, ok := strings.Cut(v.Where, ":")
		if ok && file == "x.go" {
			line, _, _ := strings.Cut(rest, ":")
			out = append(out, line+": "+v.What)
		} else {
			out = append(out, v.Where+": "+v.What)
		}
	}
	return out
}

func TestPureCheckSeesEachWayToTouchTheWorld(t *testing.T) {
	cases := []struct {
		name string
		text string
		want []string
	}{
		{"a file", "package p\nimport \"os\"\n", []string{"2: imports os"}},
		{"a process", "package p\nimport \"os/exec\"\n", []string{"2: imports os/exec"}},
		{"a socket", "package p\nimport \"net/http\"\n", []string{"2: imports net/http"}},
		{"a log", "package p\nimport \"log/slog\"\n", []string{"2: imports log/slog"}},
		{"a system call", "package p\nimport \"golang.org/x/sys/unix\"\n", []string{"2: imports golang.org/x/sys/unix"}},
		{"a module that nobody vouched for", "package p\nimport \"example.com/x\"\n", []string{"2: imports example.com/x"}},
		{"a module that is listed", "package p\nimport \"github.com/ulikunitz/xz\"\n", nil},
		{"a package with a name like a forbidden one", "package p\nimport \"encoding/json\"\nimport \"oslo\"\n", nil},
		{"the time", "package p\nimport \"time\"\nvar t = time.Now()\n", []string{"3: uses time.Now"}},
		{"the time by another name", "package p\nimport clock \"time\"\nfunc f() { g(clock.Since) }\n", []string{"3: uses time.Since"}},
		{"a timer", "package p\nimport \"time\"\nfunc f() { <-time.After(3) }\n", []string{"3: uses time.After"}},
		{"the zone of the machine", "package p\nimport \"time\"\nvar l = time.Local\n", []string{"3: uses time.Local"}},
		{"a local variable called time is no clock", "package p\nfunc f() { time := x{}; time.Now() }\ntype x struct{}\nfunc (x) Now() {}\n", nil},
		{"types of package time", "package p\nimport \"time\"\nfunc f(d time.Duration) time.Time { return time.Unix(0, int64(d)).UTC() }\n", nil},
		{"a dot import", "package p\nimport . \"strings\"\n", []string{"2: dot import of \"strings\""}},
		{"a goroutine", "package p\nfunc f() {\n\tgo f()\n}\n", []string{"3: a go statement"}},
		{"luck", "package p\nimport \"math/rand/v2\"\nfunc f() int { return rand.IntN(6) }\n", []string{"3: uses math/rand/v2.IntN"}},
		{"seeded luck", "package p\nimport \"math/rand/v2\"\nfunc f(s uint64) *rand.Rand { return rand.New(rand.NewPCG(s, 0)) }\n", nil},
		{"an init function", "package p\nfunc init() {}\n", []string{"2: an init function"}},
		{"a method called init", "package p\ntype x int\nfunc (x) init() {}\n", nil},
		{"printing", "package p\nimport \"fmt\"\nfunc f() { fmt.Println(1) }\n", []string{"3: uses fmt.Println"}},
		{"printing to a writer", "package p\nimport \"fmt\"\nimport \"io\"\nfunc f(w io.Writer) { fmt.Fprintln(w, fmt.Sprint(1)) }\n", nil},
		{"the builtin println", "package p\nfunc f() { println(1) }\n", []string{"2: uses the builtin println"}},
		{"a function of one's own called println", "package p\nfunc f() { println(1) }\nfunc println(int) {}\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := lines(t, CheckPure(parse(t, Module+"/event", c.text)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPureCheckSeesWritesToPackageLevelVariables(t *testing.T) {
	const head = "package p\nimport \"sync\"\nvar n int\nvar table = map[string]int{\"a\": 1}\nvar s struct{ list []int; p *int }\n"
	cases := []struct {
		name, body string
		want       []string
	}{
		{"a table that is only read", "func f() int { return table[\"a\"] + n + s.list[0] }\n", nil},
		{"an assignment", "func f() { n = 1 }\n", []string{"6: writes to the package-level variable n"}},
		{"an operation", "func f() { n += 1 }\n", []string{"6: writes to the package-level variable n"}},
		{"an increment", "func f() { n++ }\n", []string{"6: writes to the package-level variable n"}},
		{"an element", "func f() { table[\"b\"] = 2 }\n", []string{"6: writes to the package-level variable table"}},
		{"a deep element", "func f() { (s.list[1:])[0] = 2 }\n", []string{"6: writes to the package-level variable s"}},
		{"through a pointer", "func f() { *s.p = 2 }\n", []string{"6: writes to the package-level variable s"}},
		{"delete", "func f() { delete(table, \"a\") }\n", []string{"6: writes to the package-level variable table"}},
		{"clear", "func f() { clear(table) }\n", []string{"6: writes to the package-level variable table"}},
		{"copy", "func f() { copy(s.list, nil) }\n", []string{"6: writes to the package-level variable s"}},
		{"a loop variable", "func f() { for n = range 3 {\n} }\n", []string{"6: writes to the package-level variable n"}},
		{"in a function literal", "var g = func() { n = 1 }\n", []string{"6: writes to the package-level variable n"}},
		{"a local variable of the same name", "func f() { n := 1; n = 2; n++ }\n", nil},
		{"a parameter of the same name", "func f(n int, table map[string]int) { n = 2; delete(table, \"a\") }\n", nil},
		{"a field of the same name", "type x struct{ n int }\nfunc (v *x) f() { v.n = 1 }\n", nil},
		{"a mutex", "var mu sync.Mutex\n", []string{"6: mu has a type of package sync"}},
		{"a list of mutexes", "var mus [4]*sync.Mutex\n", []string{"6: mus has a type of package sync"}},
		{"a table that is built when first needed", "var lazy = sync.OnceValue(func() int { return 1 })\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := lines(t, CheckPure(parse(t, Module+"/event", head+c.body)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPureCheckSeesAWriteInAnotherFile(t *testing.T) {
	p, err := ParsePackage(Module+"/event", map[string]string{
		"a.go": "package p\nvar n int\n",
		"b.go": "package p\nfunc f() { n = 1 }\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := lines(t, CheckPure(p))
	if want := []string{"b.go:2:12: writes to the package-level variable n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestArrowsPointInwards(t *testing.T) {
	cases := []struct {
		from, imported string
		want           []string
	}{
		{"event", "strings", nil},
		{"klog", "event", nil},
		{"internal/doctor", "klog", nil},
		{"internal/host", "machine", nil},
		{"internal/host", "internal/hw", nil},
		{"internal/cli", "internal/host", nil},
		{"cmd/cswatch", "internal/cli", nil},
		{"internal/doctor/rules", "machine", nil},
		{"internal/doctor", "internal/host", []string{"internal/doctor (core) imports internal/host (edge)"}},
		{"event", "internal/cli", []string{"event (core) imports internal/cli (surface)"}},
		{"internal/kmsg", "internal/report", []string{"internal/kmsg (edge) imports internal/report (surface)"}},
		{"internal/cli", "internal/house", []string{"internal/cli (surface) imports internal/house (tooling)"}},
		{"internal/cli", "internal/nowhere", []string{"imports internal/nowhere, which stands in no room"}},
	}
	for _, c := range cases {
		imported := c.imported
		if strings.Contains(imported, "/") || imported == "klog" || imported == "event" || imported == "machine" {
			imported = Module + "/" + imported
		}
		found := CheckArrows(parse(t, Module+"/"+c.from, "package p\nimport \""+imported+"\"\n"))
		var got []string
		for _, v := range found {
			got = append(got, strings.ReplaceAll(v.What, Module+"/", ""))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s imports %s (-want +got):\n%s", c.from, c.imported, diff)
		}
	}
	if found := CheckArrows(parse(t, Module+"/internal/attic", "package p\n")); len(found) != 1 || found[0].What != "the package stands in no room" {
		t.Errorf("a package in no room: %v", found)
	}
}

func TestReachSeesTheWorldBehindADependency(t *testing.T) {
	core := Module + "/event"
	packages := map[string]Listed{
		core:                    {ImportPath: core, Imports: []string{"fmt", "example.com/a"}},
		"fmt":                   {ImportPath: "fmt", Standard: true, Imports: []string{"os"}},
		"example.com/a":         {ImportPath: "example.com/a", Imports: []string{"fmt", "example.com/b"}},
		"example.com/b":         {ImportPath: "example.com/b", Imports: []string{"net/http", "example.com/a"}},
		"example.com/elsewhere": {ImportPath: "example.com/elsewhere", Imports: []string{"os"}},
	}
	got := lines(t, CheckReach(core, packages))
	if want := []string{core + ": reaches example.com/b, which imports net/http"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDocsCheckWantsPurposeAndExample(t *testing.T) {
	cases := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"all there", map[string]string{"doc.go": "// Package p is.\npackage p\n", "p_test.go": "package p\nfunc ExampleX() {}\n"}, nil},
		{"nothing", map[string]string{"p.go": "package p\n"}, []string{"m/p: no package comment", "m/p: no example"}},
		{"a comment that is none", map[string]string{"doc.go": "// Hello.\npackage p\n", "p_test.go": "package p_test\nfunc Example() {}\n"},
			[]string{"m/p: no package comment"}},
		{"a comment in another file", map[string]string{"p.go": "// Package p is.\npackage p\n", "p_test.go": "package p\nfunc Example() {}\n"},
			[]string{"m/p: the package comment does not stand in doc.go"}},
		{"a method is no example", map[string]string{"doc.go": "// Package p is.\npackage p\n", "p_test.go": "package p\nfunc (x) Example() {}\n"},
			[]string{"m/p: no example"}},
		{"a program needs a comment only", map[string]string{"main.go": "// Command p does.\npackage main\n"}, nil},
		{"a program without a comment", map[string]string{"main.go": "package main\n"}, []string{"m/p: no package comment"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, lines(t, CheckDocs(dir, "m/p"))); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWordsCheckKnowsWhatDoesNotBelongHere(t *testing.T) {
	host := "proxy." + "golang.org"
	path := "/wo" + "rk/"
	mark := "TO" + "DO"
	cases := []struct {
		name, file, text string
		want             []string
	}{
		{"a registry", "README.md", "a\nsee https://" + host + "/x", []string{`README.md:2: holds "` + host + `"`}},
		{"a registry where go puts it", "go.sum", host, nil},
		{"a host that only ends alike", "x.md", "my" + host, nil},
		{"a path of a machine", "y.go", `const dir = "` + path + `main"`, []string{`y.go:1: holds "\"` + path + `"`}},
		{"such a path at the start", "x.log", path, []string{`x.log:1: holds "` + path + `"`}},
		{"a folder of that name elsewhere", "x.log", "/home/u" + path + "linux and a" + path + "b", nil},
		{"unfinished code", "y.go", "// " + mark + ": later", []string{`y.go:1: holds "` + mark + `"`}},
		{"an unfinished script", "scripts/test", "# " + mark, []string{`scripts/test:1: holds "` + mark + `"`}},
		{"a log may say so", "klog/testdata/a.go", mark, nil},
		{"a word that holds the mark", "y.go", mark + "S", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(t, CheckWords(c.file, []byte(c.text)))); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDependenciesCheckComparesBothWays(t *testing.T) {
	modules := []string{"example.com/a", "example.com/a/v2", "example.com/b"}
	direct := directModules([]string{"fmt", "example.com/a/v2/x", "example.com/ab", "example.com/a"}, modules)
	if want := []string{"example.com/a", "example.com/a/v2"}; !slices.Equal(direct, want) {
		t.Fatalf("direct modules %q, want %q", direct, want)
	}
	const document = "| module | what for |\n|---|---|\n| `example.com/a` | x |\n| `example.com/gone` | y |\n"
	got := lines(t, CheckDependencies(direct, modules, document))
	want := []string{
		"docs/dependencies.md: no row for example.com/a/v2",
		"docs/dependencies.md: has a row for example.com/gone, which go.mod does not require",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
