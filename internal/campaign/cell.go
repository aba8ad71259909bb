package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Cell is one combination whose boots are counted together.
type Cell struct {
	Kernel string   `json:"kernel"`     // as the plan names it
	Set    []string `json:"parameters"` // NAME=VALUE
	CPUs   int      `json:"cpus"`
	Load   string   `json:"load"`
	Delay  Delay    `json:"delay"`
	Fault  Fault    `json:"fault"`
}

// Key tells the cell from every other, as text.
func (c *Cell) Key() string {
	return fmt.Sprintf("kernel=%s set=%s cpus=%d load=%s delay=%s fault=%s", c.Kernel, strings.Join(c.Set, ","), c.CPUs, c.Load, c.Delay, c.Fault)
}

// ID is the beginning of every id of a trial of the cell.
func (c *Cell) ID() string {
	sum := sha256.Sum256([]byte(c.Key()))
	return hex.EncodeToString(sum[:4])
}

// RetriesParameter is the parameter of the kernel by which campaigns are compared
// most often; releases 5.13 to 6.6 have it, and long-term ones that took it over.
const RetriesParameter = "clocksource.max_cswd_read_retries"

// Retries returns what the cell sets RetriesParameter to, and false if it does not.
func (c *Cell) Retries() (int, bool) {
	for _, p := range c.Set {
		if value, ok := strings.CutPrefix(p, RetriesParameter+"="); ok {
			n, err := strconv.Atoi(value)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// Base returns the cell whose machine its trials go on from: the same without the step.
func (c Cell) Base() Cell {
	c.Fault = Fault{Kind: Restore, CPU: AllCPUs}
	return c
}

// Trial is one boot of a cell.
type Trial struct {
	ID         string `json:"id"`
	Cell       Cell   `json:"cell"`
	Repetition int    `json:"repetition"` // from 1
	Seed       uint64 `json:"seed"`
}

// trial returns a trial of a cell. Its seed depends on the plan's and on its id, and has
// the 53 bits that every reader of JSON keeps.
func (p *Plan) trial(c *Cell, repetition int) Trial {
	id := fmt.Sprintf("%s-%04d", c.ID(), repetition)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", p.Seed, id))
	return Trial{ID: id, Cell: *c, Repetition: repetition, Seed: binary.BigEndian.Uint64(sum[:8]) >> 11}
}

// Planned is a cell of a grid with its rules.
type Planned struct {
	Cell
	Boots      int
	UntilWidth float64
}

// Cells returns the cells of the grids, in the order of the plan. Those of
// searches depend on results; see Plan.Edges.
func (p *Plan) Cells() ([]Planned, error) {
	var cells []Planned
	ids := map[string]string{}
	for i := range p.Grids {
		g := &p.Grids[i]
		sets, err := combinations(g.Set)
		if err != nil {
			return nil, fmt.Errorf("plan of a campaign: grid %d: %w", i+1, err)
		}
		n := len(g.Kernels) * len(sets) * len(g.CPUs) * len(g.Loads) * len(g.Delays) * len(g.Faults)
		if len(cells)+n > maxCells {
			return nil, fmt.Errorf("plan of a campaign: more than %d cells", maxCells)
		}
		g.each(sets, func(c Cell) {
			cells = append(cells, Planned{Cell: c, Boots: g.Boots, UntilWidth: g.UntilWidth})
		})
	}
	for i := range cells {
		key := cells[i].Key()
		if _, twice := ids[cells[i].ID()]; twice {
			return nil, fmt.Errorf("plan of a campaign: the cell %s is there twice: write it into one grid only", key)
		}
		ids[cells[i].ID()] = key
	}
	return cells, nil
}

// each calls f for every combination.
func (g *Grid) each(sets [][]string, f func(Cell)) {
	for _, kernel := range g.Kernels {
		for _, cpus := range g.CPUs {
			for _, load := range g.Loads {
				for _, delay := range g.Delays {
					for _, fault := range g.Faults {
						for _, set := range sets {
							f(Cell{Kernel: kernel, Set: slices.Clone(set), CPUs: cpus, Load: load, Delay: delay, Fault: fault})
						}
					}
				}
			}
		}
	}
}
