// Package cost is the arithmetic of what reading the clock costs a transfer:
// nanoseconds per read times reads per segment.
//
// The model is one line. On the CPU that limits a transfer, a segment takes
//
//	T = T0 + k c
//
// where c is what one read of the clock takes inside the kernel, k how often this CPU
// reads it for each segment, and T0 all the rest, which another clocksource does not
// change. A throughput R in segments of B bytes is 8 B / R per segment. So
// [Predict] computes from the throughput under one clocksource, k and both prices what
// another one would make of it, and [Implied] from two throughputs what reading the clock must
// have cost, in two ways that check one another. [ReadsByCount] and [ReadsByShare]
// find k, [KernelRead] finds c.
//
// Every number is a [Value] with an interval, and intervals are carried by corners: a
// result's ends are the least and the greatest that the inputs can make of it while each lies in its own
// interval. So the result is within its interval if all inputs are, whatever they have to do with
// one another; of four independent intervals of 95 % that is the case more often than in 81 of 100, and
// the interval is wider than one of 95 % would be. A reader can compute each end by hand.
//
// What the model does not know: where something else limits the transfer
// (a device, the other CPU, a window), dearer reads cost less than it says, or nothing; where
// CPUs that read at once hold each other up, c is what a read takes then; and where a slower
// transfer makes other segments, k and B of one clocksource are not those of the other.
// Nothing is measured here.
package cost
