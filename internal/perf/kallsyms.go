package perf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Bounds on the kernel's list of symbols. A distribution kernel has about 200 000, one line each.
const (
	maxKernelSymbols = 1 << 21
	maxKernelNames   = 128 << 20
	// maxFunction is how far the last function before a gap may reach, as between the kernel and its modules.
	maxFunction = 1 << 20
)

// errHidden is the error of a list whose addresses are all zero.
var errHidden = errors.New("all addresses are zero: the kernel hides them from this process")

// parseKallsyms reads the functions of the kernel and its modules from text in
// the form of /proc/kallsyms: address, type, name and, for a module, its name in brackets.
func parseKallsyms(r io.Reader) (*symbols, error) {
	var list []symbol
	names, read := 0, 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<16)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if read++; read > maxKernelSymbols {
			return nil, fmt.Errorf("read the kernel's symbols: more than %d", maxKernelSymbols)
		}
		if len(fields) < 3 || len(fields[1]) != 1 {
			return nil, fmt.Errorf("read the kernel's symbols: line %d: %q: want an address, a type and a name", read, lines.Text())
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read the kernel's symbols: line %d: %q: no address", read, lines.Text())
		}
		if address == 0 {
			continue
		}
		// The padding before a function is its own; it is met in call chains only, where a
		// function that was reached by a return trampoline looks as if it had been called from there.
		s := symbol{start: address, name: strings.TrimPrefix(fields[2], "__pfx_")}
		if len(fields) > 3 {
			s.object = fields[3]
		}
		switch fields[1] {
		case "T":
		case "t":
			s.rank = 1
		case "W", "w":
			s.rank = 2
		default:
			s.rank = 3 // data: no answer, but the end of the function before
		}
		if boundary(s.name) {
			s.rank = 3
		}
		if names += len(s.name); names > maxKernelNames {
			return nil, fmt.Errorf("read the kernel's symbols: more than %d bytes of names", maxKernelNames)
		}
		list = append(list, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	switch {
	case len(list) == 0 && read > 0:
		return nil, fmt.Errorf("read the kernel's symbols: %w", errHidden)
	case len(list) == 0:
		return nil, errors.New("read the kernel's symbols: the list is empty")
	}
	return newSymbols(list, maxFunction, func(s *symbol) bool { return s.rank < 3 }), nil
}

// boundary tells the names that mark where sections begin and end, and are no functions.
func boundary(name string) bool {
	switch name {
	case "_text", "_stext", "_etext", "_sinittext", "_einittext", "__init_begin", "__init_end":
		return true
	}
	return false
}

// findNames tells which names a list in the form of /proc/kallsyms has, nil where it is
// empty or cannot be read to its end.
func findNames(r io.Reader, names []string) map[string]bool {
	found := map[string]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<16)
	read := 0
	for ; lines.Scan(); read++ {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 3 && slices.Contains(names, fields[2]) {
			found[fields[2]] = true
		}
		if read > maxKernelSymbols {
			return nil
		}
	}
	if lines.Err() != nil || read == 0 {
		return nil
	}
	return found
}
