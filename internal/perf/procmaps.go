package perf

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxMaps is how many lines of one /proc/PID/maps are read: four times the kernel's default limit.
const maxMaps = 1 << 18

// parseMaps reads the executable mappings of a /proc/PID/maps (proc(5)). A line
// that cannot be read ends it with an error; what came before is returned, too.
func parseMaps(r io.Reader) ([]Mapping, error) {
	var maps []Mapping
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<16)
	for n := 1; lines.Scan(); n++ {
		if n > maxMaps {
			return maps, fmt.Errorf("read mappings: more than %d lines", maxMaps)
		}
		m, executable, err := parseMapsLine(lines.Text())
		if err != nil {
			return maps, fmt.Errorf("read mappings: line %d: %w", n, err)
		}
		if executable {
			maps = append(maps, m)
		}
	}
	if err := lines.Err(); err != nil {
		return maps, fmt.Errorf("read mappings: %w", err)
	}
	return maps, nil
}

func parseMapsLine(line string) (m Mapping, executable bool, err error) {
	fields := make([]string, 5)
	rest := line
	for i := range fields {
		rest = strings.TrimLeft(rest, " ")
		fields[i], rest, _ = strings.Cut(rest, " ")
	}
	bad := func(what string) (Mapping, bool, error) {
		return Mapping{}, false, fmt.Errorf("%q: no %s", line, what)
	}
	first, last, _ := strings.Cut(fields[0], "-")
	start, err := strconv.ParseUint(first, 16, 64)
	if err != nil {
		return bad("start of a range")
	}
	end, err := strconv.ParseUint(last, 16, 64)
	if err != nil || end <= start {
		return bad("end of a range")
	}
	if len(fields[1]) != 4 {
		return bad("permissions")
	}
	offset, err := strconv.ParseUint(fields[2], 16, 64)
	if err != nil {
		return bad("offset")
	}
	major, minor, _ := strings.Cut(fields[3], ":")
	high, err := strconv.ParseUint(major, 16, 32)
	if err != nil {
		return bad("device")
	}
	low, err := strconv.ParseUint(minor, 16, 32)
	if err != nil {
		return bad("device")
	}
	inode, err := strconv.ParseUint(fields[4], 10, 64)
	if err != nil {
		return bad("inode")
	}
	return Mapping{
		Start: start, Length: end - start, Offset: offset, Device: high<<32 | low, Inode: inode,
		Name: strings.TrimLeft(rest, " "),
	}, fields[1][2] == 'x', nil
}
