package cli

import (
	"errors"
	"fmt"
	"os"
)

// recordingFile is the file of a recording; nil for none.
type recordingFile struct{ *os.File }

// createRecording makes a new file: a recording cannot be had again.
func createRecording(name string) (*recordingFile, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil, usagef("--record: %s exists: name a new file", name)
	}
	if err != nil {
		return nil, fmt.Errorf("create the recording: %w", err)
	}
	return &recordingFile{f}, nil
}

// close sees to it that the recording is on the disk.
func (r *recordingFile) close() error {
	if r == nil {
		return nil
	}
	if err := errors.Join(r.Sync(), r.Close()); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// discard takes away a recording in which nothing is.
func (r *recordingFile) discard() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.Close(), os.Remove(r.Name()))
}
