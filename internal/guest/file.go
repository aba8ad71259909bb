package guest

import (
	"errors"
	"fmt"
	"io"
)

// Bounds of files that are handed over, in bytes.
const (
	FileChunk = 64 << 10 // of one part; a third more as a line
	MaxFile   = 16 << 20 // of all parts of a file
)

// FilePart is a part of a file that the plan fetches. The parts of a file come in
// their order, and those of the next file after them.
type FilePart struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"` // where in the file the part begins: a part that was lost leaves a gap
	Data   []byte `json:"data"`   // at most FileChunk bytes
	Last   bool   `json:"last"`
	// Cut says of the last part that the file goes on: it is longer than MaxFile, or
	// could not be read further. A trouble record says which.
	Cut bool `json:"cut,omitempty"`
}

// check reports what is wrong with the part as such.
func (p FilePart) check() error {
	err := checkPath(p.Path)
	switch end := p.Offset + int64(len(p.Data)); {
	case err != nil:
		return fmt.Errorf("a part of a file: %w", err)
	case len(p.Data) > FileChunk:
		return fmt.Errorf("a part of %s with %d bytes: want %d at most", p.Path, len(p.Data), FileChunk)
	case p.Offset < 0 || p.Offset > MaxFile || end > MaxFile:
		return fmt.Errorf("a part of %s that begins at byte %d and has %d: want the first %d of a file", p.Path, p.Offset, len(p.Data), MaxFile)
	case p.Cut && !p.Last:
		return fmt.Errorf("a part of %s that cuts it and is not the last", p.Path)
	}
	return nil
}

// fetch hands over a file. open opens it; it is closed here.
func fetch(path string, open func(path string) (io.ReadCloser, error), say func(Record)) {
	trouble := func(err error) {
		say(Record{Type: TypeTrouble, Trouble: fmt.Sprintf("fetch %s: %v", path, err)})
	}
	f, err := open(path)
	if err != nil {
		trouble(err)
		return
	}
	defer f.Close()
	part := FilePart{Path: path}
	for !part.Last {
		buffer := make([]byte, FileChunk) // the receiver keeps it
		n, err := io.ReadFull(f, buffer)
		part.Data = buffer[:n]
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			part.Last = true
		case err != nil:
			trouble(err)
			part.Last, part.Cut = true, true
		case part.Offset+int64(n) == MaxFile:
			part.Last = true
			if more, _ := io.ReadFull(f, make([]byte, 1)); more > 0 {
				trouble(fmt.Errorf("it has more than %d MiB: the first of them are handed over", MaxFile>>20))
				part.Cut = true
			}
		}
		said := part
		say(Record{Type: TypeFile, File: &said})
		part.Offset += int64(n)
	}
}
