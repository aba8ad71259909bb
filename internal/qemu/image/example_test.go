package image_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/qemu/image"
)

// A file that is no kernel is told apart from a damaged one.
func ExampleInspect() {
	text := "#!/bin/sh\n"
	_, err := image.Inspect(strings.NewReader(text), int64(len(text)))
	fmt.Println(errors.Is(err, image.ErrNoKernel))
	fmt.Println(err)
	// Output:
	// true
	// no kernel image of the x86 architecture: it has neither a bzImage's header nor an ELF file's
}
