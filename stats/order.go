package stats

import "math"

// QuantileRanks returns the ranks (1 is the smallest of n values) between which a
// quantile of the distribution lies with the given confidence or more, whatever the
// distribution is. With few values the ranks are 1 and n, which then may reach less:
// for a median with 95 % it takes 6. Both are 0 where there is no value, or where q or confidence is not
// between 0 and 1.
//
// The number of values below the true quantile is binomial; the two ends are ranks
// that it falls short of, or passes, with half of what is left.
//
// Source: David and Nagaraja, Order Statistics, third edition, 7.1.
func QuantileRanks(n int, q, confidence float64) (low, high int) {
	between := func(p float64) bool { return !math.IsNaN(p) && p > 0 && p < 1 }
	if n <= 0 || !between(q) || !between(confidence) {
		return 0, 0
	}
	tail := (1 - confidence) / 2
	below := func(k int) float64 { // P(fewer than k)
		if k == 0 {
			return 0
		}
		return BinomialAtMost(Count{Events: k - 1, Trials: n}, q)
	}
	low = leastRank(n, func(k int) bool { return below(k) > tail }) - 1
	high = leastRank(n, func(k int) bool { return below(k) >= 1-tail })
	return max(low, 1), max(high, 1)
}

// leastRank returns the least k of 0 to n for which f holds, and n where it never does.
func leastRank(n int, f func(int) bool) int {
	low, high := 0, n
	for low < high {
		if middle := low + (high-low)/2; f(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
