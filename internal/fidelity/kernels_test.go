package fidelity

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/watchdog"
)

// Real kernels in QEMU, as seen by internal/fidelity/boots: each check of each
// boot, undisturbed, busy, and with reads that were held up.
func TestOurErasReadAndDecideAsRealKernelsDid(t *testing.T) {
	eras := map[string]watchdog.Era{
		"5.10.txt": watchdog.LTS510223, "6.1.txt": watchdog.LTS61192, "6.12.txt": watchdog.E11, "7.0.txt": watchdog.E11, "7.3.txt": watchdog.E12,
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != len(eras) {
		t.Fatalf("%d files of boots, error %v, want %d", len(files), err, len(eras))
	}
	docs, err := os.ReadFile("../../docs/eras.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			boots, err := ParseBoots(f)
			if err != nil {
				t.Fatal(err)
			}
			var sum Report
			sum.Era = eras[filepath.Base(file)]
			sum.Outcomes, sum.Attempts = map[watchdog.Kind]int{}, map[int]int{}
			for i := range boots {
				r, err := Compare(&boots[i])
				if err != nil {
					t.Fatal(err)
				}
				if want := eras[filepath.Base(file)]; r.Era != want {
					t.Errorf("era %s, want %s", r.Era, want)
				}
				for _, d := range r.Disagreements {
					t.Errorf("boot %d (%s), check %d: %s", i, boots[i].How, d.Check, d.What)
				}
				sum.Checks += r.Checks
				sum.NonTrivial += r.NonTrivial
				sum.Lines += r.Lines
				for k, n := range r.Outcomes {
					sum.Outcomes[k] += n
				}
				for k, n := range r.Attempts {
					sum.Attempts[k] += n
				}
			}
			t.Logf("%d boots, %d checks, %d not trivial, %d lines; attempts %v, outcomes %v", len(boots), sum.Checks, sum.NonTrivial, sum.Lines, sum.Attempts, sum.Outcomes)
			if row := tableRow(boots, &sum); !strings.Contains(string(docs), row) {
				t.Errorf("docs/eras.md has no row that begins with %q", row)
			}
			if sum.Checks < 2000 || sum.NonTrivial < 50 {
				t.Errorf("%d checks, %d not trivial: want 2000 and 50", sum.Checks, sum.NonTrivial)
			}
		})
	}
}

// tableRow is the row of the table in docs/eras.md, but for the release in front.
func tableRow(boots []Boot, sum *Report) string {
	var attempts []string
	for n := 1; sum.Attempts[n] > 0; n++ {
		attempts = append(attempts, strconv.Itoa(sum.Attempts[n]))
	}
	count := func(k watchdog.Kind) string {
		if sum.Outcomes[k] == 0 {
			return ""
		}
		return strconv.Itoa(sum.Outcomes[k]) + " "
	}
	return fmt.Sprintf("| `%s` | %d | %d | %d | %s | %s| %s| %s| %d | %d |", sum.Era, len(boots), sum.Checks, sum.NonTrivial, strings.Join(attempts, " / "),
		count(watchdog.Skipped), count(watchdog.CondemnedDelay), count(watchdog.TimedOut), sum.Lines, len(sum.Disagreements))
}
