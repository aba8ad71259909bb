// Package docs holds no code: its tests keep the pages of the folder docs true.
//
// They check that links lead somewhere, that every finding, every kind of event
// and every JSON key has its place, that example lines are of the container that
// they stand for, that command lines parse, that shown output is what the
// program prints, and that the table of eras is the one of package watchdog.
// "go test ./internal/docs -update" writes the table and the shown output anew.
//
// The tests do not judge prose, and they reach no address outside of the
// repository.
package docs
