package simulate

import (
	"context"
	"fmt"

	"github.com/cswatch/cswatch/internal/dispatch"
	"github.com/cswatch/cswatch/sim"
)

// Runner simulates cells. Its fields are not changed while it runs.
type Runner struct {
	Seed  uint64
	Boots uint64 // of each cell
	Jobs  int
	// Ledger keeps finished pieces, if not nil.
	Ledger *dispatch.Ledger
	// Progress is told of boots, if not nil: first, with begin, how many there are
	// and how many a ledger had; then those that were added.
	Progress func(begin bool, boots, kept uint64)
}

// Result is a cell and its boots: those of the runner, or fewer where the run was stopped.
type Result struct {
	Spec
	Tally sim.Tally
}

// piece is a range of boots of a cell.
type piece struct {
	cell       int
	first, end uint64
}

// pieceBoots is how many boots a piece has. It depends on nothing else, so that a
// ledger is good for another number of jobs. A cell has 2000 pieces at most.
func pieceBoots(boots uint64) uint64 { return max(min(max(boots/200, 50), 5000), boots/2000) }

// kept is how a ledger has a tally: most bins of the times are empty.
type kept struct {
	sim.Tally
	Bins [][2]uint64 `json:"bins,omitempty"` // index and count of those that are not
}

func keep(t *sim.Tally) kept {
	k := kept{Tally: *t}
	k.Times = nil
	for i, n := range t.Times {
		if n > 0 {
			k.Bins = append(k.Bins, [2]uint64{uint64(i), n})
		}
	}
	return k
}

// into adds a kept tally to another of its cell.
func (k *kept) into(t *sim.Tally) error {
	for _, b := range k.Bins {
		if err := k.Restore(b[0], b[1]); err != nil {
			return err
		}
	}
	if k.Width != t.Width {
		return fmt.Errorf("bins of %d ns, want %d", k.Width, t.Width)
	}
	t.Merge(&k.Tally)
	return nil
}

// Cells simulates all boots of all cells. With an error come the boots that were
// counted before it.
func (r *Runner) Cells(ctx context.Context, specs []Spec) ([]Result, error) {
	results := make([]Result, len(specs))
	cells := make([]*sim.Cell, len(specs))
	var pieces []piece
	had := uint64(0)
	for i := range specs {
		cell, err := specs[i].Cell()
		if err != nil {
			return nil, err
		}
		cells[i] = cell
		results[i] = Result{specs[i], cell.NewTally()}
		size := pieceBoots(r.Boots)
		for first := uint64(0); first < r.Boots; first += size {
			p := piece{i, first, min(first+size, r.Boots)}
			found, err := r.recall(&results[i], p)
			if err != nil {
				return nil, err
			}
			if found {
				had += p.end - p.first
			} else {
				pieces = append(pieces, p)
			}
		}
	}
	r.tell(true, r.Boots*uint64(len(specs)), had)
	worker := func() dispatch.Work[sim.Tally] {
		last, runner := -1, (*sim.Runner)(nil)
		return func(ctx context.Context, n int) (sim.Tally, error) {
			p := pieces[n]
			if p.cell != last {
				last, runner = p.cell, cells[p.cell].NewRunner()
			}
			return runPiece(ctx, runner, cells[p.cell].NewTally(), &specs[p.cell].Fault, r.Seed, p)
		}
	}
	err := dispatch.Run(ctx, len(pieces), r.Jobs, worker, func(n int, t sim.Tally) error {
		p := pieces[n]
		if r.Ledger != nil {
			if err := r.Ledger.Append(p.key(&specs[p.cell]), keep(&t)); err != nil {
				return err
			}
		}
		results[p.cell].Tally.Merge(&t)
		r.tell(false, p.end-p.first, 0)
		return nil
	})
	return results, err
}

// runPiece simulates the boots of a piece, and gives up between two of them when the context ends.
func runPiece(ctx context.Context, runner *sim.Runner, t sim.Tally, fault *sim.Fault, seed uint64, p piece) (sim.Tally, error) {
	for n := p.first; n < p.end; n++ {
		// Boots of a large machine that is busy take seconds, and asking takes nanoseconds.
		if ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		o := runner.Boot(seed, n)
		t.Add(n, &o, fault)
	}
	return t, nil
}

func (p piece) key(s *Spec) string { return fmt.Sprintf("%s boots=%d-%d", s.Key(), p.first, p.end) }

// recall takes a piece out of the ledger.
func (r *Runner) recall(to *Result, p piece) (bool, error) {
	if r.Ledger == nil {
		return false, nil
	}
	var k kept
	name := p.key(&to.Spec)
	found, err := r.Ledger.Find(name, &k)
	if err != nil || !found {
		return false, err
	}
	if err := k.into(&to.Tally); err != nil {
		return false, fmt.Errorf("read the state of piece %s: %w", name, err)
	}
	return true, nil
}

func (r *Runner) tell(begin bool, boots, had uint64) {
	if r.Progress != nil {
		r.Progress(begin, boots, had)
	}
}
