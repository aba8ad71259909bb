package house

import (
	"fmt"
	"strings"
)

// Listed is what the go command lists of a package.
type Listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	Imports    []string
	// Imports of the test files, inside the package and beside it.
	TestImports, XTestImports []string
}

// tolerated lists imports that other people's packages below the core may have
// although the core itself may not, with the reason. What is not listed here is
// held to the core's own ban on the world: nothing below the core opens a file
// or a socket.
func tolerated() map[string]string {
	return map[string]string{
		"github.com/ulikunitz/xz/internal/xlog os": "only names os.Stderr for a logger that is off",
		"github.com/klauspost/compress/zstd log":   "only prints in builds with its own debug constant set",
	}
}

// CheckReach reports packages of other modules that a core package reaches and
// that import what touches the world. Reachable packages of the standard
// library are no matter: see bans. packages is everything that the go command lists.
func CheckReach(corePath string, packages map[string]Listed) []Violation {
	world := map[string]bool{"os": true, "net": true, "syscall": true, "plugin": true, "log": true, "log/slog": true}
	var found []Violation
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		p, listed := packages[path]
		if seen[path] || !listed || p.Standard {
			return
		}
		seen[path] = true
		foreign := path != Module && !strings.HasPrefix(path, Module+"/")
		for _, imported := range p.Imports {
			_, known := tolerated()[path+" "+imported]
			touches := world[imported] || strings.HasPrefix(imported, "net/") || strings.HasPrefix(imported, "os/") ||
				strings.HasPrefix(imported, "golang.org/x/sys/")
			if foreign && touches && !known {
				found = append(found, Violation{corePath, fmt.Sprintf("reaches %s, which imports %s", path, imported),
					"the core touches no files, sockets or processes, neither itself nor through a dependency"})
			}
			visit(imported)
		}
	}
	visit(corePath)
	return found
}
