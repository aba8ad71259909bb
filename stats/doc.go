// Package stats turns counts into numbers with intervals: proportions and
// their differences, exact tail probabilities, and likelihoods that are
// maximised and profiled where the usual approximations give out.
//
// Boots are expensive and the interesting ones are rare, so that cells with no
// event, or with nothing but events, are the rule. Every function here is
// exact or well behaved there: [Wilson] and [ClopperPearson] never leave 0 to 1
// and never shrink to a point, [Maximise] needs no derivative and finds a maximum
// that lies on the edge, [ProfileInterval] says where an interval has no end.
// [CochranArmitage] has exact p values beside the usual ones, [QuantileRanks] and
// [MedianInterval] suppose no distribution, [MeanInterval] is Student's.
// Each function names the paper or the book that it follows.
//
// The package draws no random numbers, keeps no state and knows nothing of
// clocks. It has no tests of means, no regression and no distributions of its own:
// special functions come from Gonum's package mathext.
package stats
