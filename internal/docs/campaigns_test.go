package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/store"
)

func TestTheDocumentsOfACampaignAreDescribedAndNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "campaign")
	s, err := store.Create(dir, "plan.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range []string{"good", "bad"} {
		if err := s.Begin(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End("good", []store.File{{Name: "console.log"}}, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Lose("bad", "it died", 2); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		heading string
		files   []string
	}{
		{"## cswatch.campaign-index/v1", []string{"index.jsonl"}},
		{"## cswatch.trial/v1", []string{"trials/good/result.json", "trials/bad/result.json"}},
	} {
		keys := map[string]bool{}
		for _, name := range c.files {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(text) {
				for key := range emitted(t, line) {
					keys[key] = true
				}
			}
		}
		described := map[string]bool{}
		for _, cells := range rows(section(t, read(t, folder+"/campaigns.md"), c.heading)) {
			for _, key := range code(cells[0]) {
				described[key] = true
			}
		}
		if diff := cmp.Diff(sorted(keys), sorted(described)); diff != "" {
			t.Errorf("keys of %s in docs/campaigns.md (-written +described):\n%s", c.heading, diff)
		}
	}
}
