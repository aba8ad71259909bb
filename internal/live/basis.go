package live

import (
	"bufio"
	"bytes"
	"compress/gzip"
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
	// Distance tells how far apart the NUMA nodes of two CPUs are, in the unit of the
	// firmware's table (10 is the same node); nil where there is one node.
	Distance func(a, b int) int
}

const (
	assumedHZ = 250
	// Limits of files that are read whole: configurations have some 300 kB.
	maxConfig = 4 << 20
	maxNode   = 64 << 10
	nodePath  = "sys/devices/system/node"
)

// readBasis reads it from the root of a machine's files.
func readBasis(root fs.FS) Basis {
	b := Basis{Distance: distances(root)}
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

// distances reads the table of node distances. The columns of each node's file are
// the online nodes, ascending. It is nil where there is one node, or no table that can be understood.
func distances(root fs.FS) func(a, b int) int {
	text, err := readLine(root, nodePath+"/online")
	if err != nil {
		return nil
	}
	online, err := trace.ParseCPUs(text) // a list of nodes has the same form
	if err != nil || online.Count() < 2 {
		return nil
	}
	node := map[int]int{} // of each CPU: its row
	var table [][]int
	for n, left := online.First(), online.Count(); left > 0; n, left = online.Next(n), left-1 {
		row, err := nodeRow(root, n, online.Count())
		if err != nil {
			return nil
		}
		list, err := readLine(root, fmt.Sprintf("%s/node%d/cpulist", nodePath, n))
		if err != nil {
			return nil
		}
		if list != "" { // nodes of memory have no CPUs
			cpus, err := trace.ParseCPUs(list)
			if err != nil {
				return nil
			}
			for cpu, left := cpus.First(), cpus.Count(); left > 0; cpu, left = cpus.Next(cpu), left-1 {
				node[cpu] = len(table)
			}
		}
		table = append(table, row)
	}
	return func(a, b int) int {
		from, ok1 := node[a]
		to, ok2 := node[b]
		if !ok1 || !ok2 {
			return 0 // came online since: as if there were one node
		}
		return table[from][to]
	}
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
