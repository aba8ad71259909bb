package house

import (
	"fmt"
	"go/token"
	"path"
	"strings"
)

// Module is the path of the module whose rules these are.
const Module = "github.com/cswatch/cswatch"

// Ring is where a package stands. Imports point inwards: to the same ring or to a lower value.
type Ring int

// The rings, innermost first. Tooling may import anything, and nothing may import it.
const (
	Core    Ring = iota // pure: values in, values out
	Edge                // everything that touches the world
	Surface             // commands, reports, exporters
	Tooling             // checks and helpers of the build
)

// String names the ring.
func (r Ring) String() string {
	return [...]string{"core", "edge", "surface", "tooling"}[r]
}

// rooms maps every package, by its path within the module, to its ring, also
// those that are planned. A package that is not here fails the test: whoever
// adds one decides where it stands.
func rooms() map[string]Ring {
	return map[string]Ring{
		"event":             Core,
		"machine":           Core,
		"stats":             Core,
		"clocksource":       Core,
		"watchdog":          Core,
		"klog":              Core,
		"sim":               Core,
		"trace":             Core,
		"internal/burst":    Core,
		"internal/doctor":   Core,
		"internal/explain":  Core,
		"internal/fidelity": Core,
		"internal/reenact":  Core,
		"internal/campaign": Core,
		"internal/unpack":   Core,
		"internal/cost":     Core,
		"internal/tally":    Core,

		"internal/host":     Edge,
		"internal/hw":       Edge,
		"internal/live":     Edge,
		"internal/monitor":  Edge,
		"internal/evidence": Edge,
		"internal/kmsg":     Edge,
		"internal/qemu":     Edge,
		"internal/guest":    Edge,
		"internal/store":    Edge,
		"internal/journal":  Edge,
		"internal/dispatch": Edge,
		"internal/simulate": Edge,
		"internal/trial":    Edge,
		"internal/bench":    Edge,
		"internal/load":     Edge,
		"internal/lease":    Edge,
		"internal/role":     Edge,
		"internal/loopback": Edge,
		"internal/perf":     Edge,
		"internal/hook":     Edge,

		"internal/plot":     Surface,
		"internal/report":   Surface,
		"internal/page":     Surface,
		"internal/exporter": Surface,
		"internal/cli":      Surface,
		"cmd/cswatch":       Surface,
		"cmd/cswatch-guest": Surface,

		"internal/fidelity/boots": Tooling,
		"internal/study":          Tooling,
		"internal/browser":        Tooling,
		"internal/alerting":       Tooling,
		"internal/house":          Tooling,
		"internal/docs":           Tooling,
		"internal/house/testsum":  Tooling,
	}
}

// RingOf returns the ring of a package of this module, given its import path.
// A package below a listed one stands where its parent does.
func RingOf(importPath string) (Ring, bool) {
	rel, ok := strings.CutPrefix(importPath, Module+"/")
	for ok && rel != "." {
		if ring, known := rooms()[rel]; known {
			return ring, true
		}
		rel = path.Dir(rel)
	}
	return 0, false
}

// Violation is one breach of a rule.
type Violation struct {
	Where string // file:line, or a package or file alone
	What  string // what was found
	Why   string // the reason for the rule, and what to do instead
}

// String formats the violation for a test's output.
func (v Violation) String() string { return fmt.Sprintf("%s: %s\n\t%s", v.Where, v.What, v.Why) }

// CheckArrows reports imports that point outwards: a core package that imports
// an edge, an edge that imports the surface, anything that imports tooling.
func CheckArrows(p *Package) []Violation {
	from, known := RingOf(p.Path)
	if !known {
		return []Violation{{
			Where: p.Path,
			What:  "the package stands in no room",
			Why:   "every package belongs to the core, the edges or the surface: add it to rooms() in internal/house/rooms.go",
		}}
	}
	if from == Tooling {
		return nil
	}
	var found []Violation
	p.eachImport(func(pos token.Position, imported string) {
		to, ours := RingOf(imported)
		switch {
		case !ours && (imported == Module || strings.HasPrefix(imported, Module+"/")):
			found = append(found, Violation{pos.String(), "imports " + imported + ", which stands in no room",
				"add it to rooms() in internal/house/rooms.go"})
		case ours && to > from:
			found = append(found, Violation{pos.String(),
				fmt.Sprintf("%s (%s) imports %s (%s)", p.Path, from, imported, to), arrowReason(from, to)})
		}
	})
	return found
}

func arrowReason(from, to Ring) string {
	switch {
	case to == Tooling:
		return "what checks the build is no part of the program"
	case from == Core:
		return "the core gets its facts as values: the same verdict must come from a live machine, a recording and a simulation"
	}
	return "an edge that knows how its result is shown cannot serve a second way of showing it: return a value"
}
