// Command testsum runs go test and sums up what it says: the output of failed
// tests and go test's own closing lines as they come, and at the end which
// tests were skipped, why, and how many passed, failed and were skipped.
//
// Usage: testsum [ARGUMENT OF GO TEST]...
//
// go test alone tells of skipped tests only with -v, between thousands of other
// lines, and so a machine that lacks something looks as well tested as one that does not.
package main

import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "testsum: start go test: %v\n", err)
		os.Exit(1)
	}
	s := newSummary(os.Stdout)
	readErr := s.read(out)
	waitErr := cmd.Wait()
	s.print()
	switch {
	case readErr != nil:
		fmt.Fprintf(os.Stderr, "testsum: read the output of go test: %v\n", readErr)
		os.Exit(1)
	case waitErr != nil || s.failed > 0:
		os.Exit(1)
	case s.passed == 0:
		fmt.Fprintln(os.Stderr, "testsum: no test was run")
		os.Exit(1)
	}
}
