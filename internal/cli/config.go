package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// systemConfig is the configuration file where the environment names none.
const systemConfig = "/etc/cswatch/config"

// Limits of a configuration file. A real one has a few lines; anything larger
// is the wrong file, such as a log named by mistake.
const (
	maxConfigBytes = 64 << 10
	maxConfigLine  = 4 << 10
)

// Config is what the configuration file sets. The zero value is no file; a
// flag of the command line goes before what the file says.
type Config struct {
	Path   string   // the file that was read, "" if there was none
	Ignore []string // ids of findings to suppress, in the file's order, without repeats
	Expect string   // the clocksource that the machine should run on, "" if nothing is expected
	FailOn string   // "warning" or "critical", "" if the file does not say
}

// LoadConfig reads the configuration file. $CSWATCH_CONFIG names it, and must
// then exist; else it is $XDG_CONFIG_HOME/cswatch/config if that exists, else
// /etc/cswatch/config if that exists. No file at all is no error. Every error
// names the file, and is the user's to mend.
func LoadConfig(getenv func(string) string) (Config, error) {
	open := func(path string) (io.ReadCloser, error) { return os.Open(path) }
	return loadConfig(getenv, open)
}

func loadConfig(getenv func(string) string, open func(string) (io.ReadCloser, error)) (Config, error) {
	paths, named := configPaths(getenv)
	for _, path := range paths {
		f, err := open(path)
		if !named && missing(err) {
			continue
		}
		if err != nil {
			return Config{}, &usageError{fmt.Errorf("read the configuration: %w", err)}
		}
		c, err := ParseConfig(path, f)
		f.Close()
		if err != nil {
			return Config{}, &usageError{err}
		}
		return c, nil
	}
	return Config{}, nil
}

// missing reports whether a path leads nowhere, also where one of its folders is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// configPaths lists where to look, and says whether the user named the file.
func configPaths(getenv func(string) string) (paths []string, named bool) {
	if p := getenv("CSWATCH_CONFIG"); p != "" {
		return []string{p}, true
	}
	// The XDG base directory specification has relative paths ignored.
	if d := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		paths = append(paths, filepath.Join(d, "cswatch", "config"))
	}
	return append(paths, systemConfig), false
}

// ParseConfig reads lines "key = value"; blank lines and what follows a "#" at
// the start of a line or after a blank are skipped. The name stands in errors
// and in the result. All bad lines are reported, each as name:line.
func ParseConfig(name string, r io.Reader) (Config, error) {
	limited := &io.LimitedReader{R: r, N: maxConfigBytes + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxConfigLine)
	c := Config{Path: name}
	var errs []error
	n := 0
	for lines.Scan() {
		n++
		if err := c.setLine(lines.Text()); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, n, err))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		errs = append(errs, fmt.Errorf("%s:%d: the line is longer than %d bytes", name, n+1, maxConfigLine))
	case err != nil:
		errs = append(errs, fmt.Errorf("read the configuration %s: %w", name, err))
	case limited.N == 0:
		errs = append(errs, fmt.Errorf("%s: larger than %d bytes: is it a configuration file?", name, maxConfigBytes))
	}
	if len(errs) > 0 {
		return Config{}, joinFirst(errs, 10)
	}
	return c, nil
}

// joinFirst joins the first errors and counts the rest: a log named by mistake has thousands.
func joinFirst(errs []error, limit int) error {
	if rest := len(errs) - limit; rest > 0 {
		errs = append(errs[:limit:limit], fmt.Errorf("... and %d more", rest))
	}
	return errors.Join(errs...)
}

// setLine takes in one line of the file.
func (c *Config) setLine(line string) error {
	line = strings.TrimSpace(stripComment(line))
	if line == "" {
		return nil
	}
	key, value, found := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case !found:
		return fmt.Errorf("want \"key = value\", got %.60q", line)
	case value == "", value[0] == '#': // "key=#..." can only be a comment that lacks its blank
		return fmt.Errorf("%.60q has no value", key)
	}
	switch key {
	case "ignore":
		return c.addIgnored(value)
	case "expect":
		return setOnce(&c.Expect, key, value, checkClockName)
	case "fail-on":
		return setOnce(&c.FailOn, key, value, checkFailOn)
	}
	return fmt.Errorf("unknown key %.60q: want ignore, expect or fail-on", key)
}

// stripComment cuts a line at a "#" that stands at its start or after a blank.
func stripComment(line string) string {
	for i, r := range line {
		if r == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

func (c *Config) addIgnored(list string) error {
	for id := range strings.SplitSeq(list, ",") {
		id = strings.TrimSpace(id)
		if !isFindingID(id) {
			return fmt.Errorf("ignore: %.60q is not the id of a finding: want lower-case words joined by dashes", id)
		}
		if !slices.Contains(c.Ignore, id) {
			c.Ignore = append(c.Ignore, id)
		}
	}
	return nil
}

// setOnce sets a key that has one value; two lines for it may contradict each other.
func setOnce(field *string, key, value string, check func(string) error) error {
	if *field != "" {
		return fmt.Errorf("%s is set twice: %q and %.60q", key, *field, value)
	}
	if err := check(value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	*field = value
	return nil
}

// isFindingID accepts the form of an id, not only the known ones, so that one
// file serves machines with different releases of cswatch.
func isFindingID(s string) bool {
	for word := range strings.SplitSeq(s, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// checkClockName accepts what can be a clocksource's name: the kernel keeps 31
// bytes of one (CS_NAME_LEN is 32 in kernels 3.12 to 7.1).
func checkClockName(s string) error {
	for _, r := range s {
		if r <= ' ' || r > '~' {
			return fmt.Errorf("%.60q is not the name of a clocksource: want one word such as tsc or kvm-clock", s)
		}
	}
	if len(s) > 31 {
		return fmt.Errorf("%.60q is not the name of a clocksource: it has more than 31 bytes", s)
	}
	return nil
}

func checkFailOn(s string) error {
	if s != "warning" && s != "critical" {
		return fmt.Errorf("%.60q: want warning or critical", s)
	}
	return nil
}
