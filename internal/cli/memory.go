package cli

import "runtime/debug"

// boundMemory keeps a command that reads logs below 64 MiB whatever they are.
// The most that a reader needs at once is the 32 MiB window of a compressed
// file; without this the collector would let garbage of the same size pile up
// beside it. The user's GOGC and GOMEMLIMIT go first.
func boundMemory(env *Env) {
	if env.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(48 << 20)
	}
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}
