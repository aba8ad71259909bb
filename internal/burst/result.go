package burst

import (
	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

// Confidence is that of every interval of this package.
const Confidence = 0.95

// Options is what Examine is asked for.
type Options struct {
	// Rate is the share of unstable boots that retries are to bring about.
	// 0 means DefaultRate.
	Rate float64
	// Width is how wide the interval of the retries needed may be, in retries.
	// 0 means half of its present width.
	Width int
	// CPUs is for how many CPUs the automatic rule is judged; 0 means the
	// number that all rows name, if they do.
	CPUs int
	// Delay is the longest read-back delay that the machine's log shows, 0 if none is known.
	Delay clocksource.Nanos
}

// DefaultRate is one unstable boot in a thousand.
const DefaultRate = 0.001

// Result is what counts tell.
type Result struct {
	Rows           []RowResult    `json:"rows"`
	Models         []Model        `json:"models"`
	Tells          []string       `json:"tells"`         // what the counts identify, in sentences
	DoesNotTell    []string       `json:"does_not_tell"` // what they do not
	Recommendation Recommendation `json:"recommendation"`
	Warnings       []Warning      `json:"warnings"`
}

// RowResult is a number of retries with its observed rate.
type RowResult struct {
	Pooled
	Rate      float64 `json:"rate"`
	RateLow   float64 `json:"rate_low"` // Wilson
	RateHigh  float64 `json:"rate_high"`
	ExactLow  float64 `json:"exact_low"` // Clopper-Pearson
	ExactHigh float64 `json:"exact_high"`
}

// Model is one family, fitted.
type Model struct {
	Family     Name        `json:"family"`
	Formula    string      `json:"formula"` // of the share S(k) of episodes of at least k attempts
	Parameters []Parameter `json:"parameters"`
	Best       bool        `json:"best"` // the least AIC of those that fit
	Fits       bool        `json:"fits"` // the goodness of fit does not reject it

	// EpisodesPerBoot is lambda. A bound that the counts do not set is absent.
	EpisodesPerBoot     float64  `json:"episodes_per_boot"`
	EpisodesPerBootLow  *float64 `json:"episodes_per_boot_low,omitempty"`
	EpisodesPerBootHigh *float64 `json:"episodes_per_boot_high,omitempty"`
	// MeanLength is in attempts, from where a check meets the episode; absent where it is infinite.
	MeanLength     *float64 `json:"mean_length_attempts,omitempty"`
	MeanLengthLow  *float64 `json:"mean_length_attempts_low,omitempty"`
	MeanLengthHigh *float64 `json:"mean_length_attempts_high,omitempty"`

	LogLikelihood float64  `json:"log_likelihood"` // with the binomial coefficients
	Deviance      float64  `json:"deviance"`
	DF            int      `json:"df"`
	GoodnessP     *float64 `json:"goodness_p,omitempty"` // absent for no degrees of freedom
	AIC           float64  `json:"aic"`

	Rows    []FittedRow `json:"rows"`
	LeftOut []LeftOut   `json:"left_out"` // empty where the other rows are too few
	Needed  Needed      `json:"retries_needed"`
	Curve   []Fitted    `json:"curve,omitempty"` // for a plot; intervals for the best family alone
}

// Fitted is a fitted rate with its profile-likelihood interval.
type Fitted struct {
	Retries  int     `json:"retries"`
	Rate     float64 `json:"rate"`
	RateLow  float64 `json:"rate_low"`
	RateHigh float64 `json:"rate_high"`
}

// FittedRow is a row as the model has it.
type FittedRow struct {
	Fitted
	Expected float64 `json:"expected_unstable"`
}

// LeftOut is the prediction of a row from all others.
type LeftOut struct {
	Row
	Rate     float64 `json:"rate"` // predicted
	RateLow  float64 `json:"rate_low"`
	RateHigh float64 `json:"rate_high"`
	Expected float64 `json:"expected_unstable"`
	// CountLow and CountHigh are the counts that a likelihood ratio test of the
	// row against the others does not reject, and PredictionP is its p value for
	// the observed one. Both allow for the uncertainty of the prediction.
	CountLow    int     `json:"unstable_low"`
	CountHigh   int     `json:"unstable_high"`
	PredictionP float64 `json:"prediction_p"`
	// TailProbability is the exact two-sided one of the observed count at the
	// predicted rate, as if that were known.
	TailProbability float64 `json:"tail_probability"`
}

// Needed is how many retries bring the rate down to the wanted one.
type Needed struct {
	Retries *int `json:"retries,omitempty"` // absent where no number up to MostNeeded does
	Low     *int `json:"low,omitempty"`
	High    *int `json:"high,omitempty"` // absent where no number is certain to be enough
}

// Recommendation is the conclusion, or why there is none.
type Recommendation struct {
	Rate      float64 `json:"rate"` // wanted
	Concluded bool    `json:"concluded"`
	Family    Name    `json:"family,omitempty"` // that the numbers are from
	Retries   *int    `json:"retries,omitempty"`
	Low       *int    `json:"retries_low,omitempty"`
	High      *int    `json:"retries_high,omitempty"`
	// FamiliesLow and FamiliesHigh span the intervals of all families that fit.
	FamiliesLow  *int `json:"families_low,omitempty"`
	FamiliesHigh *int `json:"families_high,omitempty"`

	// BetterCure says in sentences whether another limit or design cures what more retries only make rarer.
	BetterCure string `json:"better_cure"`

	Problems  []Problem  `json:"problems"` // why there is no conclusion
	Automatic []Auto     `json:"automatic_rule"`
	Designs   []Design   `json:"designs"`
	MoreBoots *MoreBoots `json:"more_boots,omitempty"`
}

// Auto is what the rule of 6.9 and later, retries by the number of CPUs, gives at the same read limit.
type Auto struct {
	CPUsFrom int `json:"cpus_from"`
	CPUsTo   int `json:"cpus_to"`
	Fitted
}

// Design is a watchdog of some era as a cure.
type Design struct {
	Era       watchdog.Era      `json:"era"`
	Releases  string            `json:"releases"`
	Condemns  bool              `json:"latency_condemns"`
	ReadLimit clocksource.Nanos `json:"read_limit_ns"`
	Automatic bool              `json:"retries_automatic"`
	Retries   *int              `json:"retries,omitempty"` // default; absent where CPUs decide and are not known
	// Accepts is yes where the delay that was given is within the limit, no
	// where it is not, and unknown where none was given.
	Accepts string `json:"accepts_delay"`
	// Fitted rate where every read of an episode is above the limit; absent without a conclusion.
	Rate     *float64 `json:"rate,omitempty"`
	RateLow  *float64 `json:"rate_low,omitempty"`
	RateHigh *float64 `json:"rate_high,omitempty"`
}

// MoreBoots is what would narrow the interval of the retries needed.
type MoreBoots struct {
	Family  Name   `json:"family"`
	Width   int    `json:"width"`         // wanted
	Now     int    `json:"width_now"`     // of the present interval
	Options []Plan `json:"options"`       // fewest boots first
	Best    *Plan  `json:"best,omitzero"` // absent where none reaches the width
}

// Plan is a number of further boots.
type Plan struct {
	Retries int `json:"retries"`
	Boots   int `json:"boots"`
}

// Problem is a reason not to conclude.
type Problem struct {
	Code    string `json:"code"` // stable
	Text    string `json:"text"`
	Further []Plan `json:"further"` // boots that would help
}

// Warning is a doubt about a conclusion.
type Warning struct {
	Code string `json:"code"` // stable
	Text string `json:"text"`
}
