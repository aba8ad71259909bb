package role_test

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/role"
)

// Main asks for the role before it does anything else.
func Example() {
	guardian := role.New("EXAMPLE_GUARDIAN", "guard the example", "example.Main")
	if _, taken := guardian.Taken(); taken {
		return // after the guardian's work
	}
	c, err := guardian.Command("what to guard", "(guards the example)")
	fmt.Println(c.Path, err)
	// Output: /proc/self/exe <nil>
}
