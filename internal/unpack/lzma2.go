package unpack

// lzma2 decodes the chunks of LZMA2. It is written for logs that were cut: a
// chunk of which only a part is left is decoded as far as its bytes go, where a
// decoder that works chunk by chunk would lose up to 2 MiB, that is, most logs
// as a whole. The window grows with the output, so that the size that a header
// claims costs nothing.
type lzma2 struct {
	win   window
	known bool // properties have been set

	lc, lp, pb uint
	state      int
	rep        [4]uint32
	probs      models

	in         []byte // compressed bytes of the chunk
	pos        int
	rng, code  uint32
	short      bool // the decoder asked for more bytes than there are
	copyLength int  // rest of a match that did not fit into the caller's buffer
}

// Sizes and limits of the format.
const (
	states      = 12
	posStates   = 16
	literalSize = 0x300
	maxLcLp     = 4
	topValue    = 1 << 24
	modelBits   = 11
	moveBits    = 5
	halfModel   = 1 << (modelBits - 1)
	minMatch    = 2
	endPosSlot  = 14 // slots from here on have directly coded bits
)

// models are the adaptive probabilities.
type models struct {
	match    [states * posStates]uint16
	rep      [states]uint16
	rep0     [states]uint16
	rep1     [states]uint16
	rep2     [states]uint16
	rep0Long [states * posStates]uint16
	slot     [4][64]uint16
	special  [128]uint16
	align    [16]uint16
	length   [2]lengthModel // of matches and of repeated matches
	literal  [literalSize << maxLcLp]uint16
}

type lengthModel struct {
	choice, choice2 uint16
	low, mid        [posStates][8]uint16
	high            [256]uint16
}

func reset(p []uint16) {
	for i := range p {
		p[i] = halfModel
	}
}

// resetState puts all probabilities back to one half.
func (d *lzma2) resetState() {
	m := &d.probs
	for _, p := range [][]uint16{m.match[:], m.rep[:], m.rep0[:], m.rep1[:], m.rep2[:], m.rep0Long[:], m.special[:], m.align[:],
		m.slot[0][:], m.slot[1][:], m.slot[2][:], m.slot[3][:], m.literal[:]} {
		reset(p)
	}
	for i := range m.length {
		l := &m.length[i]
		l.choice, l.choice2 = halfModel, halfModel
		reset(l.high[:])
		for j := range posStates {
			reset(l.low[j][:])
			reset(l.mid[j][:])
		}
	}
	d.state = 0
	d.rep = [4]uint32{}
}

// setProperties reads lc, lp and pb from their byte.
func (d *lzma2) setProperties(b byte) bool {
	if b >= 9*5*5 {
		return false
	}
	d.lc, d.lp, d.pb = uint(b%9), uint(b/9%5), uint(b/45)
	d.known = d.lc+d.lp <= maxLcLp
	return d.known
}

// start begins a compressed chunk.
func (d *lzma2) start(in []byte) bool {
	d.in, d.pos, d.short, d.copyLength = in, 0, false, 0
	d.rng, d.code = 0xffffffff, 0
	if len(in) < 5 {
		d.short = true
		return true
	}
	for _, b := range in[1:5] {
		d.code = d.code<<8 | uint32(b)
	}
	d.pos = 5
	return in[0] == 0
}

func (d *lzma2) normalize() {
	if d.rng < topValue {
		d.rng <<= 8
		d.code <<= 8
		if d.pos < len(d.in) {
			d.code |= uint32(d.in[d.pos])
			d.pos++
		} else {
			d.short = true
		}
	}
}

// bit decodes one bit with an adaptive probability.
func (d *lzma2) bit(p *uint16) uint32 {
	d.normalize()
	v := uint32(*p)
	bound := (d.rng >> modelBits) * v
	if d.code < bound {
		d.rng = bound
		*p = uint16(v + (1<<modelBits-v)>>moveBits)
		return 0
	}
	d.rng -= bound
	d.code -= bound
	*p = uint16(v - v>>moveBits)
	return 1
}

// tree decodes n bits, the high one first.
func (d *lzma2) tree(p []uint16, n uint) uint32 {
	m := uint32(1)
	for range n {
		m = m<<1 | d.bit(&p[m])
	}
	return m - 1<<n
}

// reverse decodes n bits, the low one first.
func (d *lzma2) reverse(p []uint16, n uint) uint32 {
	m, v := uint32(1), uint32(0)
	for i := range n {
		b := d.bit(&p[m])
		m = m<<1 | b
		v |= b << i
	}
	return v
}

// direct decodes n bits of even probability.
func (d *lzma2) direct(n uint) uint32 {
	v := uint32(0)
	for range n {
		d.normalize()
		d.rng >>= 1
		b := uint32(0)
		if d.code >= d.rng {
			d.code -= d.rng
			b = 1
		}
		v = v<<1 | b
	}
	return v
}

func (d *lzma2) matchLength(l *lengthModel, posState uint32) int {
	switch {
	case d.bit(&l.choice) == 0:
		return int(d.tree(l.low[posState][:], 3)) + minMatch
	case d.bit(&l.choice2) == 0:
		return int(d.tree(l.mid[posState][:], 3)) + minMatch + 8
	}
	return int(d.tree(l.high[:], 8)) + minMatch + 16
}

func (d *lzma2) literalByte() byte {
	prev := uint32(0)
	if d.win.total > 0 {
		prev = uint32(d.win.at(0))
	}
	context := (uint32(d.win.total)&(1<<d.lp-1))<<d.lc + prev>>(8-d.lc)
	p := d.probs.literal[literalSize*context : literalSize*(context+1)]
	m := uint32(1)
	if d.state >= 7 { // after a match the byte that it did not foresee is a hint
		hint := uint32(d.win.at(d.rep[0]))
		for m < 0x100 {
			hint <<= 1
			h := hint & 0x100
			b := d.bit(&p[0x100+h+m])
			m = m<<1 | b
			if h>>8 != b {
				break
			}
		}
	}
	for m < 0x100 {
		m = m<<1 | d.bit(&p[m])
	}
	return byte(m)
}

// decode fills p and returns how much it decoded: less than all of p if the
// input is used up. It returns false if the data are damaged.
func (d *lzma2) decode(p []byte) (int, bool) {
	n := 0
	for n < len(p) {
		if d.copyLength > 0 {
			b := d.win.at(d.rep[0])
			d.copyLength--
			d.win.put(b)
			p[n] = b
			n++
			continue
		}
		if d.short {
			return n, true
		}
		posState := uint32(d.win.total) & (1<<d.pb - 1)
		if d.bit(&d.probs.match[d.state*posStates+int(posState)]) == 0 {
			if d.state >= 7 && !d.win.has(d.rep[0]) {
				return n, d.short
			}
			b := d.literalByte()
			if d.short {
				return n, true
			}
			d.win.put(b)
			p[n] = b
			n++
			switch {
			case d.state < 4:
				d.state = 0
			case d.state < 10:
				d.state -= 3
			default:
				d.state -= 6
			}
			continue
		}
		length := d.match(posState)
		if d.short {
			return n, true
		}
		if !d.win.has(d.rep[0]) {
			return n, false
		}
		d.copyLength = length
	}
	return n, true
}

// match decodes a match, moves its distance to rep[0], and returns its length.
func (d *lzma2) match(posState uint32) int {
	m := &d.probs
	at := d.state*posStates + int(posState)
	late := d.state >= 7
	if d.bit(&m.rep[d.state]) == 0 {
		d.rep[3], d.rep[2], d.rep[1] = d.rep[2], d.rep[1], d.rep[0]
		length := d.matchLength(&m.length[0], posState)
		d.rep[0] = d.distance(length)
		d.state = 7
		if late {
			d.state = 10
		}
		return length
	}
	if d.bit(&m.rep0[d.state]) == 0 {
		if d.bit(&m.rep0Long[at]) == 0 {
			d.state = 9
			if late {
				d.state = 11
			}
			return 1
		}
	} else {
		i := 1
		if d.bit(&m.rep1[d.state]) == 1 {
			i = 2 + int(d.bit(&m.rep2[d.state]))
		}
		v := d.rep[i]
		copy(d.rep[1:i+1], d.rep[:i])
		d.rep[0] = v
	}
	length := d.matchLength(&m.length[1], posState)
	d.state = 8
	if late {
		d.state = 11
	}
	return length
}

// distance decodes how far back a match lies, less one.
func (d *lzma2) distance(length int) uint32 {
	slot := d.tree(d.probs.slot[min(length-minMatch, 3)][:], 6)
	if slot < 4 {
		return slot
	}
	n := uint(slot>>1 - 1)
	v := (2 | slot&1) << n
	if slot < endPosSlot {
		// The trees of these slots lie one behind the other.
		return v + d.reverse(d.probs.special[v-slot:], n)
	}
	v += d.direct(n-4) << 4
	return v + d.reverse(d.probs.align[:], 4)
}

// windowPage is the unit in which a window grows.
const windowPage = 1 << 20

// window holds the last size bytes of the output. It grows page by page and
// keeps its pages from block to block.
type window struct {
	pages [][]byte
	size  uint32
	next  uint32 // place of the next byte
	total uint64 // bytes since the dictionary was reset
}

// begin empties the window and sets its size.
func (w *window) begin(size uint32) {
	w.size, w.next, w.total = size, 0, 0
}

// has reports that the byte back bytes before the last one is in the window.
func (w *window) has(back uint32) bool {
	return uint64(back) < w.total && back < w.size
}

// at returns the byte back bytes before the last one.
func (w *window) at(back uint32) byte {
	i := w.next - 1 - back
	if back >= w.next {
		i = w.next + w.size - 1 - back
	}
	return w.pages[i/windowPage][i%windowPage]
}

func (w *window) put(b byte) {
	page := int(w.next / windowPage)
	if page == len(w.pages) {
		w.pages = append(w.pages, make([]byte, min(windowPage, max(w.size, 1<<12))))
	}
	if p := w.pages[page]; int(w.next%windowPage) >= len(p) {
		w.pages[page] = append(p, make([]byte, windowPage-len(p))...)
	}
	w.pages[page][w.next%windowPage] = b
	w.total++
	if w.next++; w.next == w.size {
		w.next = 0
	}
}
