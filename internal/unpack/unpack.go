package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// Format names how an input was packed: "" for not at all, else the packings
// from the outermost to the innermost, joined by a comma, as in "xz" or "gzip,zstd".
type Format string

// The packings that Reader undoes.
const (
	Plain Format = ""
	Gzip  Format = "gzip"
	XZ    Format = "xz"
	Zstd  Format = "zstd"
	Bzip2 Format = "bzip2"
)

const (
	// MaxLayers is how often an input may be packed.
	MaxLayers = 3
	// MaxWindow is the largest window or dictionary that is accepted in the
	// outermost packing, in bytes. xz -9 wants 64 MiB, and is refused with the
	// command that unpacks it; the default of xz is 8 MiB, of zstd 2 MiB.
	MaxWindow = 32 << 20
	// maxInnerWindow is the same within another packing, so that the sum stays bounded.
	maxInnerWindow = 8 << 20

	// An input that has delivered more than bombBytes at more than bombRatio
	// times its size is taken for a bomb.
	bombBytes = 1 << 30
	bombRatio = 1000
)

// Sentinels that an Error wraps.
var (
	// ErrTruncated: the packed data end early. What came before was delivered.
	ErrTruncated = errors.New("the packed data end early; everything before the cut was read")
	// ErrDamaged: the packed data contradict themselves.
	ErrDamaged = errors.New("the packed data are damaged; everything before the damage was read")
	// ErrWindow: unpacking needs more memory than is granted.
	ErrWindow = errors.New("unpacking needs more memory than is granted")
	// ErrBomb: the ratio of output to input is absurd.
	ErrBomb = errors.New("the input unpacks to an absurd size")
	// ErrUnsupported: the packing, or a feature of it, is not undone here.
	ErrUnsupported = errors.New("this packing is not supported")
)

// Error says what could not be unpacked, and which command would do it.
type Error struct {
	Name    string // of the input, "-" for standard input
	Format  Format
	Kind    error  // one of the sentinels
	Detail  string // what is wrong
	Command string // a pipe that gets around it, "" if there is none
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unpacking %s (%s): %v", Shown(e.Name), e.Format, e.Kind)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Command != "" {
		fmt.Fprintf(&b, "; run: %s", e.Command)
	}
	return b.String()
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Kind }

// Shown returns the name of a file as a message may show it: as it is, or quoted
// if it holds what would reach a terminal as something else than its characters.
func Shown(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// command returns the pipe that unpacks name with external programs, the
// outermost packing first.
func command(name string, programs ...string) string {
	program := programs[0]
	rest := strings.Join(append(programs[1:], "cswatch ... -"), " | ")
	if name == "-" {
		return program + " | " + rest
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) || !utf8.ValidString(name) {
		name = "FILE" // there is no way to write it that every shell takes
	}
	if strings.ContainsAny(name, " '\"$&;()<>|*?[]\\`") {
		name = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return program + " " + name + " | " + rest
}

func program(f Format) string {
	switch f {
	case Gzip:
		return "gzip -dc"
	case XZ:
		return "xz -dc"
	case Zstd:
		return "zstd --long=31 -dc"
	}
	return "bzip2 -dc"
}

func programs(formats []string) []string {
	var all []string
	for _, f := range formats {
		all = append(all, program(Format(f)))
	}
	return all
}

// Reader returns a reader of what is packed in r, and how it was packed. The
// name is for messages only. Errors of unpacking, all of type *Error, come from
// reading once everything before them has been delivered; Reader itself returns
// one if not even the first byte can be had.
func Reader(r io.Reader, name string) (io.Reader, Format, error) {
	in := &counter{r: r}
	cur := bufio.NewReaderSize(in, 64<<10)
	var formats []string
	for {
		head, err := cur.Peek(10)
		if len(head) == 0 && err != nil && err != io.EOF {
			return nil, Format(strings.Join(formats, ",")), err
		}
		f, other := sniff(head)
		if other != "" {
			f := Format(other[:strings.IndexByte(other, ' ')])
			return nil, f, &Error{Name: name, Format: f, Kind: ErrUnsupported, Command: command(name, append(programs(formats), other)...)}
		}
		if f == Plain {
			if len(formats) == 0 {
				return cur, Plain, nil
			}
			all := Format(strings.Join(formats, ","))
			return &guard{r: cur, in: in, name: name, format: all}, all, nil
		}
		if len(formats) == MaxLayers {
			return nil, f, &Error{Name: name, Format: f, Kind: ErrUnsupported, Detail: fmt.Sprintf("packed more than %d times", MaxLayers)}
		}
		window := MaxWindow
		if len(formats) > 0 {
			window = maxInnerWindow
		}
		formats = append(formats, string(f))
		cur = bufio.NewReaderSize(&layer{src: cur, in: in, name: name, format: f, window: window, programs: programs(formats)}, 32<<10)
	}
}

// sniff recognises the first bytes of a packing. other is the program for one
// that is recognised, but not undone.
func sniff(head []byte) (f Format, other string) {
	has := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case has("\x1f\x8b\x08"):
		return Gzip, ""
	case has("\xfd7zXZ\x00"):
		return XZ, ""
	case has("\x28\xb5\x2f\xfd"), len(head) > 3 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte("\x2a\x4d\x18")):
		return Zstd, ""
	case len(head) >= 10 && has("BZh") && head[3] >= '1' && head[3] <= '9' &&
		(bytes.Equal(head[4:10], []byte("1AY&SY")) || bytes.Equal(head[4:10], []byte("\x17\x72\x45\x38\x50\x90"))):
		return Bzip2, ""
	case has("\x04\x22\x4d\x18"):
		return Plain, "lz4 -dc"
	case has("LZIP\x01"):
		return Plain, "lzip -dc"
	case has("\x1f\x9d"):
		return Plain, "uncompress -c"
	case has("PK\x03\x04"):
		return Plain, "unzip -p"
	}
	return Plain, ""
}

// counter counts the bytes read and remembers an error of the source.
type counter struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// guard ends the reading of a bomb. Memory is bounded anyway; time is not.
type guard struct {
	r      io.Reader
	in     *counter
	name   string
	format Format
	out    int64
}

func (g *guard) Read(p []byte) (int, error) {
	if g.out > bombBytes && g.out/bombRatio > g.in.n {
		return 0, &Error{Name: g.name, Format: g.format, Kind: ErrBomb,
			Detail: fmt.Sprintf("%d bytes so far out of %d", g.out, g.in.n)}
	}
	n, err := g.r.Read(p)
	g.out += int64(n)
	return n, err
}

// layer undoes one packing. The decoder is made at the first read, so that all
// errors take the same way.
type layer struct {
	src    *bufio.Reader
	in     *counter
	name   string
	format Format
	window int
	// programs would undo all packings up to this one.
	programs []string
	dec      io.Reader
	err      error
}

func (l *layer) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.dec == nil {
		dec, err := l.decoder()
		if err != nil {
			l.err = l.explain(err)
			return 0, l.err
		}
		l.dec = dec
	}
	n, err := l.dec.Read(p)
	if err != nil {
		l.err = l.explain(err)
		l.dec = nil
	}
	return n, l.err
}

func (l *layer) decoder() (io.Reader, error) {
	switch l.format {
	case Gzip:
		return gzip.NewReader(l.src)
	case XZ:
		return &xzReader{src: l.src, window: l.window}, nil
	case Zstd:
		// One decoder, no goroutines; the reader is never closed, for without
		// goroutines there is nothing to release.
		return zstd.NewReader(l.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(l.window)), zstd.WithDecoderMaxMemory(uint64(l.window)))
	}
	return bzip2.NewReader(l.src), nil
}

// explain turns the error of a decoder into one that says what to do.
func (l *layer) explain(err error) error {
	if err == io.EOF {
		return err
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		if e.Name == "" {
			e.Name, e.Format = l.name, l.format
			if e.Kind == ErrWindow || e.Kind == ErrUnsupported {
				e.Command = command(l.name, l.programs...)
			}
		}
		return e
	}
	e := &Error{Name: l.name, Format: l.format}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind = ErrTruncated
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		e.Kind, e.Command = ErrWindow, command(l.name, l.programs...)
		e.Detail = fmt.Sprintf("a window of more than %d MiB", l.window>>20)
	case l.in.err != nil && errors.Is(err, l.in.err):
		// The source itself failed: that error is not about packing.
		return fmt.Errorf("unpacking %s (%s): %w", Shown(l.name), l.format, err)
	default:
		e.Kind, e.Detail = ErrDamaged, err.Error()
	}
	return e
}
