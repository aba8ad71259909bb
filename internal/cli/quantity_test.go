package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/cost"
)

func TestQuantitiesAreReadWithTheirUnitsAndAsRanges(t *testing.T) {
	cases := []struct {
		kind func() *quantity
		text string
		want cost.Value
	}{
		{rateQuantity, "13Gbit", cost.Exact(13e9)},
		{rateQuantity, "940Mbit/s", cost.Exact(940e6)},
		{rateQuantity, "1e9", cost.Exact(1e9)},
		{rateQuantity, "12Gbit..14Gbit", cost.Value{Value: 13e9, Low: 12e9, High: 14e9}},
		{timeQuantity, "7.2ns", cost.Exact(7.2)},
		{timeQuantity, "1.5us", cost.Exact(1500)},
		{timeQuantity, "1.5µs", cost.Exact(1500)},
		{shareQuantity, "50%", cost.Exact(0.5)},
		{shareQuantity, "0.25", cost.Exact(0.25)},
		{numberQuantity, "10..14", cost.Value{Value: 12, Low: 10, High: 14}},
		{func() *quantity { return sizeQuantity("1") }, "64KiB", cost.Exact(65536)},
		{func() *quantity { return sizeQuantity("1") }, "1448", cost.Exact(1448)},
	}
	for _, c := range cases {
		q := c.kind()
		if err := q.Set(c.text); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, q.value); diff != "" || !q.given || q.String() != c.text {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestWhatIsNoQuantityIsRefused(t *testing.T) {
	for text, kind := range map[string]func() *quantity{
		"": rateQuantity, "Gbit": rateQuantity, "13Gb": rateQuantity, "-1Gbit": rateQuantity, "0": rateQuantity, "1e400": rateQuantity,
		"2Gbit..1Gbit": rateQuantity, "1Gbit..": rateQuantity, "NaN": numberQuantity, "20": timeQuantity, "1m": timeQuantity,
		"64KiB..65KiB": func() *quantity { return sizeQuantity("1") },
	} {
		if err := kind().Set(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
