package host

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// numbered writes n lines of ten bytes.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %04d\n", i)
	}
	return b.String()
}

func TestALongLogGivesItsHeadAndItsTail(t *testing.T) {
	whole := numbered(100)
	lines := func(from, to int) string { return whole[10*from : 10*to] }
	limits := logLimits{head: 205, tail: 104, stream: 54}
	for _, tt := range []struct {
		name string
		text string
		file bool
		want string
		skip int64
	}{
		{"a file", whole, true, lines(0, 21) + lines(90, 100), 690},
		{"a stream", whole, false, lines(0, 21) + lines(95, 100), 740},
		{"a file within the limits", lines(0, 31), true, lines(0, 31), 0},
		{"a file of one line more", lines(0, 32), true, lines(0, 21) + lines(22, 32), 10},
		{"a stream within the limits", lines(0, 26), false, lines(0, 26), 0},
		{"a stream of one line more", lines(0, 27), false, lines(0, 21) + lines(22, 27), 10},
		{"a file that ends within its head", lines(0, 20), true, lines(0, 20), 0},
		{"a stream that ends with its head", whole[:205], false, whole[:205], 0},
		{"nothing", "", false, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := logSource{name: "x", r: iotest.HalfReader(strings.NewReader(tt.text)), size: int64(len(tt.text))}
			if tt.file {
				src.at = strings.NewReader(tt.text)
			}
			r, err := openText(src, limits)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if string(got) != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
			var limit *LimitError
			switch {
			case tt.skip == 0 && err != nil:
				t.Errorf("error %v", err)
			case tt.skip > 0 && (!errors.As(err, &limit) || limit.Skipped != tt.skip || int(limit.Skipped)+len(got) != len(tt.text)):
				t.Errorf("error %v, want one that says %d of %d bytes", err, tt.skip, len(tt.text))
			}
			if n, again := r.Read(make([]byte, 1)); n != 0 || again == nil {
				t.Errorf("behind the end: %d bytes, error %v", n, again)
			}
		})
	}
}

func TestALongLogThatBreaksOffSaysBoth(t *testing.T) {
	broken := errors.New("disk gone")
	r, err := openText(logSource{name: "x", r: io.MultiReader(strings.NewReader(numbered(100)), iotest.ErrReader(broken))}, logLimits{head: 100, stream: 50})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	var limit *LimitError
	if !errors.As(err, &limit) || !errors.Is(err, broken) || !strings.HasSuffix(string(got), "line 0099\n") {
		t.Errorf("error %v, text ends %q", err, got[len(got)-20:])
	}
}

func TestALineWithoutEndBetweenHeadAndTail(t *testing.T) {
	text := "first\n" + strings.Repeat("x", 5*maxLogLine) + "\nlast\n"
	r, err := openText(logSource{name: "x", r: strings.NewReader(text)}, logLimits{head: 10, stream: 20})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	var limit *LimitError
	if !errors.As(err, &limit) || !strings.HasSuffix(string(got), "x\nlast\n") || len(got) > maxLogLine+100 {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
}

func TestALongLogOfAFolderIsReadToItsEnd(t *testing.T) {
	dir := tree{files: map[string]string{"proc/version": "Linux version 6.1.0\n", "var/log/messages": numbered(1000)}}.folder(t)
	if err := os.Truncate(filepath.Join(dir, "var/log/messages"), 1<<40); err != nil { // a hole of a terabyte behind it
		t.Skip(err)
	}
	r, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.limits = logLimits{head: 1 << 20, tail: 1 << 20}
	var limit *LimitError
	problems := r.ReadLogs(func(_ string, text io.Reader) error {
		data, err := io.ReadAll(text)
		if !strings.HasPrefix(string(data), numbered(1000)) {
			t.Error("its beginning is missing")
		}
		return err
	})
	if len(problems) != 1 || problems[0].Name != "var/log/messages" || !errors.As(problems[0], &limit) || limit.Skipped < 1<<39 {
		t.Errorf("problems %v, want what was skipped", problems)
	}
}

// A log with holes of a terabyte takes a few hundred bytes in a tarball.
func TestALogWithHolesEndsBehindItsHead(t *testing.T) {
	raw, err := os.ReadFile("testdata/holes.tar")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"x.tar": raw, "x.tar.gz": compressWith(t, raw, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })} {
		t.Run(name, func(t *testing.T) {
			r, err := OpenRoot(writeFile(t, name, data))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			r.limits = logLimits{head: 1 << 20, tail: 1 << 20, stream: 1 << 10}
			var limit *LimitError
			problems := r.ReadLogs(func(_ string, text io.Reader) error {
				data, err := io.ReadAll(text)
				if !strings.HasPrefix(string(data), "first line\n") {
					t.Errorf("begins with %q", data[:20])
				}
				return err
			})
			if len(problems) != 1 || !errors.As(problems[0], &limit) || limit.Skipped < 1<<39 || limit.Tail != 0 {
				t.Errorf("problems %v", problems)
			}
		})
	}
}
