package trial

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/sim"
	"github.com/cswatch/cswatch/stats"
)

// Bound says which values of a measured chain a machine gets.
type Bound string

// The bounds: the estimates, or those ends of both 95 % intervals that make read-backs
// slow least often, or most often.
const (
	Estimate Bound = ""
	Least    Bound = "low"
	Most     Bound = "high"
)

// Measured writes the text of a machine whose read-backs are held as those of the
// results were: by the chain and the delays that the kernels measured, not by those
// that were asked for, and whose other reads take as long as theirs did. The rest of it is
// the machine base, which comes with cswatch.
// window is how long each trial was followed.
func Measured(base string, results []*campaign.Result, window time.Duration, bound Bound) ([]byte, error) {
	text, err := sim.BuiltinText(base)
	if err != nil {
		return nil, err
	}
	model, err := sim.Builtin(base)
	if err != nil {
		return nil, err
	}
	asked, err := oneDelay(results)
	if err != nil {
		return nil, err
	}
	m := campaign.Measure(results, asked.Low)
	if m.Attempts == 0 || len(m.DelaysNS) == 0 || m.Out.Trials == 0 {
		return nil, fmt.Errorf("describe the delays of %d trials: none of %d attempts took %v or more", len(results), m.Attempts, asked.Low)
	}
	enter, leave := m.In.Rate(), m.Out.Rate()
	in, out := stats.Wilson(m.In, campaign.Confidence), stats.Wilson(m.Out, campaign.Confidence)
	switch bound {
	case Least:
		enter, leave = in.Low, out.High
	case Most:
		enter, leave = in.High, out.Low
	}
	checks := checksOfBoot(results)
	from := time.Duration(model.From) + max(window-time.Duration(checks*float64(time.Second)/2), 0)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s with the delays of %d trials: %d of %d attempts were delayed by %s and more.\n", base, len(results), len(m.DelaysNS), m.Attempts, asked.Low)
	name := base + "-measured"
	if bound != Estimate {
		name += "-" + string(bound)
	}
	first, again := quietReads(results, asked.Low)
	quiet := campaign.Quantile(again, 0.5)
	for line := range strings.Lines(string(text)) {
		switch key, _, _ := strings.Cut(line, " "); {
		case key == "machine":
			line = "machine       " + name + "\n"
		case key == "read" && len(again) > 0:
			line = "read          table" + table(again, 0) + " # measured: the reference against itself\n"
		case key == "first-attempt" && len(first) > 0:
			line = "first-attempt table" + table(first, 0) + " # measured: attempts that were not delayed\n"
		}
		b.WriteString(line)
	}
	fmt.Fprintf(&b, "\nprocess     measured held-reads\n")
	fmt.Fprintf(&b, "  from      %dns                 # measured: %.1f checks of a boot could be delayed\n", from.Nanoseconds(), checks)
	fmt.Fprintf(&b, "  enter     %.6g                # measured: %d of %d, 95 %% interval %.4f to %.4f\n", enter, m.In.Events, m.In.Trials, in.Low, in.High)
	fmt.Fprintf(&b, "  leave     %.6g                # measured: %d of %d, 95 %% interval %.4f to %.4f\n", leave, m.Out.Events, m.Out.Trials, out.Low, out.High)
	fmt.Fprintf(&b, "  extra     table%s # measured, less the median read, %d ns\n", table(m.DelaysNS, quiet), quiet)
	if _, err := sim.Parse(bytes.NewReader(b.Bytes())); err != nil {
		return nil, fmt.Errorf("describe the delays of %d trials: %w", len(results), err)
	}
	return b.Bytes(), nil
}

// oneDelay returns the model of delays that all results have.
func oneDelay(results []*campaign.Result) (campaign.Delay, error) {
	var asked campaign.Delay
	for _, r := range results {
		d := r.Trial.Cell.Delay
		if d.None() || !asked.None() && d != asked {
			return campaign.Delay{}, fmt.Errorf("describe delays: trial %s has the delay %s, and all must have the same: name the cells", r.Trial.ID, d)
		}
		asked = d
	}
	if asked.None() {
		return asked, fmt.Errorf("describe delays: there are no trials with delays")
	}
	return asked, nil
}

// checksOfBoot returns how many checks a boot that was followed to its end had in the mean.
func checksOfBoot(results []*campaign.Result) float64 {
	n, sum := 0, 0
	for _, r := range results {
		if r.Outcome == campaign.Stable {
			n++
			sum += len(r.Checks)
		}
	}
	return float64(sum) / float64(max(n, 1))
}

// quietReads returns how long reads took that nothing delayed, ascending: the first
// attempts of checks, and the reference against itself.
func quietReads(results []*campaign.Result, below time.Duration) (first, again []int64) {
	for _, r := range results {
		for _, c := range r.Checks {
			if len(c.DelaysNS) > 0 && c.DelaysNS[0] < int64(below) {
				first = append(first, c.DelaysNS[0])
			}
			again = append(again, c.ReferenceNS...)
		}
	}
	slices.Sort(first)
	slices.Sort(again)
	return first, again
}

// table writes delays, ascending, as a distribution of package sim: edges with the
// counts between them, as many in each but the last.
func table(delays []int64, less int64) string {
	const bins = 20
	var b strings.Builder
	at := func(i int) int64 { return max(delays[i]-less, 0) }
	last := at(0)
	fmt.Fprintf(&b, " %dns", last)
	step := max(int(math.Ceil(float64(len(delays))/bins)), 1)
	for i := 0; i < len(delays); i += step {
		end := min(i+step, len(delays))
		edge := at(end - 1)
		if edge <= last {
			edge = last + 1
		}
		fmt.Fprintf(&b, " %d %dns", end-i, edge)
		last = edge
	}
	return b.String()
}
