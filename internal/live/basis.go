package live

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/trace"
)

// Basis is what the machine says of its kernel and its build that shapes a
// check. The zero value is a machine that says nothing: 250 Hz and one node.
type Basis struct {
	HZ     int    // CONFIG_HZ, 0 where it is not known
	HZFrom string // the file that says so
	// Nodes are the NUMA nodes that have CPUs and how far apart they are: one where the
	// kernel knows no others, none where its table cannot be read or understood.
	Nodes []trace.Node
}

const (
	assumedHZ = 250
	// Limits of files that are read whole: configurations have some 300 kB.
	maxConfig = 4 << 20
	maxNode   = 64 << 10
	maxNodes  = 1024
	nodePath  = "sys/devices/system/node"
)

// readBasis reads it from the root of a machine's files.
func readBasis(root fs.FS) Basis {
	b := Basis{Nodes: nodes(root)}
	b.HZ, b.HZFrom = configHZ(root)
	return b
}

// configHZ returns CONFIG_HZ of the running kernel and the file that tells it, 0 where none does.
func configHZ(root fs.FS) (hz int, from string) {
	names := []string{"proc/config.gz"}
	if release, err := readLine(root, "proc/sys/kernel/osrelease"); err == nil && fs.ValidPath(release) && !strings.Contains(release, "/") {
		names = append(names, "boot/config-"+release, "lib/modules/"+release+"/config")
	}
	for _, name := range names {
		f, err := root.Open(name)
		if err != nil {
			continue
		}
		var text io.Reader = f
		if strings.HasSuffix(name, ".gz") {
			if text, err = gzip.NewReader(io.LimitReader(f, maxConfig)); err != nil {
				text = bytes.NewReader(nil)
			}
		}
		hz = hzIn(io.LimitReader(text, maxConfig))
		_ = f.Close()
		if hz > 0 {
			return hz, "/" + name
		}
	}
	return 0, ""
}

// hzIn finds CONFIG_HZ in a kernel's configuration, 0 where it is not in it or not believable.
func hzIn(r io.Reader) int {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "CONFIG_HZ="); ok {
			if hz, err := strconv.Atoi(value); err == nil && hz >= 2 && hz <= 100_000 {
				return hz
			}
			return 0
		}
	}
	return 0
}

// nodes reads the table of node distances. The columns of each node's file are
// the online nodes, ascending; nodes without CPUs are left out. It is nil where
// there is no table that can be understood.
func nodes(root fs.FS) []trace.Node {
	text, err := readLine(root, nodePath+"/online")
	if errors.Is(err, fs.ErrNotExist) {
		return oneNode(root)
	}
	if err != nil {
		return nil
	}
	online, err := trace.ParseCPUs(text) // a list of nodes has the same form
	if err != nil || online.Count() == 0 || online.Count() > maxNodes {
		return nil
	}
	var found []trace.Node
	var columns []int // of the table, that have CPUs
	for n, column := online.First(), 0; column < online.Count(); n, column = online.Next(n), column+1 {
		row, err := nodeRow(root, n, online.Count())
		if err != nil {
			return nil
		}
		list, err := readLine(root, fmt.Sprintf("%s/node%d/cpulist", nodePath, n))
		if err != nil {
			return nil
		}
		if list == "" { // memory alone
			continue
		}
		cpus, err := trace.ParseCPUs(list)
		if err != nil {
			return nil
		}
		found, columns = append(found, trace.Node{CPUs: cpus, Distances: row}), append(columns, column)
	}
	if len(found) > trace.MaxNodes {
		return nil
	}
	for i := range found {
		row := make([]int, 0, len(columns))
		for _, c := range columns {
			row = append(row, found[i].Distances[c])
		}
		found[i].Distances = row
	}
	return found
}

// oneNode is the node of a kernel without CONFIG_NUMA, to which all CPUs are equally near.
func oneNode(root fs.FS) []trace.Node {
	text, err := readLine(root, "sys/devices/system/cpu/possible")
	if err != nil {
		return nil // no sysfs, which tells nothing
	}
	cpus, err := trace.ParseCPUs(text)
	if err != nil || len(cpus) == 0 {
		return nil
	}
	return trace.OneNode(cpus)
}

// nodeRow reads the distances of one node to all of them.
func nodeRow(root fs.FS, node, want int) ([]int, error) {
	text, err := readLine(root, fmt.Sprintf("%s/node%d/distance", nodePath, node))
	if err != nil {
		return nil, err
	}
	var row []int
	for _, word := range strings.Fields(text) {
		d, err := strconv.ParseUint(word, 10, 8) // the firmware's table has bytes
		if err != nil {
			return nil, err
		}
		if d < 10 { // which is the node itself
			return nil, fmt.Errorf("read the distances of node %d: %d is no distance", node, d)
		}
		row = append(row, int(d))
	}
	if len(row) != want {
		return nil, fmt.Errorf("read the distances of node %d: %d of %d nodes", node, len(row), want)
	}
	return row, nil
}

// readLine reads a small file without the blanks around it.
func readLine(root fs.FS, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxNode))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return strings.TrimSpace(string(b)), err
}
