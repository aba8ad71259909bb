package klog

import "github.com/cswatch/cswatch/event"

// message is one row of the message table: a format, what it means and where it comes from.
type message struct {
	kind event.Kind
	// prefix is what the kernel puts before the text, "clocksource: ". It is
	// optional when reading: posters cut it, older kernels lack it.
	prefix string
	text   string // the pattern
	level  int8   // printk level of the newest release that prints it
	life   string // mainline releases that print it
	// reads says how a row is read. The zero value is the message from its beginning.
	reads reading
	// detail is set as Event.Detail where the pattern has no free part.
	detail string
	// wording names the row among those that say the same in different releases,
	// by a text of clocksource.Rules. Of rows without one the first is printed.
	wording string

	compiled pattern
}

// reading says where in a line a row may match.
type reading uint8

const (
	fromStart reading = iota
	// variant rows are forms seen in the wild that no kernel prints in full: cut
	// at the left, typed by hand, of vendor kernels. They are read, never printed.
	variant
	// anywhere rows match at any place of the line. They name trouble whose exact
	// prefix differs between subsystems and releases. Read, never printed.
	anywhere
	// daemon rows are lines of user-space time daemons, read only in records that name one.
	daemon
)

// messages returns the whole table, the more exact rows first.
func messages() []message {
	var all []message
	for _, part := range [][]message{clocksourceMessages(), tscMessages(), clockMessages(), machineMessages(), troubleMessages(), lookAlikeMessages(), daemonMessages()} {
		all = append(all, part...)
	}
	return all
}

// Levels of printk.
const (
	alert  = 1
	errlvl = 3
	warn   = 4
	info   = 6
)

// indent is the indentation of the lines of a skew block, 4.1 to 7.0.
const indent = "                      "
