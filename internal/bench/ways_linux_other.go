//go:build linux && !amd64 && !arm64

package bench

// orderedInstruction is none.
const orderedInstruction = ""

// loopWays returns no ways: there is no assembly for this architecture.
func loopWays([]string, bool) (ways []way, absent string) {
	return nil, ""
}
