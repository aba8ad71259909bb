package newc_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/internal/qemu/newc"
)

// An archive with one program that the kernel starts as process 1.
func ExampleWriter() {
	const program = "#!/bin/sh\n"
	var b bytes.Buffer
	a := newc.NewWriter(&b)
	err := a.Add(newc.Entry{Name: "init", Kind: newc.File, Perm: 0o755, Size: int64(len(program))}, strings.NewReader(program))
	if err == nil {
		err = a.Close()
	}
	fmt.Println(b.Len(), err)
	// Output: 252 <nil>
}
