package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/internal/unpack"
)

// ErrNoPackage says that the file is no Debian package, or holds no kernel.
var ErrNoPackage = errors.New("no Debian package with a kernel in it")

// Limits of what is read of a package.
const (
	// MaxKernel bounds a kernel in a package, in bytes.
	MaxKernel  = 256 << 20
	maxMembers = 16      // of the package's outer archive: three in practice
	maxEntries = 100_000 // of files in it: kernel packages have about 5 000
)

const arMagic = "!<arch>\n"

// IsPackage reports whether a file that begins with head is a Debian package.
func IsPackage(head []byte) bool { return bytes.HasPrefix(head, []byte(arMagic)) }

// FromPackage reads a Debian package up to the first kernel in it, which is
// boot/vmlinuz-RELEASE or lib/modules/RELEASE/vmlinuz (with or without usr/), and
// returns it with its release. Nothing is written to disk.
func FromPackage(r io.Reader) (kernel []byte, release string, err error) {
	in := bufio.NewReader(r)
	magic := make([]byte, len(arMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != arMagic {
		return nil, "", fmt.Errorf("%w: it does not begin like one", ErrNoPackage)
	}
	for range maxMembers {
		name, size, err := arHeader(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", fmt.Errorf("%w: %w", ErrNoPackage, err)
		}
		if strings.HasPrefix(name, "data.tar") {
			return fromData(io.LimitReader(in, size), name)
		}
		// Members are padded to an even length.
		if _, err := io.CopyN(io.Discard, in, size+size&1); err != nil {
			return nil, "", fmt.Errorf("%w: it ends within its member %s", ErrNoPackage, name)
		}
	}
	return nil, "", fmt.Errorf("%w: it has no member data.tar", ErrNoPackage)
}

// arHeader reads the header of the next member of an ar archive.
func arHeader(r io.Reader) (name string, size int64, err error) {
	var h [60]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return "", 0, err
	}
	if string(h[58:]) != "`\n" {
		return "", 0, errors.New("the header of a member is damaged")
	}
	name = strings.TrimRight(strings.TrimRight(string(h[:16]), " "), "/")
	size, err = strconv.ParseInt(strings.TrimRight(string(h[48:58]), " "), 10, 64)
	if err != nil || size < 0 {
		return "", 0, fmt.Errorf("the size of member %q is %q", name, h[48:58])
	}
	return name, size, nil
}

// fromData looks for the kernel in the package's files.
func fromData(r io.Reader, name string) ([]byte, string, error) {
	plain, _, err := unpack.Reader(r, name)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrNoPackage, err)
	}
	files := tar.NewReader(plain)
	for range maxEntries {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, "", fmt.Errorf("%w: none of its files is a kernel; debug and meta packages hold none", ErrNoPackage)
		}
		if err != nil {
			return nil, "", fmt.Errorf("%w: read the files in %s: %w", ErrNoPackage, name, err)
		}
		release := kernelRelease(h.Name)
		if release == "" || h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > MaxKernel {
			return nil, "", fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrNoPackage, h.Name, h.Size, MaxKernel)
		}
		kernel, err := io.ReadAll(files)
		if err != nil {
			return nil, "", fmt.Errorf("%w: read %s: %w", ErrNoPackage, h.Name, err)
		}
		return kernel, release, nil
	}
	return nil, "", fmt.Errorf("%w: no kernel among its first %d files", ErrNoPackage, maxEntries)
}

// kernelRelease returns the release of the kernel that a path names, "" if it names none.
func kernelRelease(file string) string {
	file = strings.TrimPrefix(path.Clean("/"+file), "/")
	if release, ok := strings.CutPrefix(file, "boot/vmlinuz-"); ok && !strings.Contains(release, "/") {
		return release
	}
	release, ok := strings.CutPrefix(strings.TrimPrefix(file, "usr/"), "lib/modules/")
	release, isKernel := strings.CutSuffix(release, "/vmlinuz")
	if ok && isKernel && !strings.Contains(release, "/") {
		return release
	}
	return ""
}
