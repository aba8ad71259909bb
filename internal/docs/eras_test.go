package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

const (
	tableBegins = "<!-- profiles -->\n"
	tableEnds   = "<!-- /profiles -->"
)

// eraTable writes the profiles of all eras as a table.
func eraTable() string {
	var b strings.Builder
	b.WriteString("| era | releases | reads | attempts | slow read-back | busy reference | skew that condemns | late check | between CPUs | latency condemns |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range watchdog.Profiles() {
		condemns := "no"
		if p.LatencyCondemns() {
			condemns = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", p.Era, p.Releases,
			reads(p.Read), attempts(p), slow(p), busy(p), p.SkewText(), late(p), between(p), condemns)
	}
	return b.String()
}

func reads(r watchdog.ReadPattern) string {
	switch r {
	case watchdog.ReadSharedReference:
		return "reference once, then each clock"
	case watchdog.ReadClockFirst:
		return "clock, reference"
	case watchdog.ReadThree:
		return "reference, clock, reference"
	case watchdog.ReadFour:
		return "reference, clock, reference, reference"
	}
	return string(r)
}

func attempts(p watchdog.Profile) string {
	switch {
	case p.AutoRetries:
		return fmt.Sprintf("by CPUs: %d with 1, %d with 8, %d with 64", p.Attempts(1, -1), p.Attempts(8, -1), p.Attempts(64, -1))
	case p.RetriesParameter:
		return fmt.Sprintf("%d, parameter", p.Attempts(1, -1))
	}
	return fmt.Sprint(p.Attempts(1, -1))
}

// does says in words what a watchdog does.
func does(a watchdog.Action) string {
	switch a {
	case watchdog.ActCondemn:
		return "condemned"
	case watchdog.ActKeepReference:
		return "this check skipped"
	case watchdog.ActSuspend:
		return "all checks rest 5 minutes"
	case watchdog.ActForgetReference:
		return "forgotten"
	}
	return string(a)
}

func slow(p watchdog.Profile) string {
	limit, ok := p.ReadLimitFor()
	if !ok {
		return "no limit"
	}
	return fmt.Sprintf("above %s: %s", micros(limit), does(p.OnSlow))
}

func busy(p watchdog.Profile) string {
	limit, ok := p.SkipLimit.At(2*p.MaxSkew, 2*p.MaxSkew)
	if !ok {
		return "not asked"
	}
	return fmt.Sprintf("above %s: %s", micros(limit), does(p.OnSkip))
}

func micros(ns clocksource.Nanos) string {
	return fmt.Sprintf("%g us", float64(ns)/float64(clocksource.Microsecond))
}

func late(p watchdog.Profile) string {
	switch {
	case p.LongByMaxIdle:
		return "not judged above the clocks' max_idle_ns"
	case p.LongInterval > 0:
		return fmt.Sprintf("not judged above %g s", float64(p.LongInterval)/float64(clocksource.NanosPerSecond))
	}
	return "judged like any other"
}

func between(p watchdog.Profile) string {
	switch {
	case p.Remote.Reads > 0:
		return "compared in every tick"
	case p.Verify.CPUs == "chosen":
		return fmt.Sprintf("%d checked after a verdict", p.Verify.Default)
	case p.Verify.CPUs == "all":
		return "all checked after a verdict"
	}
	return "not checked"
}

func TestTheTableOfErasIsTheOneOfTheProfiles(t *testing.T) {
	const page = folder + "/eras.md"
	text := read(t, page)
	before, rest, ok := strings.Cut(text, tableBegins)
	table, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", page, tableBegins, tableEnds)
	}
	want := eraTable()
	if *update && table != want {
		if err := os.WriteFile(page, []byte(before+tableBegins+want+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("the table of %s is old: run go test ./internal/docs -update (-generated +page):\n%s", page, diff)
	}
}

func TestEveryMainlineEraIsTold(t *testing.T) {
	var told []string
	for _, cells := range rows(section(t, read(t, folder+"/eras.md"), "## What changed, and why it matters")) {
		told = append(told, cells[0])
	}
	var want []string
	for _, e := range watchdog.Eras() {
		if !strings.HasPrefix(string(e), "LTS-") {
			want = append(want, string(e))
		}
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("eras in the table of changes (-known +told):\n%s", diff)
	}
}

func TestEveryDesignIsTold(t *testing.T) {
	var told []string
	for _, cells := range rows(section(t, read(t, folder+"/eras.md"), "## Designs that were never merged")) {
		told = append(told, strings.Trim(cells[0], "`"))
	}
	var want []string
	for _, e := range watchdog.Designs() {
		want = append(want, string(e))
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("designs in their table (-known +told):\n%s", diff)
	}
}

func TestTheReleasesInTheTableOfChangesAreThoseOfTheProfiles(t *testing.T) {
	for _, cells := range rows(section(t, read(t, folder+"/eras.md"), "## What changed, and why it matters")) {
		p, ok := watchdog.ProfileOf(watchdog.Era(cells[0]))
		if !ok || p.Releases != cells[1] {
			t.Errorf("era %s: releases %q, the profile says %q", cells[0], cells[1], p.Releases)
		}
	}
}
