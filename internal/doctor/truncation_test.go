package doctor_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/unpack"
	"github.com/cswatch/cswatch/klog"
)

// examineBytes judges raw file content, compressed or not. The error is that of reading.
func examineBytes(raw []byte) (doctor.Diagnosis, error) {
	in, _, err := unpack.Reader(bytes.NewReader(raw), "log")
	if err != nil {
		return doctor.Diagnosis{}, err
	}
	return examine(in, "log")
}

// cuts are the lengths at which a sample is cut: every byte of a short one,
// every line and some random bytes of a long one. With CSWATCH_EXHAUSTIVE set a
// sample counts as short up to 64 KiB and 1000 random bytes are taken.
func cuts(raw []byte) []int {
	short, random := 768, 10
	if os.Getenv("CSWATCH_EXHAUSTIVE") != "" {
		short, random = 64<<10, 1000
	}
	var at []int
	if len(raw) <= short {
		for n := range raw {
			at = append(at, n)
		}
		return at
	}
	for i, b := range raw {
		if b == '\n' {
			at = append(at, i)
		}
	}
	if os.Getenv("CSWATCH_EXHAUSTIVE") == "" && len(at) > 60 {
		at = slices.Concat(at[:30], at[len(at)-30:])
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(raw))))
	for range random {
		at = append(at, rng.IntN(len(raw)))
	}
	return at
}

// TestEverySampleCutAnywhereGivesAnAnswer holds that a log that ends early is
// judged without a panic, gives a document, and no advice that the rules forbid
// under its own verdict.
func TestEverySampleCutAnywhereGivesAnAnswer(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d samples, error %v", len(paths), err)
	}
	total := 0
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		packed := filepath.Ext(path) != ".log"
		for _, n := range cuts(raw) {
			total++
			d, err := examineBytes(raw[:n])
			if err != nil {
				if !packed {
					t.Fatalf("%s cut at byte %d: %v", path, n, err)
				}
				continue // a compressed file that ends early says so
			}
			if _, err := json.Marshal(d); err != nil {
				t.Fatalf("%s cut at byte %d: no document: %v", path, n, err)
			}
			advice := adviceIDs(d)
			if slices.Contains(advice, "tsc-reliable") || slices.Contains(advice, "tsc-unstable-parameter") {
				t.Fatalf("%s cut at byte %d: advice %q", path, n, advice)
			}
			if d.TSCVerdict == doctor.Bad && len(overlap(advice, []string{"tsc-nowatchdog", "set-clocksource-tsc", "hpet-disable"})) > 0 {
				t.Fatalf("%s cut at byte %d: a convicted TSC and advice %q", path, n, advice)
			}
		}
	}
	t.Logf("%d cuts", total)
}

// TestFloodOfEventsIsKeptInBounds holds that a log that repeats one message for
// years is judged by its first and last events.
func TestFloodOfEventsIsKeptInBounds(t *testing.T) {
	var rec doctor.Recorder
	r := klog.NewReader(bytes.NewReader(bytes.Repeat([]byte("clocksource: timekeeping watchdog on CPU1: acpi_pm wd-wd read-back delay of 144431ns\nclocksource: wd-tsc-wd read-back delay of 124876ns, clock-skew test skipped!\n"), 50_000)), "flood")
	n := 0
	for r.Next() {
		rec.Add(r.Event())
		n++
	}
	events, left := rec.Events()
	if n != 100_000 || len(events) > 2048 || left["test-skipped"] < 40_000 {
		t.Fatalf("%d events read, %d kept, %d skips left out", n, len(events), left["test-skipped"])
	}
	d := doctor.Examine(doctor.Evidence{Events: events, LeftOut: left})
	if d.TSCVerdict != doctor.Good || d.DecisionsLeftOut < 90_000 || len(d.Decisions) > 32 {
		t.Errorf("verdict %s, %d decisions, %d left out", d.TSCVerdict, len(d.Decisions), d.DecisionsLeftOut)
	}
}
