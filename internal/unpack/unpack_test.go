package unpack

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// sample is text that compresses, but not absurdly well.
func sample(lines int) []byte {
	var b bytes.Buffer
	x := uint64(88172645463325252)
	for i := range lines {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&b, "[%5d.%06d] clocksource: 'hpet' wd_now: %x mask: ffffffff\n", i, i*7, x)
	}
	return b.Bytes()
}

func packGzip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packXZ(t testing.TB, data []byte, c xz.WriterConfig) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := c.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packZstd(t testing.TB, data []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t testing.TB, in []byte, name string) ([]byte, Format, error) {
	t.Helper()
	r, f, err := Reader(bytes.NewReader(in), name)
	if err != nil {
		return nil, f, err
	}
	out, err := io.ReadAll(r)
	return out, f, err
}

func TestEveryPackingIsUndone(t *testing.T) {
	data := sample(4000)
	small := sample(20)
	config := xz.WriterConfig{DictCap: 1 << 16, BlockSize: 50000}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	twice := join(data, small)
	for _, c := range []struct {
		name   string
		in     []byte
		want   []byte
		format Format
	}{
		{"nothing", nil, nil, Plain},
		{"plain text", data, data, Plain},
		{"text that begins like a magic number", []byte("BZh9 is a word"), []byte("BZh9 is a word"), Plain},
		{"one byte", []byte("\x1f"), []byte("\x1f"), Plain},
		{"gzip", packGzip(t, data), data, Gzip},
		{"gzip of nothing", packGzip(t, nil), nil, Gzip},
		{"two gzip members", join(packGzip(t, data), packGzip(t, small)), twice, Gzip},
		{"xz", packXZ(t, data, xz.WriterConfig{}), data, XZ},
		{"xz of nothing", packXZ(t, nil, xz.WriterConfig{}), nil, XZ},
		{"xz of many blocks", packXZ(t, data, config), data, XZ},
		{"xz with CRC32", packXZ(t, data, xz.WriterConfig{CheckSum: xz.CRC32}), data, XZ},
		{"xz with SHA-256", packXZ(t, data, xz.WriterConfig{CheckSum: xz.SHA256}), data, XZ},
		{"xz without check", packXZ(t, data, xz.WriterConfig{NoCheckSum: true}), data, XZ},
		{"two xz streams with padding", join(packXZ(t, data, config), make([]byte, 8), packXZ(t, small, xz.WriterConfig{DictCap: 1 << 20})), twice, XZ},
		{"zstd", packZstd(t, data, 1<<20), data, Zstd},
		{"two zstd frames", join(packZstd(t, data, 1<<16), packZstd(t, small, 1<<20)), twice, Zstd},
		{"skippable zstd frame first", join([]byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc"), packZstd(t, data, 1<<16)), data, Zstd},
		{"gzip in gzip", packGzip(t, packGzip(t, data)), data, "gzip,gzip"},
		{"zstd in xz in gzip", packGzip(t, packXZ(t, packZstd(t, data, 1<<16), config)), data, "gzip,xz,zstd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, format, err := read(t, c.in, "x")
			if err != nil || format != c.format || !bytes.Equal(got, c.want) {
				t.Fatalf("got %d bytes, format %q, error %v; want %d bytes, %q", len(got), format, err, len(c.want), c.format)
			}
		})
		t.Run(c.name+", byte by byte", func(t *testing.T) {
			r, _, err := Reader(iotest.OneByteReader(bytes.NewReader(c.in)), "x")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, c.want) {
				t.Fatalf("got %d bytes, error %v", len(got), err)
			}
		})
	}
}

// The files were made by other programs: xz -6 and xz -9 in blocks with several
// threads (the second states a dictionary of 64 MiB, but also the small size of
// each block), bzip2 twice into one file, zstd --long=25.
func TestFilesOfOtherProgramsAreUndone(t *testing.T) {
	for _, name := range []string{"several-blocks.xz", "large-dictionary-small-block.xz", "two-streams.bz2", "long-window.zst"} {
		t.Run(name, func(t *testing.T) {
			in, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := read(t, in, name)
			if err != nil {
				t.Fatal(err)
			}
			if want := sample(600); !bytes.Equal(got, want) {
				t.Errorf("got %d bytes, want %d, or other ones", len(got), len(want))
			}
		})
	}
}

func TestCutInputDeliversWhatComesBefore(t *testing.T) {
	data := sample(3000)
	packed := map[string][]byte{
		"gzip": packGzip(t, data), "xz": packXZ(t, data, xz.WriterConfig{DictCap: 1 << 16, BlockSize: 30000}),
		"zstd": packZstd(t, data, 1<<16), "gzip,xz": packGzip(t, packXZ(t, data, xz.WriterConfig{})),
	}
	for name, in := range packed {
		t.Run(name, func(t *testing.T) {
			for cut := 12; cut < len(in); cut += 1 + len(in)/97 {
				got, _, err := read(t, in[:cut], "boot.log")
				if !errors.Is(err, ErrTruncated) {
					t.Fatalf("cut at %d of %d: error %v, want a truncation", cut, len(in), err)
				}
				if !bytes.HasPrefix(data, got) {
					t.Fatalf("cut at %d: what was delivered is not the beginning", cut)
				}
				if want := len(data)*cut/len(in) - 150<<10; len(got) < want {
					t.Fatalf("cut at %d of %d: only %d bytes of %d delivered", cut, len(in), len(got), len(data))
				}
			}
		})
	}
}

func TestDamageIsNamedAndNeverPanics(t *testing.T) {
	data := sample(300)
	for name, in := range map[string][]byte{
		"gzip": packGzip(t, data), "xz": packXZ(t, data, xz.WriterConfig{DictCap: 1 << 16, BlockSize: 5000}), "zstd": packZstd(t, data, 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			missed := 0
			for i := 12; i < len(in); i += 1 + len(in)/400 {
				bad := bytes.Clone(in)
				bad[i] ^= 0x55
				got, _, err := read(t, bad, "x")
				var e *Error
				if err != nil && !errors.As(err, &e) {
					t.Fatalf("byte %d: error %v is not of type *Error", i, err)
				}
				if err == nil && !bytes.Equal(got, data) {
					missed++
				}
			}
			if missed > 0 {
				t.Errorf("%d damages went through unnoticed", missed)
			}
		})
	}
}

// The index and the footer repeat what the blocks say, so damage there changes no
// byte of the text: only the checks see it.
func TestDamageBehindTheLastBlockOfXZIsSeen(t *testing.T) {
	data := sample(300)
	in := packXZ(t, data, xz.WriterConfig{DictCap: 1 << 16, BlockSize: 5000})
	footer := len(in) - 12
	index := footer - 4*(int(binary.LittleEndian.Uint32(in[footer+4:]))+1)
	if in[index] != 0 {
		t.Fatalf("no index at %d of %d", index, len(in))
	}
	for i := index; i < len(in); i++ {
		for bit := range 8 {
			bad := bytes.Clone(in)
			bad[i] ^= 1 << bit
			got, _, err := read(t, bad, "x")
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrTruncated) {
				t.Errorf("bit %d of byte %d behind the last block: error %v, want damage", bit, i-index, err)
			}
			if !bytes.Equal(got, data) {
				t.Errorf("bit %d of byte %d: the text changed", bit, i-index)
			}
		}
	}
}

func TestNamesInMessagesReachNoTerminal(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/var/log/kern.log", "/var/log/kern.log"},
		{"boot log ä.gz", "boot log ä.gz"},
		{"a\x1b[31mb", `"a\x1b[31mb"`},
		{"a\nb", `"a\nb"`},
		{"a\xffb", `"a\xffb"`},
		{"a\u202eb", `"a\u202eb"`},
		{`a"b`, `"a\"b"`},
	} {
		if got := Shown(c.in); got != c.want {
			t.Errorf("Shown(%q) = %s, want %s", c.in, got, c.want)
		}
	}
	for _, name := range []string{"a\x1b[31mb\n", "a\xff"} {
		for _, in := range [][]byte{packGzip(t, sample(10))[:20], []byte("PK\x03\x04abcdefghij"), packXZ(t, sample(50), xz.WriterConfig{DictCap: 64 << 20})} {
			_, _, err := read(t, in, name)
			if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") || !utf8.ValidString(err.Error()) {
				t.Errorf("error %q", err)
			}
		}
	}
}

func TestLargeWindowsAreRefusedWithTheCommandThatUnpacks(t *testing.T) {
	data := sample(50)
	big := packXZ(t, data, xz.WriterConfig{DictCap: 64 << 20})
	inner := packGzip(t, packXZ(t, data, xz.WriterConfig{DictCap: 16 << 20}))
	// A frame with a window of 2^26 bytes and one raw block of one byte.
	zbig := []byte("\x28\xb5\x2f\xfd\x00\x80\x09\x00\x00x")
	for _, c := range []struct {
		name string
		in   []byte
		file string
		want string
	}{
		{"xz", big, "/var/log/boot log.xz", "xz -dc '/var/log/boot log.xz' | cswatch ... -"},
		{"xz from standard input", big, "-", "xz -dc | cswatch ... -"},
		{"xz within gzip", inner, "a.gz", "gzip -dc a.gz | xz -dc | cswatch ... -"},
		{"zstd", zbig, "a.zst", "zstd --long=31 -dc a.zst | cswatch ... -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := read(t, c.in, c.file)
			if !errors.Is(err, ErrWindow) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %d bytes and error %v, want one that says %q", len(got), err, c.want)
			}
		})
	}
	later := append(bytes.Clone(packXZ(t, data, xz.WriterConfig{DictCap: 1 << 16})), big...)
	if got, _, err := read(t, later, "x"); !errors.Is(err, ErrWindow) || !bytes.Equal(got, data) {
		t.Errorf("a large dictionary in a later stream: got %d bytes, error %v", len(got), err)
	}
}

// A header that claims 32 MiB must not cost 32 MiB.
func TestAWindowGrowsOnlyWithTheOutput(t *testing.T) {
	in := packXZ(t, sample(50), xz.WriterConfig{DictCap: MaxWindow})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := read(t, in, "x"); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
		t.Errorf("unpacking 4 KB took %d KiB", used>>10)
	}
}

func TestABombEndsAtTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks a gigabyte")
	}
	zeros := make([]byte, 64<<20)
	one := packZstd(t, zeros, 1<<20)
	r, _, err := Reader(bytes.NewReader(bytes.Repeat(one, 40)), "bomb.zst")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r)
	if !errors.Is(err, ErrBomb) || n < bombBytes || n > bombBytes+64<<20 {
		t.Errorf("read %d bytes, error %v; want a bomb soon after %d", n, err, bombBytes)
	}
}

func TestOtherPackingsAreNamed(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\x04\x22\x4d\x18abcdefghij", "lz4 -dc a.log | cswatch ... -"},
		{"PK\x03\x04abcdefghij", "unzip -p a.log | cswatch ... -"},
		{"LZIP\x01abcdefghij", "lzip -dc a.log | cswatch ... -"},
		{"\x1f\x9dabcdefghij", "uncompress -c a.log | cswatch ... -"},
	} {
		if _, _, err := read(t, []byte(c.in), "a.log"); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.in, err, c.want)
		}
	}
	deep := sample(3)
	for range MaxLayers + 1 {
		deep = packGzip(t, deep)
	}
	if _, _, err := read(t, deep, "a"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("four layers: error %v", err)
	}
}

func TestErrorsOfTheSourceStayThemselves(t *testing.T) {
	broken := errors.New("input/output error")
	in := packGzip(t, sample(3000))
	r, _, err := Reader(io.MultiReader(bytes.NewReader(in[:len(in)/2]), iotest.ErrReader(broken)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, broken) || errors.Is(err, ErrDamaged) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if _, _, err := Reader(iotest.ErrReader(broken), "x"); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func FuzzReader(f *testing.F) {
	data := sample(30)
	f.Add(packGzip(f, data))
	f.Add(packXZ(f, data, xz.WriterConfig{DictCap: 1 << 12, BlockSize: 500}))
	f.Add(packZstd(f, data, 1<<12))
	f.Add([]byte("BZh91AY&SY"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, _, err := Reader(bytes.NewReader(in), "x")
		if err != nil {
			return
		}
		if n, err := io.Copy(io.Discard, io.LimitReader(r, 8<<20)); n == 0 && err == nil && len(in) > 0 && len(in) < 10 {
			t.Errorf("%d bytes of input vanished", len(in))
		}
	})
}

func ExampleReader() {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprintln(w, "[    0.087803] clocksource: Switched to clocksource tsc")
	w.Close()

	r, format, err := Reader(&packed, "dmesg.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := io.ReadAll(r)
	fmt.Printf("%s: %s%v\n", format, text, err)
	// Output:
	// gzip: [    0.087803] clocksource: Switched to clocksource tsc
	// <nil>
}
