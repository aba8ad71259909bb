package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Sizes of the kernel log in an archive: what a boot says first and what was said last.
const (
	maxLogHead = 4 << 20
	maxLogTail = 4 << 20
	maxLogLine = 64 << 10 // a longer line loses its rest
)

// headTail keeps the first and the last lines of a log, up to a number of bytes
// each, after every line went through a filter.
type headTail struct {
	filter   func(line string, block initBlock) string
	headSize int
	tailSize int

	head    bytes.Buffer
	full    bool // the head is
	blocks  blockTracker
	tail    []trackedLine
	pending int   // bytes in tail
	dropped int64 // bytes
	lines   int64 // dropped
}

// trackedLine is a line that has not been filtered yet.
type trackedLine struct {
	text  string
	block initBlock
}

// readFrom reads a log to its end. What was read before an error is kept.
func (h *headTail) readFrom(r io.Reader) error {
	br := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := br.ReadSlice('\n')
		if len(line) > 0 {
			h.add(string(bytes.TrimRight(line, "\r\n")))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = br.ReadSlice('\n')
			h.dropped += int64(len(line))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the kernel log: %w", err)
		}
	}
}

func (h *headTail) add(line string) {
	block := h.blocks.see(line)
	if !h.full {
		f := h.filter(line, block)
		if h.head.Len()+len(f)+1 <= h.headSize {
			h.head.WriteString(f)
			h.head.WriteByte('\n')
			return
		}
		h.full = true
	}
	// The filter is slow: lines that the tail will lose need not go through it.
	h.tail = append(h.tail, trackedLine{line, block})
	h.pending += lineCost(line)
	for h.pending > h.tailSize && len(h.tail) > 0 {
		h.dropFirst()
	}
}

func (h *headTail) dropFirst() {
	h.pending -= lineCost(h.tail[0].text)
	h.dropped += int64(len(h.tail[0].text) + 1)
	h.tail = h.tail[1:]
	h.lines++
}

// lineCost is what a line counts in the tail: empty lines take memory, too.
func lineCost(line string) int { return max(len(line)+1, 32) }

// bytes returns the log. A line of our own stands where lines are missing.
func (h *headTail) bytes() []byte {
	for i, l := range h.tail {
		h.tail[i].text = h.filter(l.text, l.block)
		h.pending += lineCost(h.tail[i].text) - lineCost(l.text) // the filter may lengthen
	}
	for h.pending > h.tailSize && len(h.tail) > 0 {
		h.dropFirst()
	}
	out := &h.head
	if h.lines > 0 {
		fmt.Fprintf(out, "cswatch(collect): %d lines of the kernel log were left out here\n", h.lines)
	}
	for _, l := range h.tail {
		out.WriteString(l.text)
		out.WriteByte('\n')
	}
	return out.Bytes()
}
