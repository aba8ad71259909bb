// Package report writes results for people and for the programs that watch
// machines for them: a diagnosis as text, as JSON, as a Nagios plugin's output
// and as a node-problem-detector plugin's output, several diagnoses as a table,
// and the events of a kernel log as a timeline.
//
// What a report shows was written by others: log lines, host names, file names.
// It is made safe first, so that nothing in a log can move a terminal's cursor,
// reorder a line or begin a new one (see [Safe]). Lines that repeat kernel
// wording carry the prefix "cswatch(SOURCE): " and are never wrapped, so that no
// reader of logs, cswatch included, takes them for the kernel's own.
//
// The package judges nothing, reads no files and knows no terminal: width,
// colour and character set are the caller's to decide.
package report
