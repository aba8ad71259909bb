// Package burst fits a model of read-delay episodes to counts of boots that
// ended with an unstable TSC, and tells what follows for the number of retries.
//
// The model: the number of episodes of slow reads that a check of the watchdog
// meets in one boot is Poisson with mean lambda; what is left of an episode when
// a check meets it covers k attempts or more with probability S(k); a boot is
// condemned if some met episode covers all attempts of a check, and R retries are
// R+1 attempts. Hence P(R) = 1 - exp(-lambda S(R+1)). [Families] are the forms of S:
// exponential, Pareto, Lomax, log-normal and a mixture of two exponentials.
//
// Counts identify lambda and S in that product, and nothing else: not how often
// episodes happen (most fall between two checks), nor how many checks a boot has.
// [Examine] fits, compares, predicts each row from the others and recommends, or
// refuses where the counts cannot carry a conclusion.
//
// The package reads counts from an io.Reader. It does not simulate watchdogs, and
// it does not know why reads were slow.
package burst
