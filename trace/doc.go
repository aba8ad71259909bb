// Package trace keeps recordings of read-backs and answers from one recording
// what the watchdog of every era would have decided.
//
// A recording is a [Header] and [Tick] records. Each tick holds up to
// Header.ReadBacks read-backs (reference, clock, reference, reference) of the CPU
// in turn and of the boot CPU, also those behind a good one, and a comparison of
// the clock with another CPU. So it answers eras that rotate over the CPUs and
// those that do not, and every retry count up to ReadBacks-1. [Writer] and
// [Reader] stream two forms that hold the same: a compact binary one, whose frames
// carry checksums, and JSON Lines. A recording that was cut at any byte reads up
// to its last whole tick, and [DamageError] says how much is lost. A tick in the
// binary form is coded against the ticks before it, so that nothing behind a
// damaged frame can be used. JSON Lines have no checksums: keep the binary form.
//
// [Recorder] makes the ticks while a watchdog of any era runs; the comparisons
// between CPUs are those that 7.1 and later would ask for at that tick, so that a
// replay of those finds them. [Replay] runs a watchdog over the ticks.
//
// # Which answers are exact
//
// A recording is an open loop: what the replayed watchdog decides changes nothing
// in it. An answer is exact if the era's watchdog, started at the first recorded
// tick, would have decided this, to the last number. Otherwise the [Result]
// carries a [Doubt] and a sentence. Three things are taken for granted: that taking
// more read-backs than an era does not change the first ones, that the few
// microseconds by which a read-back stands behind others of the same tick are no
// matter, and that a kernel would have condemned nothing at a tick at which only
// user space was late. The rules:
//
//   - CPU. An era that rotates (E1 to E11) uses the read-backs of the CPU in turn,
//     one that does not (E0, E12) those of the boot CPU, which are in Tick.Boot, or
//     in Tick.Reads where the boot CPU is in turn. A rotation begins at the CPU of
//     the first tick. If the era would have read on a CPU that was not recorded,
//     the other series is used: approximate, "cpu".
//   - Attempts. As many as the era and its retries ask for. Beyond those recorded
//     the last one is repeated: approximate, "attempts". An answer that was found
//     within them is exact, whatever the retries. The number of online CPUs, on
//     which retries depend from 6.9 on, is that of the tick.
//   - Order of reading. Recorded wd,cs,wd,wd holds wd,cs,wd (E5 and E12) and, in its
//     middle, cs,wd (E2 to E4): these are exact. E0 and E1 read the reference once a
//     tick and then the clocks: exact for the first clock, whose first two reads
//     these are; approximate, "pattern", for further ones, which were read later
//     behind it than in the era. Recorded wd,cs,wd is exact for E2 to E5 and E12, and
//     for the eras with a third read where the first attempt was good; otherwise no
//     skip can be told: "pattern". Recorded cs,wd is exact for E2 to E4 alone: to E0
//     and E1 the read order differs, and for all later eras no read-back delay is known.
//   - Delays and intervals are computed from the raw cycles with the setup's own
//     conversion, delta rule and margins: exact.
//   - Timer. The era's timer starts due at the first tick. If it would have expired
//     at another time than the recorded tick, the answer is approximate, "timer":
//     so after a late tick with a release that counts from now on (7.3.4) and after
//     an interval that was too long (6.8 to 7.0). Less than one tick of HZ is the
//     same time. Recorded ticks more than half of the recording's interval before the
//     era's next check are passed over, and give no result: those during the pause of five
//     minutes after a skip (6.3 to 7.0) and, in a recording with a shorter interval,
//     those between two checks. The pause ends at a recorded tick, whose answer is
//     exact again if the rotation of the CPUs comes out even: it does for 2, 3, 4,
//     5, 6, 8, 10, 12 CPUs and every other number that divides 600.
//   - Gaps. Checks of the era that fall between two recorded ticks, and ticks that
//     lack the read-backs of a clock, are counted as run with an unknown outcome:
//     approximate, "gap", at the next tick.
//   - Resets are of the recording: the next tick that runs takes new pairs, as the era does.
//   - Exchange (E12). The rotation over the other CPUs begins where the recorder's
//     was when the era first asks. The answer is exact if the recorded comparison is
//     of the same two CPUs and complete or, against the era's time-out, certainly
//     timed out. If none was recorded, it is taken to be good; if it is of another
//     CPU, it is used: approximate, "exchange". With one CPU online none is asked for.
//     How long the era waits depends on Header.Nodes. Where the header names none and
//     is not simulated, one that timed out within the longest time is approximate.
//   - User space. Where the source is live, a tick is approximate, "user-space", if the
//     era got a read-back that was late because the recorder lost its CPU or was interrupted
//     (or may have been: see Header.InterruptsCounted), or if the other CPU came late or
//     not at all. If it condemned nothing, this doubt ends behind the next pair that is taken in time.
//   - What follows. The saved pair, a condemnation and the timer may come from an
//     approximate answer: all later ones about that clock are approximate,
//     "earlier". Where what is decided about one clock moves the timer or the
//     rotation of all (E7 to E12), this holds for all clocks.
//   - Condemned. Once the replay has condemned a clock, every later tick says
//     already-condemned, which is as exact as the condemnation was. What a machine
//     would have done differently with another clocksource is not known.
//
// # What the package does not do
//
// It reads no counters, opens no files and keeps no time: instants are those of
// whoever recorded. It does not flush: a Writer makes one call of Write for each
// tick. It prints nothing and does not compare eras.
package trace
