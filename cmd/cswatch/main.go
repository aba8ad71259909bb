// Command cswatch tells whether a Linux kernel still trusts its fast clock, whether it was right to stop, what that costs and what cures it.
package main

import "github.com/cswatch/cswatch/internal/cli"

func main() {
	cli.Main()
}
