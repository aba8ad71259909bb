package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/cswatch/cswatch/internal/unpack"
)

// LogProblem is what stood in the way of reading a log, or a part of it.
type LogProblem struct {
	Name string // of the log, within its root
	Err  error
}

func (p LogProblem) Error() string { return fmt.Sprintf("log %s: %v", unpack.Shown(p.Name), p.Err) }

// Unwrap returns Err.
func (p LogProblem) Unwrap() error { return p.Err }

// listLogs finds the kernel logs in a tree, in reading order, and tells which
// names of logs lead to none and how many logs are too many.
func listLogs(fsys fs.FS) (logs []string, problems []LogProblem) {
	listed := make(map[string]bool)
	for _, g := range logGlobs {
		dir := path.Dir(g)
		if listed[dir] {
			continue
		}
		listed[dir] = true
		names, err := readNames(fsys, dir, maxDirEntries)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, LogProblem{dir, why(err)})
		}
		for _, name := range names {
			name = path.Join(dir, name)
			if _, isLog := logRank(name); !isLog {
				continue
			}
			info, err := fs.Stat(fsys, name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				problems = append(problems, LogProblem{name, errDangling})
			case err != nil:
				problems = append(problems, LogProblem{name, why(err)})
			case info.Mode().IsRegular():
				logs = append(logs, name)
			case !info.IsDir():
				problems = append(problems, LogProblem{name, errSpecial})
			}
		}
	}
	sortLogs(logs)
	if n := len(problems); n > maxLogs {
		problems = append(problems[:maxLogs:maxLogs], LogProblem{problems[maxLogs].Name, fmt.Errorf("and %d more: %w", n-maxLogs-1, problems[maxLogs].Err)})
	}
	if n := len(logs) - maxLogs; n > 0 {
		problems = append(problems, LogProblem{logs[0], fmt.Errorf("not read, like the %d that follow it in age: of %d logs the newest %d are read", n-1, len(logs), maxLogs)})
		logs = logs[n:]
	}
	return logs, problems
}

// readNames returns up to limit names of a folder, sorted.
func readNames(fsys fs.FS, name string, limit int) ([]string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "list", Path: name, Err: errors.New("not a folder")}
	}
	entries, err := d.ReadDir(limit)
	if err == io.EOF { // an empty folder
		err = nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, err
}

// listDir returns what can be read of the names of a folder.
func listDir(fsys fs.FS, name string, limit int) []string {
	names, _ := readNames(fsys, name, limit)
	return names
}

// why takes the operation and the name out of an error of a file system.
func why(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}
