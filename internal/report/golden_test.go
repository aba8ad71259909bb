package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares sections, by name, with those of testdata/NAME.txtar.
func golden(t *testing.T, name string, got *txtar.Archive) {
	t.Helper()
	path := filepath.Join("testdata", name+".txtar")
	if *update {
		if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatalf("%v; make the golden files with: go test ./internal/report -update", err)
	}
	if len(want.Files) != len(got.Files) {
		t.Fatalf("%s has %d sections, want %d", path, len(want.Files), len(got.Files))
	}
	for i, f := range got.Files {
		if f.Name != want.Files[i].Name {
			t.Errorf("section %d of %s is %q, want %q", i, path, want.Files[i].Name, f.Name)
		}
		if diff := cmp.Diff(string(want.Files[i].Data), string(f.Data)); diff != "" {
			t.Errorf("%s, %s, -want +got:\n%s", path, f.Name, diff)
		}
	}
}

// section runs one writer and keeps what it wrote.
func section(t *testing.T, name string, write func(io.Writer) error) txtar.File {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return txtar.File{Name: name, Data: b.Bytes()}
}

func TestEachFormOfADiagnosisIsAsItWas(t *testing.T) {
	for name, d := range cases() {
		t.Run(name, func(t *testing.T) {
			golden(t, name, &txtar.Archive{Files: []txtar.File{
				section(t, "text", func(w io.Writer) error { return Text(w, d, TextOptions{Width: DefaultWidth}) }),
				section(t, "text, verbose, ASCII, 72 columns", func(w io.Writer) error {
					return Text(w, d, TextOptions{Width: 72, Verbose: true, ASCII: true})
				}),
				section(t, "nagios", func(w io.Writer) error { return Nagios(w, d) }),
				section(t, "npd", func(w io.Writer) error { return NPD(w, d) }),
				section(t, "json", func(w io.Writer) error { return JSON(w, d) }),
			}})
		})
	}
}

func TestTheTableIsAsItWas(t *testing.T) {
	second := healthy()
	second.Host, second.Cost = "db2", nil
	all := []*doctor.Diagnosis{healthy(), container(), fallen(), second, convicted(), guest(), arm()}
	golden(t, "table", &txtar.Archive{Files: []txtar.File{
		section(t, "as wide as needed", func(w io.Writer) error { return Table(w, all, TextOptions{}) }),
		section(t, "100 columns", func(w io.Writer) error { return Table(w, all, TextOptions{Width: 100}) }),
		section(t, "ASCII, 80 columns", func(w io.Writer) error { return Table(w, all, TextOptions{Width: 80, ASCII: true}) }),
		section(t, "healthy ones", func(w io.Writer) error {
			return Table(w, []*doctor.Diagnosis{second, arm()}, TextOptions{Width: 80})
		}),
	}})
}
