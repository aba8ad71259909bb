package report

import (
	"io"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/burst"
)

// FitSchema names the document about counts.
const FitSchema = "cswatch.fit/v1"

// Fit is what counts of boots tell.
type Fit struct {
	Schema string    `json:"schema"`
	Inputs FitInputs `json:"inputs"`
	*burst.Result
}

// FitInputs is what was asked for.
type FitInputs struct {
	File  string            `json:"file"` // - is standard input
	Rate  float64           `json:"rate"`
	Width int               `json:"width,omitzero"` // 0: half of the present width
	CPUs  int               `json:"cpus,omitzero"`  // 0: not given
	Delay clocksource.Nanos `json:"delay_ns,omitzero"`
}

// FitJSON writes the document.
func FitJSON(w io.Writer, f *Fit) error {
	c := *f
	c.Schema = FitSchema
	return writeJSON(w, &c, "the fit")
}

// best returns the model that the conclusion stands on, or the first one, or nil.
func (f *Fit) best() *burst.Model {
	for i := range f.Models {
		if f.Models[i].Best {
			return &f.Models[i]
		}
	}
	if len(f.Models) > 0 {
		return &f.Models[0]
	}
	return nil
}
