package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// predicted is the made campaign as a machine of the program would have it: other
// names of kernels, the same eras.
func predicted(t *testing.T) *Campaign {
	t.Helper()
	plan := madePlan()
	plan.Name, plan.Executor, plan.Machine, plan.Accelerator = "prediction", campaign.Simulated, "debian-qemu", ""
	plan.Grids = plan.Grids[:3]
	for i := range plan.Grids[:2] {
		plan.Grids[i].Kernels = []string{"5.10.223"}
	}
	plan.Searches[0].Kernels = []string{"5.10.223", "6.12"}
	return carriedOut(t, plan, func(r *campaign.Result) {
		name := r.Trial.Cell.Kernel
		if name == "5.10.223" {
			r.Trial.Cell.Kernel = "5.10"
		}
		madeRule(r)
		r.Trial.Cell.Kernel = name
		if r.Cause == campaign.ReadDelay && r.Trial.Repetition%4 == 0 {
			r.Judgement = campaign.Judgement{Outcome: campaign.Stable}
		}
	}, 0)
}

func TestComparisonsAreAsTheyWere(t *testing.T) {
	c := carriedOut(t, madePlan(), madeRule, 0)
	pairs, err := CompareCells(c, "made/")
	if err != nil {
		t.Fatal(err)
	}
	named, err := CompareCells(c, "made/", [2]string{c.Cells[0].CellID, c.Cells[3].CellID})
	if err != nil {
		t.Fatal(err)
	}
	both := CompareCampaigns(predicted(t), c, "prediction/", "made/")
	golden(t, "trialcompare", &txtar.Archive{Files: []txtar.File{
		section(t, "pairs", func(w io.Writer) error { return CompareText(w, pairs, TextOptions{Width: DefaultWidth}) }),
		section(t, "a named pair, ASCII, 72 columns", func(w io.Writer) error { return CompareText(w, named, TextOptions{Width: 72, ASCII: true}) }),
		section(t, "two campaigns", func(w io.Writer) error { return CompareText(w, both, TextOptions{Width: DefaultWidth}) }),
		section(t, "two campaigns, json", func(w io.Writer) error { return CompareJSON(w, both) }),
	}})
}

func TestOnlyCellsThatDifferInOneThingAreCompared(t *testing.T) {
	d, err := CompareCells(carriedOut(t, madePlan(), madeRule, 0), "made")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Pairs {
		if len(p.Differs) != 1 {
			t.Errorf("%s and %s differ in %q", p.A.CellID, p.B.CellID, p.Differs)
		}
		got = append(got, strings.Join(p.Differs, "; "))
	}
	const want = "clocksource.max_cswd_read_retries: 1, 3|clocksource.max_cswd_read_retries: 1, 10|clocksource.max_cswd_read_retries: 3, 10|fault: restore, step +1ms|fault: restore, rate +50000ppm|fault: step +1ms, rate +50000ppm"
	if strings.Join(got, "|") != want {
		t.Errorf("pairs differ in %q", got)
	}
	if _, err := CompareCells(carriedOut(t, madePlan(), madeRule, 0), "made", [2]string{"70e2ce9f", "nothing"}); err == nil || !strings.Contains(err.Error(), `no cell "nothing"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestDifferencesOfCellsAreNamedWithBothValues(t *testing.T) {
	a := campaign.Cell{Kernel: "5.10", Set: []string{"a=1", "b=2"}, CPUs: 2, Load: "none"}
	b := campaign.Cell{Kernel: "5.10", Set: []string{"b=3", "c=4"}, CPUs: 4, Load: "cpu"}
	want := "a: 1, default; b: 2, 3; c: default, 4; CPUs: 2, 4; load: none, cpu"
	if got := strings.Join(differences(&a, &b), "; "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := differences(&a, &a); len(got) > 0 {
		t.Errorf("a cell differs from itself in %q", got)
	}
}

func TestDoubtsAreTold(t *testing.T) {
	codes := func(c *Campaign) map[string]int {
		all := map[string]int{}
		for _, w := range c.Warnings {
			all[w.Code] = len(w.Cells)
		}
		return all
	}
	alone := func(from, to int, change func(*campaign.Grid)) *campaign.Plan {
		plan := madePlan()
		plan.Searches, plan.Grids = nil, plan.Grids[from:to]
		for i := range plan.Grids {
			change(&plan.Grids[i])
		}
		return plan
	}
	keep := func(*campaign.Grid) {}
	outcome := func(o campaign.Outcome, every int) func(*campaign.Result) {
		return func(r *campaign.Result) {
			if madeRule(r); r.Trial.Repetition%every == 0 {
				r.Judgement = campaign.Judgement{Outcome: o}
			}
		}
	}
	for _, c := range []struct {
		name string
		*Campaign
		want map[string]int
	}{
		{"delays without a control", carriedOut(t, alone(0, 1, keep), madeRule, 0), map[string]int{"no-control": 3, "wide-interval": 1, "many-aside": 1}},
		{"delays with one that was condemned", carriedOut(t, alone(0, 2, keep), madeRule, 0), map[string]int{"control-condemned": 1, "wide-interval": 1, "many-aside": 1}},
		{"no delays at all", carriedOut(t, alone(1, 2, keep), madeRule, 0), map[string]int{}},
		{"one boot in 20 lost", carriedOut(t, alone(1, 2, keep), outcome(campaign.Lost, 20), 0), map[string]int{}},
		{"one boot in 10 lost", carriedOut(t, alone(1, 2, keep), outcome(campaign.Lost, 10), 0), map[string]int{"many-lost": 0}},
		{"one boot in 9 hung", carriedOut(t, alone(1, 2, keep), outcome(campaign.Hung, 9), 0), map[string]int{}},
		{"one boot in 6 hung", carriedOut(t, alone(1, 2, keep), outcome(campaign.Hung, 6), 0), map[string]int{"many-aside": 1}},
		{"six boots", carriedOut(t, alone(2, 3, keep), madeRule, 0), map[string]int{"few-decided": 1}},
		{"a parameter that the kernel does not have", carriedOut(t, alone(2, 3, func(g *campaign.Grid) { g.Set, g.Boots = []string{campaign.RetriesParameter + "=3"}, 20 }), madeRule, 0), map[string]int{"no-such-parameter": 1}},
		{"a sound machine condemned after it was restored", carriedOut(t, alone(3, 4, func(g *campaign.Grid) { g.Faults = g.Faults[:1]; g.Boots = 20 }), outcome(campaign.Unstable, 11), 0), map[string]int{"restore-condemned": 1}},
		{"trials missing", carriedOut(t, alone(1, 2, keep), madeRule, 12), map[string]int{"incomplete": 0, "wide-interval": 1}},
		{"nothing begun", campaignOf(t, madePlan(), nil, nil, false, 166), map[string]int{"incomplete": 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, codes(c.Campaign)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
