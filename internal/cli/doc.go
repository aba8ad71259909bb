// Package cli is the command line of cswatch: one file per command, and each
// command only turns flags into a call and the result into text or JSON.
//
// Conventions that every command shares live here too: the streams and the
// surroundings of a run ([Env]), exit codes ([ExitError]), colour, the choice
// of an output format, and the configuration file ([Config]).
//
// The package judges nothing and measures nothing; what it prints was worked
// out by the packages below it. It also never calls os.Exit except in [Main],
// so that a test can run any command through [Run].
package cli
