package trace

import (
	"fmt"
	"slices"
)

// Node is a NUMA node: its CPUs, and how far each node of the header is from it
// in the unit of the firmware's table, in which 10 is the node itself.
type Node struct {
	CPUs      CPUSet `json:"cpus"`
	Distances []int  `json:"distances"` // to the nodes of the header, in their order
}

// Limits of the nodes: the firmware's table has bytes, and below 10 means nothing in it.
const (
	MaxNodes    = 64
	maxDistance = 255
	minDistance = 10
)

// OneNode is the topology of a machine with one node.
func OneNode(cpus CPUSet) []Node {
	return []Node{{CPUs: slices.Clone(cpus), Distances: []int{minDistance}}}
}

// validateNodes reports the first fault of the nodes.
func (h *Header) validateNodes() error {
	if len(h.Nodes) > MaxNodes {
		return fmt.Errorf("%w: %d nodes, want %d or fewer", ErrHeader, len(h.Nodes), MaxNodes)
	}
	for i := range h.Nodes {
		n := &h.Nodes[i]
		if err := n.CPUs.validate(); err != nil || len(n.CPUs) == 0 || len(n.Distances) != len(h.Nodes) {
			return fmt.Errorf("%w: node %d has CPUs %q and %d distances, want one CPU or more in ascending ranges, and %d distances",
				ErrHeader, i, n.CPUs, len(n.Distances), len(h.Nodes))
		}
		for _, d := range n.Distances {
			if d < minDistance || d > maxDistance {
				return fmt.Errorf("%w: node %d is %d away from another, want %d to %d", ErrHeader, i, d, minDistance, maxDistance)
			}
		}
	}
	return nil
}

// Distance returns the function that a watchdog asks how far apart the nodes of
// two CPUs are; nil where there is one node, or the header names none. A CPU of
// no node counts as one of the same node: it came online since.
func (h *Header) Distance() func(a, b int) int {
	if len(h.Nodes) < 2 {
		return nil
	}
	nodes := slices.Clone(h.Nodes)
	nodeOf := func(cpu int) int {
		return slices.IndexFunc(nodes, func(n Node) bool { return n.CPUs.has(cpu) })
	}
	return func(a, b int) int {
		from, to := nodeOf(a), nodeOf(b)
		if from < 0 || to < 0 {
			return 0
		}
		return nodes[from].Distances[to]
	}
}

// NodesKnown reports whether the recording tells how far apart its CPUs are. A
// simulated one without nodes is of a model with one node.
func (h *Header) NodesKnown() bool { return len(h.Nodes) > 0 || h.Source == Simulated }

// has reports whether a CPU is in the set.
func (s CPUSet) has(cpu int) bool {
	return slices.ContainsFunc(s, func(r CPURange) bool { return r.First <= cpu && cpu <= r.Last })
}
