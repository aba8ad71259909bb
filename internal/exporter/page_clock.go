package exporter

import (
	"math"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
)

// tile is one thing about the clock, in large letters.
type tile struct {
	Name, Value, Note string
	Status            page.Status // "" for one that is as it should be
}

// tiles tell of the clock now.
func tiles(v tally.View, c calendar) []tile {
	cost := v.Cost
	if cost == nil && v.Diagnosis != nil {
		cost = v.Diagnosis.Cost
	}
	all := []tile{currentTile(v), costTile(cost), pathTile(cost), switchTile(v, c)}
	if d := v.Diagnosis; d != nil && d.Status == doctor.StatusOK { // whether it matters is the doctor's to say
		for i := range all {
			all[i].Status = ""
		}
	}
	return all
}

// currentTile is the clock in use, beside the best one.
func currentTile(v tally.View) tile {
	t := tile{Name: "Clock in use", Value: name(v.Clocks.Current)}
	switch best := name(v.Best); {
	case v.Clocks.Current == "":
		t.Value, t.Note = "not known", "the kernel's list of clocksources was not read yet"
	case best == "":
		t.Note = "whether there is a better one cannot be told"
	case v.Best == tally.Name(v.Clocks.Current):
		t.Note = "the best that this machine has"
	case givenUp(v):
		t.Status, t.Note = page.Warning, best+" is better, but the kernel gave it up in this boot"
	default:
		t.Status, t.Note = page.Warning, best+" is better, and is not used"
	}
	return t
}

// givenUp reports that the kernel gave the best clock up.
func givenUp(v tally.View) bool {
	return slices.ContainsFunc(v.Clocks.Condemned, func(c tally.Condemning) bool { return c.Clock == v.Best }) ||
		v.Best == "tsc" && v.Diagnosis != nil && v.Diagnosis.KernelTrustsTSC == doctor.TrustNo
}

// priced reports that a price was measured.
func priced(ns float64) bool { return ns > 0 && !math.IsInf(ns, 0) }

func costTile(c *machine.Cost) tile {
	t := tile{Name: "Reading it takes"}
	if c == nil || !priced(c.ReadNS) {
		t.Value, t.Note = "not known", "not measured yet"
		return t
	}
	t.Value = price(c.ReadNS)
	var notes []string
	if priced(c.ReadP99NS) {
		notes = append(notes, "99 % of reads within "+price(c.ReadP99NS))
	}
	if priced(c.SyscallNS) {
		notes = append(notes, "by system call "+price(c.SyscallNS))
	}
	t.Note = strings.Join(notes, "; ")
	return t
}

// price is a price with three digits.
func price(ns float64) string {
	if ns < 1000 {
		return report.Digits(ns) + " ns"
	}
	return report.Lasting(ns)
}

func pathTile(c *machine.Cost) tile {
	t := tile{Name: "Programs get it by", Value: "not known", Note: "not measured yet"}
	if c == nil {
		return t
	}
	switch c.Path {
	case "vdso":
		t.Value, t.Note = "vDSO", "without entering the kernel"
	case "syscall":
		t.Value, t.Note, t.Status = "system call", "each read enters the kernel: the vDSO cannot read this clock", page.Warning
	default:
		t.Note = "the prices of both ways are too close to tell"
	}
	return t
}

func switchTile(v tally.View, c calendar) tile {
	t := tile{Name: "Last switch", Value: "none seen", Note: "in this boot"}
	if v.Clocks.LastSwitch.At.IsZero() {
		return t
	}
	at := c.moment(v.Clocks.LastSwitch.At)
	t.Value, t.Note = at.Ago, at.Text
	for i := len(v.Timeline) - 1; i >= 0; i-- {
		if e := &v.Timeline[i]; e.Kind == tally.Switched {
			t.Note = "to " + name(e.To) + ", " + at.Text
			if e.From != "" && e.From != "none" {
				t.Note = "from " + name(e.From) + " " + t.Note
			}
			break
		}
	}
	return t
}

// availableClocks lists what the kernel offers, and what is gone.
func availableClocks(v tally.View) string {
	if len(v.Clocks.Available) == 0 {
		return ""
	}
	const most = 16
	var offered, gone []string
	for _, a := range v.Clocks.Available[:min(len(v.Clocks.Available), most)] {
		offered = append(offered, name(a))
	}
	for _, s := range v.Clocks.Seen {
		if !slices.ContainsFunc(v.Clocks.Available, func(a string) bool { return tally.Name(a) == s }) && len(gone) < most {
			gone = append(gone, name(s))
		}
	}
	line := "The kernel offers " + strings.Join(offered, ", ")
	if len(gone) > 0 {
		line += "; seen in this boot and not offered now: " + strings.Join(gone, ", ")
	}
	return line + "."
}
