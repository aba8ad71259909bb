// Package watchdog knows how the clocksource watchdog of every Linux kernel
// from 2.6.18 to 7.3 behaves.
//
// An [Era] is a range of releases whose watchdog behaves alike. A [Profile] is
// an era as data: how it reads, how often it reads again, which limits it
// applies and what it does when a limit is passed. [EraOf] finds the eras of a
// release, and [Detect] those of a machine from everything that names its
// kernel; both answer with candidates and reasons where one era is not certain.
// [TSCWatched] and [LatencyCanCondemn] tell from there whether the TSC of a
// machine is watched at all and whether slow reads alone can cost it the TSC.
//
// The package reads no clock, no file and no log, and knows no time.
package watchdog
