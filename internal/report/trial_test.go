package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cswatch/cswatch/internal/burst"
	"github.com/cswatch/cswatch/internal/campaign"
)

func TestTheReportOnACampaignIsAsItWas(t *testing.T) {
	c := carriedOut(t, madePlan(), madeRule, 0)
	part := carriedOut(t, madePlan(), madeRule, 30)
	golden(t, "trial", &txtar.Archive{Files: []txtar.File{
		section(t, "text", func(w io.Writer) error {
			return TrialText(w, c, TrialOptions{TextOptions: TextOptions{Width: DefaultWidth}})
		}),
		section(t, "exact, ASCII, 72 columns, not complete", func(w io.Writer) error {
			return TrialText(w, part, TrialOptions{TextOptions: TextOptions{Width: 72, ASCII: true}, Exact: true})
		}),
		section(t, "csv", func(w io.Writer) error { return TrialCSV(w, c) }),
	}})
	golden(t, "trialjson", &txtar.Archive{Files: []txtar.File{section(t, "json", func(w io.Writer) error { return TrialJSON(w, c) })}})
}

func TestTheStatusOfACampaignIsAsItWas(t *testing.T) {
	part := carriedOut(t, madePlan(), madeRule, 30)
	golden(t, "trialstatus", &txtar.Archive{Files: []txtar.File{
		section(t, "text", func(w io.Writer) error { return StatusText(w, part, TextOptions{Width: DefaultWidth}) }),
		section(t, "nothing yet", func(w io.Writer) error {
			return StatusText(w, campaignOf(t, madePlan(), nil, nil, false, 166), TextOptions{Width: DefaultWidth})
		}),
		section(t, "json", func(w io.Writer) error { return StatusJSON(w, part) }),
	}})
}

// A campaign that is not begun, or has nothing but troubles, still has every document.
func TestTheDocumentsOfACampaignHaveNoNullAndTheirSchemaFirst(t *testing.T) {
	troubles := func(r *campaign.Result) { r.Outcome, r.Why = campaign.NeverBooted, "QEMU ended with code 1" }
	for _, c := range []*Campaign{
		carriedOut(t, madePlan(), madeRule, 0), carriedOut(t, madePlan(), madeRule, 30), carriedOut(t, madePlan(), troubles, 0), campaignOf(t, madePlan(), nil, nil, false, 166),
	} {
		pairs, err := CompareCells(c, "made")
		if err != nil {
			t.Fatal(err)
		}
		for schema, write := range map[string]func(io.Writer) error{
			TrialSchema:        func(w io.Writer) error { return TrialJSON(w, c) },
			TrialStatusSchema:  func(w io.Writer) error { return StatusJSON(w, c) },
			TrialCompareSchema: func(w io.Writer) error { return CompareJSON(w, pairs) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if !json.Valid(b.Bytes()) || !strings.HasPrefix(text, "{\n  \"schema\": \""+schema+"\",") {
				t.Errorf("%s begins with %.200s", schema, text)
			}
			// What a plan leaves out is its own to say.
			if at := strings.Index(text, `"cells"`); schema == TrialSchema && strings.Contains(text[at:], ": null") {
				t.Errorf("%s holds a null", schema)
			}
		}
	}
}

func TestTheCSVOfACampaignIsWhatFitReads(t *testing.T) {
	c := carriedOut(t, madePlan(), madeRule, 0)
	var b bytes.Buffer
	if err := TrialSeriesCSV(&b, c, 0); err != nil {
		t.Fatal(err)
	}
	if err := TrialSeriesCSV(io.Discard, c, 1); err == nil {
		t.Error("a series that is not there is written")
	}
	rows, err := burst.Parse("counts.csv", bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	want := []burst.Row{{Retries: 1, Boots: 40, Unstable: 29, CPUs: 2}, {Retries: 3, Boots: 31, Unstable: 13, CPUs: 2}, {Retries: 10, Boots: 40, Unstable: 2, CPUs: 2}}
	for i, r := range rows {
		if len(rows) != len(want) || r != want[i] {
			t.Fatalf("fit reads %+v, want %+v", rows, want)
		}
	}
	if _, err := csv.NewReader(&b).ReadAll(); err != nil {
		t.Error(err)
	}
}

func TestAPlanAndResultsCannotHarmATerminal(t *testing.T) {
	plan := madePlan()
	plan.Name = "made\x1b[2J"
	for i := range plan.Grids {
		plan.Grids[i].Kernels = []string{"a\x1b[31m\u202ekernel"}
	}
	plan.Grids = plan.Grids[:2]
	plan.Searches[0].Kernels = []string{"other\x07"}
	rule := func(r *campaign.Result) {
		madeRule(r)
		r.Kernel = campaign.Kernel{Release: "6.1\x1b[0m\nclocksource: x", Era: "E\x1b6"}
		r.Accelerator, r.Why = "tcg\x9b", "why\x1b]0;x\x07"
		if r.Message != "" {
			r.Message += "\x1b[1m\n[    1.0] tsc: Marking TSC unstable due to clocksource watchdog"
		}
	}
	c := carriedOut(t, plan, rule, 0)
	pairs, err := CompareCells(c, "a\x1bdir")
	if err != nil {
		t.Fatal(err)
	}
	for _, opt := range []TextOptions{{}, {Width: 40}, {Width: 100, ASCII: true}} {
		harmless(t, "the report", output(t, func(w io.Writer) error { return TrialText(w, c, TrialOptions{TextOptions: opt}) }))
		harmless(t, "the status", output(t, func(w io.Writer) error { return StatusText(w, c, opt) }))
		harmless(t, "the pairs", output(t, func(w io.Writer) error { return CompareText(w, pairs, opt) }))
		harmless(t, "two campaigns", output(t, func(w io.Writer) error {
			return CompareText(w, CompareCampaigns(c, c, "a\x1b", "b\n"), opt)
		}))
	}
}
