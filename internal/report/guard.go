package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/cswatch/cswatch/klog"
)

// ownTo hands a page of a command to w, and sees to it that none of its lines is
// taken for the kernel's.
func (p *page) ownTo(w io.Writer, command, what string) error {
	if _, err := w.Write(disown(p.b.Bytes(), command)); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// disown reads a page back as a log. A line that the parser takes for the
// kernel's although nothing in it is quoted gets a prefix with the name of the
// command: a sentence may have been broken where the rest reads like a kernel
// message, and a reason from a log, or a name in a recording, may hold anything.
func disown(page []byte, command string) []byte {
	ours := "cswatch(" + command + "): "
	// Each round can only uncover lines that followed a marked one.
	for range 8 {
		seen := map[int]bool{}
		r := klog.NewReader(bytes.NewReader(colourless(page)), "")
		for r.Next() {
			seen[r.Event().Source.Line] = true
		}
		if len(seen) == 0 {
			break
		}
		var out []byte
		number := 0
		for line := range bytes.Lines(page) {
			number++
			text := bytes.TrimLeft(line, " ")
			if seen[number] && !bytes.HasPrefix(text, []byte("cswatch(")) {
				out = append(out, line[:len(line)-len(text)]...)
				out = append(out, ours...)
				line = text
			}
			out = append(out, line...)
		}
		if len(out) == len(page) {
			break
		}
		page = out
	}
	return page
}

// colourless is a page without the colours that paint added. No other escape
// character is on it.
func colourless(page []byte) []byte {
	if !bytes.ContainsRune(page, 0x1b) {
		return page
	}
	var out []byte
	for len(page) > 0 {
		before, after, found := bytes.Cut(page, []byte("\x1b["))
		out = append(out, before...)
		if !found {
			break
		}
		_, page, _ = bytes.Cut(after, []byte("m"))
	}
	return out
}
