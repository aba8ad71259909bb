package report

import (
	"io"
	"slices"

	"github.com/cswatch/cswatch/internal/loopback"
	"github.com/cswatch/cswatch/machine"
)

// NetBenchSchema is the schema id of the document about traffic over loopback.
const NetBenchSchema = "cswatch.bench-net/v1"

// NetBench is what traffic over loopback came to, under one clocksource or several.
type NetBench struct {
	Schema   string         `json:"schema"`
	Inputs   NetBenchInputs `json:"inputs"`
	CPUModel string         `json:"cpu_model"` // "" if not known, as the next one
	Kernel   string         `json:"kernel"`
	// LatencyCanCondemn: slow reads of a reference can cost this machine its TSC.
	LatencyCanCondemn machine.Answer `json:"latency_can_condemn"`
	LatencyWhy        string         `json:"latency_why"`
	Ended             string         `json:"ended"`               // one of BenchDone, ...
	Switching         *Switching     `json:"switching,omitempty"` // nil: nothing was to be switched
	loopback.Outcome
	Profiles []NetProfile `json:"profiles"`        // of windows of their own, behind the rounds
	Model    *NetModel    `json:"model,omitempty"` // nil: not asked for
}

// NetBenchInputs is what was asked for. Zeros and empty lists are the defaults, which the plan has filled in.
type NetBenchInputs struct {
	Tests    []string `json:"tests"`
	Switch   bool     `json:"switch"`
	Sources  []string `json:"clocksources"` // to switch to, empty with switch set for all that there are
	Pin      []int    `json:"pin"`          // CPU of the client, and of the server
	Size     int      `json:"size_bytes"`
	Flows    int      `json:"flows"`
	Round    float64  `json:"round_seconds"`
	Width    float64  `json:"width_ratio"`
	Duration float64  `json:"duration_seconds"` // of each test
	Profile  bool     `json:"profile"`
	Model    bool     `json:"model"`
	Count    bool     `json:"count_reads"`
	// AcceptLosingTSC is the flag.
	AcceptLosingTSC bool `json:"accept_losing_tsc"`
}

// NetBenchJSON writes the document.
func NetBenchJSON(w io.Writer, d *NetBench) error {
	c := *d
	c.Schema = NetBenchSchema
	c.Inputs.Tests, c.Inputs.Sources, c.Inputs.Pin = list(c.Inputs.Tests), list(c.Inputs.Sources), list(c.Inputs.Pin)
	c.Plan.Tests, c.Plan.Sources = list(c.Plan.Tests), list(c.Plan.Sources)
	if c.Plan.Pin == nil {
		c.Plan.Pin = &loopback.Placement{}
	}
	c.Switching = c.Switching.whole()
	c.Results, c.Verdicts, c.Rounds, c.Warnings = list(c.Results), list(c.Verdicts), list(c.Rounds), list(c.Warnings)
	c.Profiles = list(slices.Clone(c.Profiles))
	for i, n := range c.Profiles {
		c.Profiles[i].Profile = n.Profile.whole()
	}
	if c.Model != nil {
		m := *c.Model
		m.Prices, m.Reads, m.Predictions, m.WhatIf = list(m.Prices), list(m.Reads), list(m.Predictions), list(m.WhatIf)
		c.Model = &m
	}
	return writeJSON(w, &c, "the loopback benchmark")
}
