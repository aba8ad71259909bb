package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfigReadsEveryKey(t *testing.T) {
	const text = "# what this fleet puts up with\r\n\n" +
		"ignore = check-skipped, late-watchdog\n" +
		"  ignore=hpet-pc10 # the vendor knows\n" +
		"ignore = check-skipped\n" +
		"expect\t= kvm-clock\n" +
		"fail-on = critical"
	got, err := ParseConfig("c", strings.NewReader(text))
	want := Config{Path: "c", Ignore: []string{"check-skipped", "late-watchdog", "hpet-pc10"}, Expect: "kvm-clock", FailOn: "critical"}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("error %v, difference (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

func TestParseConfigNamesFileAndLineOfWhatIsWrong(t *testing.T) {
	long := strings.Repeat("x", maxConfigLine+1)
	cases := []struct{ name, text, want string }{
		{"a key that does not exist", "\ncolour = red\n", `f:2: unknown key "colour": want ignore, expect or fail-on`},
		{"a line without an equals sign", "ignore check-skipped", `f:1: want "key = value", got "ignore check-skipped"`},
		{"a key without a value", "expect =", `f:1: "expect" has no value`},
		{"a comment is no value", "expect = # tsc", `f:1: "expect" has no value`},
		{"a comment without its blank is no value either", "expect =#tsc", `f:1: "expect" has no value`},
		{"a finding id in capitals", "ignore = Check-Skipped", `f:1: ignore: "Check-Skipped" is not the id of a finding: want lower-case words joined by dashes`},
		{"a comma too many", "ignore = a,,b", `f:1: ignore: "" is not the id of a finding: want lower-case words joined by dashes`},
		{"a dash too many", "ignore = a-", `f:1: ignore: "a-" is not the id of a finding: want lower-case words joined by dashes`},
		{"two clocks", "expect = tsc hpet", `f:1: expect: "tsc hpet" is not the name of a clocksource: want one word such as tsc or kvm-clock`},
		{"a clock with a name longer than the kernel keeps", "expect = " + strings.Repeat("a", 32),
			`f:1: expect: "` + strings.Repeat("a", 32) + `" is not the name of a clocksource: it has more than 31 bytes`},
		{"a severity that does not exist", "fail-on = info", `f:1: fail-on: "info": want warning or critical`},
		{"a key set twice", "fail-on = warning\nfail-on = critical", `f:2: fail-on is set twice: "warning" and "critical"`},
		{"all of several", "a = 1\nexpect = tsc\nb = 2", "f:1: unknown key \"a\": want ignore, expect or fail-on\nf:3: unknown key \"b\": want ignore, expect or fail-on"},
		{"a line without end", "expect = tsc\n" + long, "f:2: the line is longer than 4096 bytes"},
		{"a file without end", strings.Repeat("# comment\n", maxConfigBytes/10+1), "f: larger than 65536 bytes: is it a configuration file?"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseConfig("f", strings.NewReader(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if !cmp.Equal(got, Config{}) {
				t.Errorf("half a configuration came with the error: %+v", got)
			}
		})
	}
}

func TestParseConfigDoesNotPrintAWholeLogNamedByMistake(t *testing.T) {
	_, err := ParseConfig("f", strings.NewReader(strings.Repeat("some log line\n", 4000)))
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 11 || lines[10] != "... and 3990 more" {
		t.Errorf("%d lines of errors, the last one %q", len(lines), lines[len(lines)-1])
	}
}

func TestLoadConfigTakesTheFirstFileThatExists(t *testing.T) {
	files := func(m map[string]string) func(string) (io.ReadCloser, error) {
		return func(path string) (io.ReadCloser, error) {
			text, ok := m[path]
			switch {
			case text == "denied":
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
			case text == "below a file":
				return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
			case !ok:
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return io.NopCloser(strings.NewReader(text)), nil
		}
	}
	const etc, xdg, own = "/etc/cswatch/config", "/home/u/.config/cswatch/config", "/own"
	cases := []struct {
		name  string
		vars  map[string]string
		files map[string]string
		want  Config
		err   string
	}{
		{"no file is no error", nil, nil, Config{}, ""},
		{"the system's file", nil, map[string]string{etc: "expect=tsc"}, Config{Path: etc, Expect: "tsc"}, ""},
		{"the user's goes before the system's", map[string]string{"XDG_CONFIG_HOME": "/home/u/.config"},
			map[string]string{etc: "expect=tsc", xdg: "expect=hpet"}, Config{Path: xdg, Expect: "hpet"}, ""},
		{"a user without one gets the system's", map[string]string{"XDG_CONFIG_HOME": "/home/u/.config"},
			map[string]string{etc: "expect=tsc"}, Config{Path: etc, Expect: "tsc"}, ""},
		{"a path through a file leads nowhere", map[string]string{"XDG_CONFIG_HOME": "/home/u/.config"},
			map[string]string{xdg: "below a file"}, Config{}, ""},
		{"a relative XDG_CONFIG_HOME is ignored", map[string]string{"XDG_CONFIG_HOME": "x"},
			map[string]string{"x/cswatch/config": "expect=hpet"}, Config{}, ""},
		{"the named file goes before all", map[string]string{"CSWATCH_CONFIG": own, "XDG_CONFIG_HOME": "/home/u/.config"},
			map[string]string{own: "fail-on=warning", xdg: "expect=hpet"}, Config{Path: own, FailOn: "warning"}, ""},
		{"a named file must exist", map[string]string{"CSWATCH_CONFIG": own}, map[string]string{etc: "expect=tsc"},
			Config{}, "read the configuration: open /own: file does not exist"},
		{"a file that may not be read is not passed over", nil, map[string]string{etc: "denied"},
			Config{}, "read the configuration: open /etc/cswatch/config: permission denied"},
		{"a bad file is not passed over", nil, map[string]string{etc: "x=y"},
			Config{}, `/etc/cswatch/config:1: unknown key "x": want ignore, expect or fail-on`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := loadConfig(func(name string) string { return c.vars[name] }, files(c.files))
			if text := fmt.Sprint(err); err != nil && text != c.err || err == nil && c.err != "" {
				t.Errorf("error %v, want %q", err, c.err)
			}
			var usage *usageError
			if err != nil && !errors.As(err, &usage) {
				t.Errorf("%v is no usage error", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadConfigReadsRealFiles(t *testing.T) {
	path := t.TempDir() + "/config"
	getenv := func(name string) string {
		if name == "CSWATCH_CONFIG" {
			return path
		}
		return ""
	}
	if _, err := LoadConfig(getenv); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a named file that does not exist: error %v", err)
	}
	path = t.TempDir() // a folder opens, but cannot be read
	if _, err := LoadConfig(getenv); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a folder: error %v, want one that names %s", err, path)
	}
	path = "/dev/null"
	if got, err := LoadConfig(getenv); err != nil || !cmp.Equal(got, Config{Path: "/dev/null"}) {
		t.Errorf("/dev/null: %+v, error %v", got, err)
	}
}

// FuzzParseConfig checks that a file is either refused or understood: what was
// understood, written out again in the plainest form, reads the same.
func FuzzParseConfig(f *testing.F) {
	f.Add("ignore = check-skipped, late-watchdog # why\nexpect = tsc\nfail-on = warning\n")
	f.Add("expect = kvm-clock#1\r\n\tignore=a\nignore=b,a")
	f.Add("fail-on = info\nx\n=\n# = #\n")
	f.Add("expect = a=b\x00")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig("f", strings.NewReader(text))
		if err != nil {
			if !cmp.Equal(c, Config{}) {
				t.Fatalf("half a configuration %+v came with the error %v", c, err)
			}
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("the error %q does not begin with the file", err)
			}
			return
		}
		var b strings.Builder
		for _, id := range c.Ignore {
			fmt.Fprintf(&b, "ignore = %s\n", id)
		}
		if c.Expect != "" {
			fmt.Fprintf(&b, "expect = %s\n", c.Expect)
		}
		if c.FailOn != "" {
			fmt.Fprintf(&b, "fail-on = %s\n", c.FailOn)
		}
		again, err := ParseConfig("f", strings.NewReader(b.String()))
		if err != nil {
			t.Fatalf("written out again it is refused: %v\n%s", err, b.String())
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("written out again it reads differently (-first +second):\n%s", diff)
		}
	})
}
