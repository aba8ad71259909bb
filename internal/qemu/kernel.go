package qemu

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cswatch/cswatch/internal/qemu/image"
)

// Kernel is an image that is ready for QEMU.
type Kernel struct {
	// Source is the file that was named, SHA256 the sum of the image in it.
	Source string `json:"source"`
	SHA256 string `json:"sha256"`
	// Version is the version text of the image, "" if it has none.
	Version string `json:"version,omitempty"`
	// Path is the file that QEMU boots, and Format its form.
	Path   string       `json:"path"`
	Format image.Format `json:"format"`
	// Why says why a compressed image is booted as it is, "" if it is not.
	Why string `json:"why,omitempty"`
}

// Prepare makes the kernel in a file ready: it takes it out of a Debian package,
// and decompresses a bzImage into the cache if QEMU can boot the result, through
// its PVH entry point. Else QEMU gets the bzImage, which takes longer to boot.
// What is in the cache is found by the sum of the image, and used again.
func (c Config) Prepare(file string) (Kernel, error) {
	k, err := c.prepare(file)
	if err != nil {
		return Kernel{}, fmt.Errorf("make the kernel %s ready: %w", file, err)
	}
	return k, nil
}

func (c Config) prepare(file string) (Kernel, error) {
	f, err := os.Open(file)
	if err != nil {
		return Kernel{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Kernel{}, err
	}
	if !st.Mode().IsRegular() {
		return Kernel{}, errors.New("not a regular file")
	}
	head := make([]byte, 16)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Kernel{}, err
	}
	if !image.IsPackage(head[:n]) {
		return c.ready(Kernel{Source: file, Path: file}, f, st.Size())
	}
	kernel, _, err := image.FromPackage(f)
	if err != nil {
		return Kernel{}, err
	}
	return c.ready(Kernel{Source: file}, bytes.NewReader(kernel), int64(len(kernel)))
}

// ready looks at an image. Path is empty if it is not a file of its own.
func (c Config) ready(k Kernel, r io.ReaderAt, size int64) (Kernel, error) {
	info, err := image.Inspect(r, size)
	if err != nil {
		return Kernel{}, err
	}
	if info.Format == image.Vmlinux && !info.PVH {
		return Kernel{}, fmt.Errorf("%w: this vmlinux has no PVH entry point (CONFIG_PVH), without which QEMU cannot boot it; name the bzImage instead", image.ErrNoKernel)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, size)); err != nil {
		return Kernel{}, err
	}
	k.SHA256, k.Version, k.Format = hex.EncodeToString(sum.Sum(nil)), info.Version, info.Format
	if info.Format == image.BzImage {
		done, err := c.unpacked(&k, r, size)
		if done || err != nil {
			return k, err
		}
	}
	if k.Path != "" {
		return k, nil
	}
	k.Path, err = c.keep(k.SHA256+"."+string(info.Format), func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(r, 0, size))
		return err
	})
	return k, err
}

// unpacked sets Path to the unpacked kernel and returns true, or Why to the
// reason why it is to be booted packed, and returns false.
func (c Config) unpacked(k *Kernel, r io.ReaderAt, size int64) (bool, error) {
	path, err := c.keep(k.SHA256+".vmlinux", func(w io.Writer) error {
		_, err := image.Extract(w, r, size)
		return err
	})
	if errors.Is(err, image.ErrPacking) {
		k.Why = err.Error()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	info, err := image.Inspect(f, st.Size())
	if err != nil {
		return false, fmt.Errorf("the kernel that was unpacked to %s: %w", path, err)
	}
	if !info.PVH {
		k.Why = "the kernel has no PVH entry point (CONFIG_PVH)"
		return false, os.Remove(path)
	}
	k.Path, k.Format = path, image.Vmlinux
	return true, nil
}

// keep returns the path of a file in the cache, after writing it if it is not
// there. A file in the cache is always whole.
func (c Config) keep(name string, write func(io.Writer) error) (string, error) {
	dir, err := c.CacheFolder("unpacked")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.CreateTemp(dir, ".new")
	if err != nil {
		return "", err
	}
	err = write(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return path, nil
}
