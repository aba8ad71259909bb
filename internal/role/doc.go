// Package role lets a program start itself once more in another role: as the child that
// reads ports, as the guardian of a clocksource, as a command that is held.
//
// A package has a [Role] for each, with an environment variable of its own, and a
// function that the program's main calls first, which asks [Role.Taken]. Of a program that does not call it,
// [Role.Command] refuses to start another one: that would do the first one's work again.
//
// What a role does, and how it talks to who started it, is the matter of its package.
package role
