// Package house checks the rules by which this repository is built, where no
// compiler does: which package may import which, what the pure core may not
// touch, that every package is documented, that every dependency is accounted
// for, and that the files speak of nothing but the project.
//
// Each rule carries the reason for it, and a violation prints the reason. The
// checkers are ordinary functions over parsed source, so that their own tests
// can show them a small package that breaks a rule.
//
// The package is used by its tests only. It does not judge style that gofmt,
// go vet or staticcheck judge, and it cannot see through a pointer: state that
// hides behind an alias of a package-level variable escapes it.
package house
