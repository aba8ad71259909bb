package qemu

import (
	"fmt"
	"io"
	"os"

	"github.com/cswatch/cswatch/internal/qemu/newc"
)

// writeInitramfs writes the initial RAM file system: the guest program as
// /init, the two devices that a Go program wants before it can mount any, and
// the specification's files.
func writeInitramfs(w io.Writer, guestPath string, files []File) error {
	a := newc.NewWriter(w)
	for _, d := range []newc.Entry{
		{Name: "/dev/console", Kind: newc.Char, Perm: 0o600, Major: 5, Minor: 1},
		{Name: "/dev/null", Kind: newc.Char, Perm: 0o666, Major: 1, Minor: 3},
	} {
		if err := a.Add(d, nil); err != nil {
			return err
		}
	}
	for _, f := range append([]File{{Guest: "/init", Host: guestPath, Perm: 0o755}}, files...) {
		if err := addFile(a, f); err != nil {
			return err
		}
	}
	return a.Close()
}

func addFile(a *newc.Writer, f File) error {
	in, err := os.Open(f.Host)
	if err != nil {
		return fmt.Errorf("put a file into the initramfs: %w", err)
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return fmt.Errorf("put a file into the initramfs: %w", err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("put %s into the initramfs: not a regular file", f.Host)
	}
	perm := f.Perm
	if perm == 0 {
		perm = uint32(st.Mode().Perm())
	}
	return a.Add(newc.Entry{Name: f.Guest, Kind: newc.File, Perm: perm, Size: st.Size()}, in)
}
