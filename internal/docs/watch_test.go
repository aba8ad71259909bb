package docs

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/report"
)

func TestEveryAnswerOfAWatchIsDescribedAndNoOther(t *testing.T) {
	var want []string
	for _, a := range report.WatchAnswers() {
		want = append(want, string(a))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, sorted(keysIn(t, "json.md", "## The answer of a watch"))); diff != "" {
		t.Errorf("answers in docs/json.md (-written +described):\n%s", diff)
	}
}
