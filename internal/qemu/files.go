package qemu

import (
	"fmt"

	"github.com/cswatch/cswatch/internal/guest"
)

// maxFiles is more than a kernel command line can name.
const maxFiles = 1024

// files puts the files together that a guest hands over in parts. The zero value has none.
type files struct {
	whole map[string][]byte // from the beginning, as far as no part is missing
	cut   map[string]string // why a file is not all there
	ended map[string]bool   // its last part was there
	size  int
}

// add takes in a part.
func (f *files) add(p *guest.FilePart) {
	if f.whole == nil {
		f.whole, f.cut, f.ended = map[string][]byte{}, map[string]string{}, map[string]bool{}
	}
	have := f.whole[p.Path]
	if have == nil && len(f.whole) == maxFiles {
		return
	}
	if have == nil {
		have = []byte{} // a file, though an empty one
		f.whole[p.Path] = have
	}
	f.ended[p.Path] = f.ended[p.Path] || p.Last
	why := ""
	switch {
	case f.cut[p.Path] != "":
		return // what comes after a gap has no place
	case p.Offset != int64(len(have)):
		why = fmt.Sprintf("a part is missing: byte %d was next, and byte %d came", len(have), p.Offset)
	case f.size+len(p.Data) > filesKept:
		why = fmt.Sprintf("all files together have more than %d MiB", filesKept>>20)
	default:
		f.whole[p.Path] = append(have, p.Data...)
		f.size += len(p.Data)
		if p.Cut {
			why = "the guest handed over no more of it"
		}
	}
	if why != "" {
		f.cut[p.Path] = why
	}
}

// end says that no more parts come.
func (f *files) end() {
	for path := range f.whole {
		if !f.ended[path] && f.cut[path] == "" {
			f.cut[path] = "its last part never came"
		}
	}
	if len(f.cut) == 0 {
		f.cut = nil
	}
}
