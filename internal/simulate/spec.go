package simulate

import (
	"fmt"

	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/watchdog"
)

// Spec says what one cell is.
type Spec struct {
	Model   sim.Model // with the CPUs that it is to have
	Profile watchdog.Profile
	Release string // "" where an era was named
	Retries int    // the kernel's parameter; negative for the era's own
	Fault   sim.Fault
}

// Key names the cell among others of a run: two machines must not have one name.
func (s *Spec) Key() string {
	return fmt.Sprintf("%s cpus=%d era=%s release=%s retries=%d fault=%s", s.Model.Name, s.Model.CPUs, s.Profile.Era, s.Release, s.Retries, s.Fault)
}

// Attempts is how often one check of the cell reads at most.
func (s *Spec) Attempts() int { return s.Profile.Attempts(s.Model.CPUs, s.Retries) }

// Cell prepares the cell.
func (s *Spec) Cell() (*sim.Cell, error) {
	return sim.NewCell(s.Model, s.Profile, s.Retries, s.Fault)
}

// With returns the cell with another fault.
func (s Spec) With(f sim.Fault) Spec {
	s.Fault = f
	return s
}

// Healthy returns the cell without a fault.
func (s Spec) Healthy() Spec { return s.With(sim.Fault{}) }
