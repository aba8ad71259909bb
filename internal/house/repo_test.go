package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMain reads every folder of the repository. The go command reuses a test's
// result as long as the files and folders that the test itself opened are the
// same; what "go list" and "git ls-files" read it does not see. So a new package
// or file would else go unnoticed.
func TestMain(m *testing.M) {
	if _, err := walk(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// walk lists the regular files below a folder, without git's and the build's.
func walk(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone while we walked
		}
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}

// goCommand runs the go command in the root of the repository.
func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var listOnce struct {
	sync.Once
	all map[string]Listed
}

// listed returns every package of the module and all that they import. A
// package that does not build is listed all the same: others say that it does not.
func listed(t *testing.T) map[string]Listed {
	t.Helper()
	listOnce.Do(func() {
		out := goCommand(t, "list", "-e", "-buildvcs=false", "-deps", "-json=ImportPath,Dir,Standard,Imports,TestImports,XTestImports", "./...")
		listOnce.all = map[string]Listed{}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p Listed
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("read what go list says: %v", err)
			}
			listOnce.all[p.ImportPath] = p
		}
	})
	if len(listOnce.all) == 0 {
		t.Fatal("go list named no package")
	}
	return listOnce.all
}

// ours calls f for every package of this module.
func ours(t *testing.T, f func(p Listed)) {
	t.Helper()
	n := 0
	for path, p := range listed(t) {
		if !strings.HasPrefix(path, Module+"/") {
			continue
		}
		if n++; p.Dir == "" {
			t.Errorf("%s is imported, and is not there", path)
			continue
		}
		f(p)
	}
	if n < 3 {
		t.Fatalf("only %d packages of %s were found", n, Module)
	}
}

func report(t *testing.T, found []Violation) {
	t.Helper()
	for _, v := range found {
		v.Where = strings.TrimPrefix(v.Where, root(t)+string(filepath.Separator))
		t.Error(v)
	}
}

func TestImportsPointInwards(t *testing.T) {
	ours(t, func(p Listed) {
		source, err := ReadDir(p.Dir, p.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		report(t, CheckArrows(source))
	})
}

func TestTheCoreIsPure(t *testing.T) {
	checked := 0
	ours(t, func(p Listed) {
		if ring, known := RingOf(p.ImportPath); !known || ring != Core {
			return
		}
		checked++
		source, err := ReadDir(p.Dir, p.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		report(t, CheckPure(source))
		report(t, CheckReach(p.ImportPath, listed(t)))
	})
	if checked < 3 {
		t.Errorf("only %d core packages were found", checked)
	}
}

func TestEveryPackageIsDocumentedByTextAndExample(t *testing.T) {
	ours(t, func(p Listed) { report(t, CheckDocs(p.Dir, p.ImportPath)) })
}

func TestFilesSpeakOfNothingButTheProject(t *testing.T) {
	files := repositoryFiles(t)
	if len(files) < 10 {
		t.Fatalf("only %d files were found", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(file)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and git not told yet
		}
		if err != nil {
			t.Error(err)
			continue
		}
		report(t, CheckWords(file, text))
	}
}

// repositoryFiles lists the files that are, or by "git add" would become, part
// of the repository. An unpacked source archive has no git: there it is every file.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	if out, err := cmd.Output(); err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	}
	files, err := walk(root(t))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryDependencyIsAccountedFor(t *testing.T) {
	var mod struct {
		Require []struct{ Path string }
		Tool    []struct{ Path string }
	}
	if err := json.Unmarshal(goCommand(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatalf("read go.mod: %v", err)
	}
	var known, used []string
	for _, r := range mod.Require {
		known = append(known, r.Path)
	}
	for _, tool := range mod.Tool {
		used = append(used, tool.Path)
	}
	ours(t, func(p Listed) {
		used = append(used, p.Imports...)
		used = append(used, p.TestImports...)
		used = append(used, p.XTestImports...)
	})
	document, err := os.ReadFile(filepath.Join(root(t), "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, CheckDependencies(directModules(used, known), known, string(document)))
}
