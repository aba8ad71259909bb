package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/cost"
)

// quantity is a number with its unit on the command line, or a range of them, such as
// 13Gbit or 12.5Gbit..13.5Gbit.
type quantity struct {
	value cost.Value
	text  string
	given bool
	kind  string
	units map[string]float64
	whole bool // no range
}

// The kinds of quantities, each with the factors of its units. A number without one is in the unit of factor 1.
func rateQuantity() *quantity {
	units := map[string]float64{"": 1}
	for prefix, factor := range map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} {
		units[prefix+"bit"], units[prefix+"bit/s"] = factor, factor
	}
	return &quantity{kind: "a throughput such as 13Gbit or 12.5Gbit..13.5Gbit", units: units}
}

func timeQuantity() *quantity {
	return &quantity{kind: "a time such as 20ns, 1.4us or 1.3us..1.5us", units: map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}}
}

func shareQuantity() *quantity {
	return &quantity{kind: "a share such as 84.7% or 79.6%..95.1%", units: map[string]float64{"": 1, "%": 0.01}}
}

func numberQuantity() *quantity {
	return &quantity{kind: "a number such as 12 or 10..14", units: map[string]float64{"": 1}}
}

func sizeQuantity(text string) *quantity {
	q := &quantity{kind: "a size such as 64KiB or 1448", whole: true, units: map[string]float64{
		"": 1, "B": 1, "kB": 1e3, "KiB": 1 << 10, "MB": 1e6, "MiB": 1 << 20,
	}}
	if err := q.Set(text); err != nil {
		panic(err) // a default of ours
	}
	q.given = false
	return q
}

// String returns what was given.
func (q *quantity) String() string { return q.text }

// Type names the quantity in help texts.
func (q *quantity) Type() string { return "quantity" }

// Set reads a number with its unit, or two and .. between them.
func (q *quantity) Set(text string) error {
	low, high, isRange := strings.Cut(text, "..")
	if isRange && q.whole {
		return fmt.Errorf("want %s", q.kind)
	}
	from, err := q.parse(low)
	if err != nil {
		return err
	}
	value := cost.Exact(from)
	if isRange {
		to, err := q.parse(high)
		if err != nil {
			return err
		}
		if to < from {
			return fmt.Errorf("%s is less than %s: want the smaller one first", high, low)
		}
		value = cost.Within(from, to)
	}
	q.value, q.text, q.given = value, text, true
	return nil
}

func (q *quantity) parse(word string) (float64, error) {
	number := strings.TrimRightFunc(word, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	factor, known := q.units[word[len(number):]]
	x, err := strconv.ParseFloat(number, 64)
	if !known || err != nil || math.IsNaN(x) || math.IsInf(x*factor, 0) || !(x > 0) {
		return 0, fmt.Errorf("want %s", q.kind)
	}
	return x * factor, nil
}

// asked returns the value, nil where none was given.
func (q *quantity) asked() *cost.Value {
	if !q.given {
		return nil
	}
	v := q.value
	return &v
}
