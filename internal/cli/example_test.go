package cli_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/cswatch/cswatch/internal/cli"
)

// A wrong command line is exit code 2 and a sentence on the error stream.
func ExampleRun() {
	code := cli.Run([]string{"version", "--format", "xml"}, strings.NewReader(""), os.Stdout, os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// cswatch: invalid argument "xml" for "--format" flag: want text or json
	// cswatch: see 'cswatch version --help'
	// exit code 2
}
