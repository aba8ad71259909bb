package klog

import (
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Order recognises UTF-16 by its byte order mark or by every second byte
// of the beginning being zero. It returns 'L', 'B' or 0 and the length of the mark.
func utf16Order(head []byte) (order byte, skip int) {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return 'L', 2
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return 'B', 2
	}
	n := min(len(head), 64) &^ 1
	if n < 16 {
		return 0, 0
	}
	var zero [2]int
	for i := range n {
		if head[i] == 0 {
			zero[i&1]++
		}
	}
	switch {
	case zero[1] == n/2 && zero[0] == 0:
		return 'L', 0
	case zero[0] == n/2 && zero[1] == 0:
		return 'B', 0
	}
	return 0, 0
}

// utf16Reader recodes UTF-16 as UTF-8. Files of which a part is UTF-16 exist:
// one shell writes it, another appends. So it goes by what it sees: where the
// bytes are plain text they are passed on, and where a byte is missing it falls
// into step again.
type utf16Reader struct {
	r     io.Reader
	big   bool
	in    [4096]byte
	n     int    // bytes in in
	out   []byte // recoded, not yet delivered
	high  rune   // first half of a surrogate pair
	plain bool   // within plain text
	err   error
}

// plainRun is how many bytes of plain text in a row are no UTF-16. In Chinese
// text so many letters in a row have two such bytes each hardly ever.
const plainRun = 24

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		k, err := u.r.Read(u.in[u.n:])
		u.n += k
		u.err = err
		u.recode()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// recode recodes what is there, but for the last bytes, which are needed to
// judge what comes before them.
func (u *utf16Reader) recode() {
	u.out = u.out[:0]
	i, keep := 0, plainRun
	if u.err != nil {
		keep = 1 // the rest is all there is
	}
	for i+keep < u.n {
		rest := u.in[i:u.n]
		first, second := rest[0], rest[1]
		if u.plain = u.plain || plainText(rest); u.plain {
			if u.plain = first != 0 && second != 0; u.plain {
				u.out = append(u.out, first)
				i++
				continue
			}
		}
		if (first == '\n' || second == '\n') && isPlain(first) && isPlain(second) {
			u.out = append(u.out, first) // one byte too many
			i++
			continue
		}
		odd, even := second, first
		if u.big {
			odd, even = first, second
		}
		if even == 0 && isPlain(odd) && (odd == '\n' || len(rest) > 3 && isPlain(u.other(rest))) {
			if isPlain(first) {
				u.out = append(u.out, first)
			}
			i++ // out of step
			continue
		}
		i += 2
		u.add(rune(odd)<<8 | rune(even))
	}
	if u.err != nil && i < u.n && isPlain(u.in[i]) {
		u.out = append(u.out, u.in[i])
		i = u.n
	}
	copy(u.in[:], u.in[i:u.n])
	u.n -= i
}

// other returns the high byte of the second unit of b if its low byte is zero.
func (u *utf16Reader) other(b []byte) byte {
	switch {
	case u.big && b[3] == 0:
		return b[2]
	case !u.big && b[2] == 0:
		return b[3]
	}
	return 0
}

func (u *utf16Reader) add(c rune) {
	if u.high != 0 {
		pair := utf16.DecodeRune(u.high, c)
		u.high = 0
		u.out = utf8.AppendRune(u.out, pair)
		if pair != utf8.RuneError {
			return
		}
	}
	if c >= 0xd800 && c < 0xdc00 {
		u.high = c
		return
	}
	u.out = utf8.AppendRune(u.out, c)
}

// plainText reports that b begins with so much plain text that it is no UTF-16.
func plainText(b []byte) bool {
	if len(b) < plainRun {
		return false
	}
	plain := 0
	for _, c := range b[:plainRun] {
		if c == 0 {
			return false
		}
		if isPlain(c) {
			plain++
		}
	}
	return plain > plainRun*3/4
}

func isPlain(c byte) bool { return c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t' }
