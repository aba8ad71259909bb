package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Names in the folder of a campaign.
const (
	indexName  = "index.jsonl"
	lockName   = "lock"
	trialsName = "trials"
	resultName = "result.json" // in the folder of a trial
	newEnding  = ".new"        // of a file or folder, after a dot, that is not whole yet
)

// Scratch is a folder beside the trials for what their owner may make again, such as
// saved states of machines. The store does not look into it.
const Scratch = "scratch"

// Limits, in bytes. The summary stands in a line of the index.
const (
	maxPlan    = 16 << 20
	maxSummary = 256 << 10
	maxRecord  = 64 << 20
	maxWhy     = 4 << 10
)

var (
	idForm   = regexp.MustCompile(`^[a-z0-9-][a-z0-9.-]{0,63}$`)
	fileForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$`)
	planForm = regexp.MustCompile(`^plan\.[a-z0-9]{1,16}$`)
)

// CheckID says what is wrong with the id of a trial.
func CheckID(id string) error {
	if !idForm.MatchString(id) {
		return fmt.Errorf("trial id %q: it must be 1 to 64 of a-z, 0-9, '.' and '-', and not begin with '.'", id)
	}
	return nil
}

func checkFileName(name string) error {
	if !fileForm.MatchString(name) || name == resultName {
		return fmt.Errorf("file name %q: it must be 1 to 128 of letters, digits, '.', '_' and '-', not begin with '.', and not be %s", name, resultName)
	}
	return nil
}

// newName is how a file or folder is called until it is whole.
func newName(name string) string { return "." + name + newEnding }

// begun returns the id of the trial whose outcome was to be written into a folder of this name.
func begun(folder string) (id string, ok bool) {
	rest, dotted := strings.CutPrefix(folder, ".")
	id, ending := strings.CutSuffix(rest, newEnding)
	return id, dotted && ending && CheckID(id) == nil
}

// readRegular reads a file of at most that size. What is no plain file is not
// opened: a link may lead out of the folder, and a pipe never ends.
func readRegular(name string, limit int64) ([]byte, error) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: it is no plain file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("read %s: it is of %d bytes, more than the %d that it may have", name, info.Size(), limit)
	}
	return os.ReadFile(name)
}

// findPlan returns the name of the plan in a campaign's folder.
func findPlan(dir string) (string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	found := ""
	for _, e := range all {
		switch {
		case !planForm.MatchString(e.Name()):
		case found != "":
			return "", fmt.Errorf("%s has two plans, %s and %s: move away the one that is not the campaign's", dir, found, e.Name())
		default:
			found = e.Name()
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s: the plan is not there (plan.* as it was when the campaign was created): put it back", dir)
	}
	return found, nil
}

func isFolder(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}

// listTrials returns the names in the folder of the trials.
func listTrials(dir string) ([]string, error) {
	all, err := os.ReadDir(filepath.Join(dir, trialsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name()
	}
	return names, nil
}
