package guest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// fetched fetches a file and returns its parts put together, how many there were,
// the last of them, and the troubles. It fails where the parts do not join.
func fetched(t *testing.T, r io.Reader, openErr error) (whole []byte, parts int, last FilePart, troubles []string) {
	t.Helper()
	closed := false
	open := func(path string) (io.ReadCloser, error) {
		if path != "/a" {
			t.Errorf("it opened %s", path)
		}
		if openErr != nil {
			return nil, openErr
		}
		return closer{r, &closed}, nil
	}
	fetch("/a", open, func(rec Record) {
		if rec.Trouble != "" {
			troubles = append(troubles, rec.Trouble)
			return
		}
		if _, err := AppendRecord(nil, rec); err != nil {
			t.Fatal(err)
		}
		if last.Last || rec.File.Offset != int64(len(whole)) {
			t.Fatalf("a part at %d, behind %d bytes and after the last: %v", rec.File.Offset, len(whole), last.Last)
		}
		whole, parts, last = append(whole, rec.File.Data...), parts+1, *rec.File
	})
	if closed != (openErr == nil) {
		t.Errorf("closed: %v", closed)
	}
	return whole, parts, last, troubles
}

type closer struct {
	io.Reader
	closed *bool
}

func (c closer) Close() error {
	*c.closed = true
	return nil
}

func TestFilesAreHandedOverInParts(t *testing.T) {
	broken := errors.New("broken")
	some := bytes.Repeat([]byte("0123456789abcde\n"), FileChunk/16)
	zeros := func(n int64) io.Reader { return io.LimitReader(endless{}, n) }
	longest := make([]byte, MaxFile)
	cases := []struct {
		name    string
		in      io.Reader
		want    []byte
		parts   int
		cut     bool
		trouble string
	}{
		{"an empty file", strings.NewReader(""), nil, 1, false, ""},
		{"a short one", strings.NewReader("Linux"), []byte("Linux"), 1, false, ""},
		{"one that comes byte by byte", iotest.OneByteReader(bytes.NewReader(some[:300])), some[:300], 1, false, ""},
		{"exactly one part", bytes.NewReader(some), some, 2, false, ""},
		{"one byte more", io.MultiReader(bytes.NewReader(some), strings.NewReader("x")), append(bytes.Clone(some), 'x'), 2, false, ""},
		{"one that breaks off", io.MultiReader(bytes.NewReader(some[:300]), iotest.ErrReader(broken)), some[:300], 1, true, "fetch /a: broken"},
		{"one that cannot be read", iotest.ErrReader(broken), nil, 1, true, "fetch /a: broken"},
		{"the longest", zeros(MaxFile), longest, MaxFile / FileChunk, false, ""},
		{"one that is too long", zeros(MaxFile + 1), longest, MaxFile / FileChunk, true, "fetch /a: it has more than 16 MiB"},
		{"one without an end", endless{}, longest, MaxFile / FileChunk, true, "fetch /a: it has more than 16 MiB"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			whole, parts, last, troubles := fetched(t, c.in, nil)
			if !bytes.Equal(whole, c.want) || parts != c.parts {
				t.Errorf("%d bytes in %d parts, want %d in %d, or other bytes came", len(whole), parts, len(c.want), c.parts)
			}
			if !last.Last || last.Cut != c.cut {
				t.Errorf("the last part is the last: %v, cut: %v; want it cut: %v", last.Last, last.Cut, c.cut)
			}
			if all := strings.Join(troubles, "; "); !strings.HasPrefix(all, c.trouble) || (all == "") != (c.trouble == "") {
				t.Errorf("troubles %q, want %q", all, c.trouble)
			}
		})
	}
}

// endless is a file of zeros, like /dev/zero.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestAFileThatIsNotThereIsATrouble(t *testing.T) {
	_, parts, _, troubles := fetched(t, nil, fs.ErrNotExist)
	if diff := cmp.Diff([]string{"fetch /a: file does not exist"}, troubles); diff != "" || parts != 0 {
		t.Errorf("%d parts, troubles (-want +got):\n%s", parts, diff)
	}
}
