package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/trace"
)

func TestThereAndBackIsTheSameRecording(t *testing.T) {
	dir := t.TempDir()
	binary, text := filepath.Join(dir, "a.trace"), filepath.Join(dir, "a.jsonl")
	for _, step := range [][2]string{{fall, binary}, {binary, text}} {
		if code, out, errs := called(t, nil, "trace", "convert", step[0], "-o", step[1]); code != 0 || out != "" || !strings.Contains(errs, "wrote 18 ticks") {
			t.Fatalf("%s to %s: code %d\n%s%s", step[0], step[1], code, out, errs)
		}
	}
	if readFile(t, text) != readFile(t, fall) {
		t.Error("the recording differs after both conversions")
	}
	if a, b := len(readFile(t, binary)), len(readFile(t, fall)); a*2 > b {
		t.Errorf("the binary form has %d bytes and JSON Lines %d", a, b)
	}
}

func TestARecordingIsNotWrittenOverItself(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(name, []byte(readFile(t, fall)), 0o600); err != nil {
		t.Fatal(err)
	}
	hard, soft := filepath.Join(dir, "hard"), filepath.Join(dir, "soft")
	if err := errors.Join(os.Link(name, hard), os.Symlink(name, soft)); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{name, hard, soft, filepath.Join(dir, ".", "a.jsonl")} {
		code, _, errs := called(t, nil, "trace", "convert", name, "-o", output)
		if code != ExitUsage || !strings.Contains(errs, "is the recording itself") {
			t.Errorf("%s: code %d, %s", output, code, errs)
		}
	}
	if readFile(t, name) != readFile(t, fall) {
		t.Error("the recording was changed")
	}
}

func TestAFailedConversionLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "old.trace")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := called(t, []byte("no recording"), "trace", "convert", "-", "-o", name); code != ExitFailed || !strings.Contains(errs, "not a recording") {
		t.Errorf("code %d, %s", code, errs)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || readFile(t, name) != "old" {
		t.Errorf("the folder has %v (%v), and the old file %q", entries, err, readFile(t, name))
	}
}

func TestALinkAndADeviceStayWhatTheyAre(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.trace"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	null := filepath.Join(dir, "null")
	if err := os.Symlink(os.DevNull, null); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{link, null} {
		if code, _, errs := called(t, nil, "trace", "convert", fall, "-o", output); code != 0 {
			t.Fatalf("%s: code %d, %s", output, code, errs)
		}
		if info, err := os.Lstat(output); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", output, info, err)
		}
	}
	if _, err := trace.Verify(strings.NewReader(readFile(t, target))); err != nil {
		t.Errorf("the link leads to no recording: %v", err)
	}
}

func TestTheNameDecidesTheForm(t *testing.T) {
	cases := map[string]trace.Form{"a.jsonl": trace.JSONLines, "a.JSON": trace.JSONLines, "-": trace.JSONLines, "a.trace": trace.Binary, "a": trace.Binary, "jsonl": trace.Binary}
	for name, want := range cases {
		if got := formByName(name); got != want {
			t.Errorf("%s is written as %s, want %s", name, got, want)
		}
	}
}

func TestABinaryRecordingIsNotForATerminal(t *testing.T) {
	var out, errs strings.Builder
	env := newEnv(strings.NewReader(""), &out, &errs)
	env.IsTerminal = func(io.Writer) bool { return true }
	if code := run(env, []string{"trace", "convert", fall, "-o", "-", "--to", "binary"}); code != ExitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "not for a terminal") {
		t.Errorf("code %d, %d bytes written, %s", code, out.Len(), errs.String())
	}
}

func TestAFullDiskFailsTheConversion(t *testing.T) {
	var errs strings.Builder
	env := newEnv(strings.NewReader(""), brokenWriter{}, &errs)
	if code := run(env, []string{"trace", "convert", fall, "-o", "-"}); code != ExitFailed || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("code %d, %s", code, errs.String())
	}
	for _, format := range []string{"text", "json", "jsonl"} {
		env = newEnv(strings.NewReader(""), brokenWriter{}, &errs)
		if code := run(env, []string{"replay", fall, "--format", format}); code != ExitFailed {
			t.Errorf("replay as %s: code %d", format, code)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }
