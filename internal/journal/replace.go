package journal

import (
	"errors"
	"io/fs"
	"os"
)

// Replace writes a file in the place of another: whoever reads it, and whatever ends this process, it is the old
// one or the new one, whole. It is not waited for until it is on the disk.
func Replace(name string, data []byte, mode fs.FileMode) error {
	beside := name + ".new"
	if err := os.WriteFile(beside, data, mode); err != nil {
		return errors.Join(err, removed(beside))
	}
	if err := os.Rename(beside, name); err != nil {
		return errors.Join(err, removed(beside))
	}
	return nil
}

// removed takes away what is left of a file that could not be written.
func removed(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
