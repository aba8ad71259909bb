package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/store"
	"github.com/cswatch/cswatch/internal/trial"
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
		if diff := cmp.Diff(sorted(keys), sorted(documentedIn(t, "campaigns.md", c.heading))); diff != "" {
			t.Errorf("keys of %s in docs/campaigns.md (-written +described):\n%s", c.heading, diff)
		}
	}
}

func TestEveryKeyOfTheResultOfATrialIsDescribedAndNoOther(t *testing.T) {
	const heading = "## The result of a trial"
	want := map[string]bool{}
	keysOf(reflect.TypeFor[campaign.Result](), want, map[reflect.Type]bool{})
	if diff := cmp.Diff(sorted(want), sorted(documentedIn(t, "campaigns.md", heading))); diff != "" {
		t.Errorf("keys of %q in docs/campaigns.md (-written +described):\n%s", heading, diff)
	}
}

// trialFile finds a name of a trial's files where package trial names them.
var trialFile = regexp.MustCompile(`(?m)^\t\w+File\s+= "([^"]+)"`)

func TestEveryFileOfATrialIsDescribedAndNoOther(t *testing.T) {
	want := map[string]bool{"file-NAME": true} // named after what was fetched
	for _, m := range trialFile.FindAllStringSubmatch(read(t, root+"/internal/trial/executor.go"), -1) {
		want[m[1]] = true
	}
	if !want[trial.LogFile] || !want[trial.StderrFile] {
		t.Fatalf("only %q were found in the source", sorted(want))
	}
	if diff := cmp.Diff(sorted(want), sorted(documentedIn(t, "campaigns.md", "## The files of a trial"))); diff != "" {
		t.Errorf("files in docs/campaigns.md (-named +described):\n%s", diff)
	}
}
