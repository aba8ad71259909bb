// Package report writes results for people and for the programs that watch
// machines for them: a diagnosis as text, as JSON, as a Nagios plugin's output
// and as a node-problem-detector plugin's output, several diagnoses as a table,
// the events of a kernel log as a timeline, what a recording holds and what the
// watchdogs of several eras made of it (a replay) as tables and JSON, a watch
// over live counters as text, as a screen that is drawn in place and as JSON Lines,
// and what the trials of a campaign came to as text, JSON, CSV and a chart.
//
// What a report shows was written by others: log lines, host names, file names.
// It is made safe first, so that nothing in a log can move a terminal's cursor,
// reorder a line or begin a new one (see [Safe]). Lines that repeat kernel
// wording carry the prefix "cswatch(SOURCE): " and are never wrapped, so that no
// reader of logs, cswatch included, takes them for the kernel's own. SOURCE is the
// file that is quoted, "live" for what was read of live counters, or the name
// of the command whose own words would be mistaken.
//
// The package judges nothing, reads no files and knows no terminal: width,
// colour and character set are the caller's to decide.
package report
