package doctor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/cswatch/cswatch/internal/explain"
)

// idsIn returns every string literal of the package's files that has the form of an id.
func idsIn(t *testing.T, files ...string) []string {
	t.Helper()
	form := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)+$`)
	var ids []string
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && form.MatchString(s) && !slices.Contains(ids, s) {
					ids = append(ids, s)
				}
			}
			return true
		})
	}
	return ids
}

// Every id that the package can report has an entry that explains it: ids that
// are no finding, advice or missing evidence are listed here.
func TestEveryIDIsExplained(t *testing.T) {
	others := []string{"tsc-early", "kvm-clock", "refined-jiffies", "look-alike", "cpu-model", "bare-hardware", "s390-tod", "x86-64", "hyper-v", "wdtest-"}
	ids := idsIn(t, "judge.go", "judge_skew.go", "judge_wrap.go", "judge_live.go", "logcauses.go", "machine.go", "advice.go", "examine.go", "summary.go", "severity.go")
	if len(ids) < 60 {
		t.Fatalf("only %d ids found: the test lost its subject", len(ids))
	}
	for _, id := range ids {
		if slices.Contains(others, id) {
			continue
		}
		entries, ok := explain.Lookup(id)
		fits := ok && slices.ContainsFunc(entries, func(e explain.Entry) bool {
			return e.Class == explain.Finding || e.Class == explain.Advice || e.Class == explain.Missing
		})
		if !fits {
			t.Errorf("%q is not explained", id)
		}
	}
}
