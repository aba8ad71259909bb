package host

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// folderFS reads a folder through os.Root, which no symbolic link can leave.
// os.Root refuses absolute links; here they are resolved within the root,
// because /proc/device-tree and others are absolute.
type folderFS struct{ root *os.Root }

func (f folderFS) Open(name string) (fs.File, error) {
	var file *os.File
	err := f.follow("open", name, func(name string) (err error) {
		file, err = f.open(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (f folderFS) Stat(name string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := f.follow("stat", name, func(name string) (err error) {
		info, err = f.root.Stat(name)
		return err
	})
	return info, err
}

// follow runs an operation on a name, and once more on what the name resolves
// to if the first try fails for another reason than absence or permission.
func (f folderFS) follow(op, name string, do func(name string) error) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	err := do(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errSpecial) {
		return err
	}
	resolved, err := resolve(name, f.readlink)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return do(resolved)
}

func (f folderFS) readlink(name string) (string, bool, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return "", false, err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", false, nil
	}
	target, err := f.root.Readlink(name)
	return target, true, err
}

// open opens regular files and folders only: a named pipe would block for ever,
// and a device may do anything.
func (f folderFS) open(name string) (*os.File, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errSpecial}
	}
	// Non-blocking, should the file become a pipe after all.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err = file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errSpecial}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
