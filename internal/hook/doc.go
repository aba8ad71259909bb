// Package hook tells programs and services of events, so that a machine which nobody scrapes is served, too.
//
// An [Event] is one thing that somebody should hear of at once: the kernel took another clocksource,
// gave one up, time ran backwards, a status changed. A [Command] is run for it, with the event in its
// environment and on its standard input; a [Webhook] posts it to a URL. Each stands behind a [Queue] of its own, which
// is bounded, keeps the order, and is emptied by its own goroutine, so that a slow receiver holds up nothing.
//
// An event is told at least once: a program that is ended while it tells one is to tell it again when it is
// started anew, and the receiver knows it by its id. What becomes of an event is an [Outcome] and a
// line of the log, never an error of the program: a receiver that is down must not harm the one who watches.
//
// The package decides nothing of what an event is, and keeps nothing on disk: the caller numbers the events, and
// learns by a callback up to which number they were told.
package hook
