package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/cli"
)

func TestThePicturesOfTheGuidesAreWhatTheProgramDraws(t *testing.T) {
	for name, args := range map[string][]string{
		"fit.svg":      {"fit", "counts.csv"},
		"simulate.svg": {"simulate", "--curve", "--fault", "step:+500us@10s", "--boots", "2000"},
	} {
		t.Run(name, func(t *testing.T) {
			if page := read(t, folder+"/"+strings.Replace(name, "svg", "md", 1)); !strings.Contains(page, "]("+name+")") || !strings.Contains(page, "cswatch "+strings.Join(args, " ")) {
				t.Errorf("the guide does not show the picture, or not what draws it")
			}
			shown := filepath.Join(folder, name)
			drawn := filepath.Join(t.TempDir(), name)
			// The name of the table stands in the picture.
			here, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir("testdata")
			var out, errs bytes.Buffer
			if code := cli.Run(append(args, "--plot", drawn), strings.NewReader(""), &out, &errs); code != 0 {
				t.Fatalf("code %d: %s", code, errs.String())
			}
			t.Chdir(here)
			got := []byte(read(t, drawn))
			if *update {
				if err := os.WriteFile(shown, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := []byte(read(t, shown)); !bytes.Equal(got, want) {
				t.Errorf("%s is not what the program draws: run go test ./internal/docs -update", shown)
			}
		})
	}
}

// Codes that readers of the document compare with are listed in the guide.
func TestEveryCodeOfAFitIsDescribed(t *testing.T) {
	text := read(t, folder+"/fit.md")
	n := 0
	for _, file := range []string{"refuse.go", "recommend.go", "examine.go"} {
		source := read(t, root+"/internal/burst/"+file)
		for _, before := range []string{"Code: \"", "r.warn(\""} {
			for _, part := range strings.Split(source, before)[1:] {
				code, _, _ := strings.Cut(part, "\"")
				n++
				if !strings.Contains(text, "`"+code+"`") {
					t.Errorf("docs/fit.md does not describe %q", code)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d codes were found", n)
	}
}
