package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Format is the form of a kernel image.
type Format string

// The forms.
const (
	BzImage Format = "bzImage" // compressed, with its own decompressor: what distributions install
	Vmlinux Format = "vmlinux" // the kernel itself, an ELF file
)

// Info is what an image says of itself.
type Info struct {
	Format Format `json:"format"`
	// Version is the text in a bzImage's header: release, builder and build. A
	// vmlinux has it in no fixed place; it stays empty there.
	Version string `json:"version,omitempty"`
	// Packing is how a bzImage's kernel is compressed, "" for a vmlinux.
	Packing string `json:"packing,omitempty"`
	// PVH says that a vmlinux has the entry point through which QEMU can start
	// it directly: the ELF note XEN_ELFNOTE_PHYS32_ENTRY (CONFIG_PVH, 5.0 and later).
	PVH bool `json:"pvh,omitempty"`
}

// Sentinels for what callers branch on.
var (
	// ErrNoKernel: the file is no kernel image of the x86 architecture.
	ErrNoKernel = errors.New("no kernel image of the x86 architecture")
	// ErrDamaged: the image contradicts itself.
	ErrDamaged = errors.New("the kernel image is damaged")
	// ErrPacking: the kernel is packed in a way that is not undone here.
	ErrPacking = errors.New("the kernel is packed in a way that is not undone here")
)

// MaxVmlinux bounds what Extract writes, in bytes. Distribution kernels unpack
// to 40 to 120 MiB.
const MaxVmlinux = 512 << 20

// Fields of a bzImage's header, from the boot protocol's documentation.
const (
	offSetupSects    = 0x1f1 // u8: sectors of real mode code after the first; 0 means 4
	offMagic         = 0x202 // "HdrS"
	offProtocol      = 0x206 // u16: 0x0208 and later have the payload fields
	offVersion       = 0x20e // u16: place of the version text, less 0x200
	offPayload       = 0x248 // u32: place of the packed kernel after the real mode code
	offPayloadLength = 0x24c // u32
	headerSize       = 0x268
	sector           = 512
	maxVersion       = 256
)

// Inspect reads the headers of an image of the given size.
func Inspect(r io.ReaderAt, size int64) (Info, error) {
	info, _, err := inspect(r, size)
	return info, err
}

// payload is the part of a file that holds the packed kernel.
type payload struct{ offset, length int64 }

func inspect(r io.ReaderAt, size int64) (Info, payload, error) {
	head := make([]byte, min(size, headerSize))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return Info{}, payload{}, fmt.Errorf("read the image's header: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		pvh, err := inspectELF(r, size)
		if err != nil {
			return Info{}, payload{}, err
		}
		return Info{Format: Vmlinux, PVH: pvh}, payload{}, nil
	case len(head) == headerSize && string(head[offMagic:offMagic+4]) == "HdrS":
		return inspectBzImage(r, size, head)
	}
	return Info{}, payload{}, fmt.Errorf("%w: it has neither a bzImage's header nor an ELF file's", ErrNoKernel)
}

func inspectBzImage(r io.ReaderAt, size int64, head []byte) (Info, payload, error) {
	u16 := func(at int) int64 { return int64(binary.LittleEndian.Uint16(head[at:])) }
	u32 := func(at int) int64 { return int64(binary.LittleEndian.Uint32(head[at:])) }
	none := func(err error) (Info, payload, error) { return Info{}, payload{}, err }
	if u16(offProtocol) < 0x208 {
		return none(fmt.Errorf("%w: boot protocol %#04x, want 0x0208 (2.6.26) or later", ErrNoKernel, u16(offProtocol)))
	}
	sects := int64(head[offSetupSects])
	if sects == 0 {
		sects = 4
	}
	p := payload{offset: (sects+1)*sector + u32(offPayload), length: u32(offPayloadLength)}
	// Shorter than a magic number and the size at the end, it packs nothing.
	if p.length < 16 || p.offset+p.length > size {
		return none(fmt.Errorf("%w: the packed kernel is said to lie at %d to %d of %d bytes; the file may have been cut",
			ErrDamaged, p.offset, p.offset+p.length, size))
	}
	var magic [6]byte
	if _, err := r.ReadAt(magic[:], p.offset); err != nil {
		return none(fmt.Errorf("read the image: %w", err))
	}
	return Info{Format: BzImage, Version: versionText(r, size, u16(offVersion)), Packing: packing(magic[:])}, p, nil
}

// versionText reads the text that a bzImage's header points to, "" if it points to none.
func versionText(r io.ReaderAt, size, at int64) string {
	if at += 0x200; at == 0x200 || at >= size {
		return ""
	}
	text := make([]byte, min(maxVersion, size-at))
	if _, err := r.ReadAt(text, at); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	for _, c := range text {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return string(bytes.TrimSpace(text))
}

// packing names the packing that begins with these bytes.
func packing(magic []byte) string {
	for _, p := range []struct{ name, magic string }{
		{"gzip", "\x1f\x8b\x08"}, {"xz", "\xfd7zXZ\x00"}, {"zstd", "\x28\xb5\x2f\xfd"}, {"bzip2", "BZh"},
		{"lz4", "\x02\x21\x4c\x18"}, {"lzma", "\x5d\x00\x00"}, {"lzo", "\x89LZO"},
	} {
		if bytes.HasPrefix(magic, []byte(p.magic)) {
			return p.name
		}
	}
	return "unknown"
}
