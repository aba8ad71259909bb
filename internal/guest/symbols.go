package guest

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Symbol is a function of the guest's kernel.
type Symbol struct {
	Name    string `json:"name"`
	Address uint64 `json:"address"` // where it begins; the same in every boot with nokaslr
}

// findSymbols returns those of the wanted symbols that a table in the form of
// /proc/kallsyms holds, in the order of the table. Modules' symbols, which have a
// fourth column, do not count. Addresses that the kernel hides, all zero, are an error.
func findSymbols(table io.Reader, wanted []string) ([]Symbol, error) {
	var found []Symbol
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || !slices.Contains(wanted, fields[2]) {
			continue
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read the kernel's symbols: %w", err)
		}
		if address == 0 {
			return nil, fmt.Errorf("read the kernel's symbols: the address of %s is hidden (kptr_restrict)", fields[2])
		}
		found = append(found, Symbol{Name: fields[2], Address: address})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	return found, nil
}
