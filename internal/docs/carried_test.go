package docs

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/sim"
)

// campaignsFolder has the campaigns that were carried out.
const campaignsFolder = folder + "/campaigns"

func TestThePlansOfCampaignsCanBeCarriedOut(t *testing.T) {
	plans, err := filepath.Glob(campaignsFolder + "/*.toml")
	if err != nil || len(plans) < 4 {
		t.Fatalf("plans %q, error %v", plans, err)
	}
	for _, name := range plans {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := campaign.ReadPlan(f)
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if next, err := p.Next(func(string) (campaign.Verdict, bool) { return campaign.Verdict{}, false }); err != nil || len(next) == 0 {
			t.Errorf("%s: %d trials, error %v", name, len(next), err)
		}
	}
	f, err := os.Open(campaignsFolder + "/measured.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := sim.Parse(f); err != nil {
		t.Error(err)
	}
}

// counted reads the cells of a campaign.
func counted(t *testing.T, name string) []map[string]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%s: %d lines, error %v", name, len(lines), err)
	}
	var cells []map[string]string
	for _, line := range lines[1:] {
		cell := map[string]string{}
		for i, value := range line {
			cell[lines[0][i]] = value
		}
		cells = append(cells, cell)
	}
	return cells
}

func TestThePageOnRetriesSaysWhatWasCounted(t *testing.T) {
	page := read(t, campaignsFolder+"/retries.md")
	trials := 0
	for _, c := range counted(t, campaignsFolder+"/retries.csv") {
		var n int
		if _, err := fmt.Sscan(c["trials"], &n); err != nil {
			t.Fatal(err)
		}
		trials += n
		// Cells of 5.10 stand in the report, with all their boots; all delayed ones in a table, with those that were decided.
		report := fmt.Sprintf("Reboots: %s  TSC unstable: %s\n", c["trials"], c["unstable"])
		table := fmt.Sprintf("| %s of %s, ", c["unstable"], c["boots"])
		if c["kernel"] == "5.10" && !strings.Contains(page, report) {
			t.Errorf("the page does not show %q", report)
		}
		if c["delay"] != "none" && !strings.Contains(page, table) {
			t.Errorf("the page does not show %q", table)
		}
	}
	if !strings.Contains(page, fmt.Sprintf("%d boots in QEMU", trials)) {
		t.Errorf("the page does not speak of %d boots", trials)
	}
}

func TestThePageOnDetectionSaysWhatWasCounted(t *testing.T) {
	page := read(t, campaignsFolder+"/detection.md")
	// The amounts between which a step begins to be noticed stand in the tables.
	edges := map[string][]string{
		"5.10": {"+387us", "+398us"}, "6.1": {"+387us", "+398us"}, "6.12": {"+487us", "+501us"}, "7.0": {"+487us", "+501us"}, "7": {"+266us", "+274us"},
	}
	shown := 0
	for name, trials := range map[string]int{"step": 640, "cpu1": 432, "cpu1-7": 60} {
		n := 0
		for _, c := range counted(t, campaignsFolder+"/"+name+".csv") {
			var boots int
			if _, err := fmt.Sscan(c["trials"], &boots); err != nil {
				t.Fatal(err)
			}
			n += boots
			fault := strings.Fields(c["fault"])
			if len(fault) < 2 {
				continue
			}
			of := fmt.Sprintf("%s of %s", c["noticed"], c["noticed_of"])
			want := ""
			switch {
			case name == "cpu1-7":
				want = of + ", "
			case slices.Contains(edges[c["kernel"]], fault[1]):
				want = strings.TrimSuffix(fault[1][1:], "us") + " us (" + of + ")"
			default:
				continue
			}
			if shown++; !strings.Contains(page, want) {
				t.Errorf("%s, %s, %s: the page does not say %q", name, c["kernel"], c["fault"], want)
			}
		}
		if n != trials {
			t.Errorf("%s: %d trials were counted, the pages speak of %d", name, n, trials)
		}
	}
	if shown != 10+8+4 {
		t.Errorf("%d cells were looked for, want 22", shown)
	}
}
