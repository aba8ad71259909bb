package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// shape matches s against a shape of a stamp and returns the length matched, 0
// if it does not match. The letters of a shape stand for:
//
//	b  month name            a  weekday name      e  day, padded or not
//	Y  year, four digits     D  2026-03-05        S  2026/03/05
//	M  03-05                 H  08:00:02 with an optional fraction
//	z  optional zone: Z, +00:00, +0000            W  zone word or offset
//	h  14:35
//	_  one or more blanks    other characters stand for themselves
func shape(s, want string) int {
	i := 0
	for j := range len(want) {
		n := 0
		t := s[i:]
		switch c := want[j]; c {
		case 'b':
			n = nameIn(t, months)
		case 'a':
			n = nameIn(t, weekdays)
		case 'e':
			n = digits(t, 1, 2)
		case 'Y':
			n = digits(t, 4, 4)
		case 'D':
			n = digitShape(t, "dddd-dd-dd")
		case 'S':
			n = digitShape(t, "dddd/dd/dd")
		case 'M':
			n = digitShape(t, "dd-dd")
		case 'h':
			n = digitShape(t, "dd:dd")
		case 'H':
			n = clock(t)
		case 'z':
			i += zone(t)
			continue
		case 'W':
			n = zoneWord(t)
		case '_':
			for n < len(t) && t[n] == ' ' {
				n++
			}
		default:
			if t != "" && t[0] == c {
				n = 1
			}
		}
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

const (
	months   = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
	weekdays = "Mon Tue Wed Thu Fri Sat Sun"
)

func nameIn(s, names string) int {
	if len(s) < 3 {
		return 0
	}
	for i := 0; i < len(names); i += 4 {
		if s[:3] == names[i:i+3] {
			return 3
		}
	}
	return 0
}

// digits returns the number of leading digits if it lies between least and most, else 0.
func digits(s string, least, most int) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n < least || n > most {
		return 0
	}
	return n
}

func digitShape(s, want string) int {
	if len(s) < len(want) {
		return 0
	}
	for i := range len(want) {
		if want[i] == 'd' && !isDigit(s[i]) || want[i] != 'd' && s[i] != want[i] {
			return 0
		}
	}
	return len(want)
}

func clock(s string) int {
	n := digitShape(s, "dd:dd:dd")
	if n == 0 {
		if n = digitShape(s, "d:dd:dd"); n == 0 {
			return 0
		}
	}
	if n < len(s) && (s[n] == '.' || s[n] == ',') {
		if k := digits(s[n+1:], 1, 9); k > 0 {
			return n + 1 + k
		}
	}
	return n
}

func zone(s string) int {
	if s == "" {
		return 0
	}
	if s[0] == 'Z' {
		return 1
	}
	if s[0] != '+' && s[0] != '-' {
		return 0
	}
	for _, w := range []string{"dd:dd", "dddd", "dd"} {
		if n := digitShape(s[1:], w); n > 0 {
			return 1 + n
		}
	}
	return 0
}

func zoneWord(s string) int {
	if n := zone(s); n > 0 {
		return n
	}
	n := 0
	for n < len(s) && s[n] >= 'A' && s[n] <= 'Z' {
		n++
	}
	if n < 1 || n > 5 || n < len(s) && s[n] != ' ' && s[n] != ']' {
		return 0
	}
	switch s[:n] {
	case "TSC", "NMI", "CPU", "PM", "W", "E", "I": // first words of messages
		return 0
	}
	return n
}

// wallKind says what may follow a wall clock stamp.
type wallKind uint8

const (
	wallNone    wallKind = iota
	wallClassic          // "Mar  5 08:00:02"
	wallISO              // "2026-03-05T08:00:02.123456+00:00"
	wallFull             // "Thu 2026-03-05 08:00:02 UTC": journalctl short-full
	wallCTime            // "Tue Mar  8 13:19:34 2022"
	wallConsole          // "2016-12-03 19:08:52": console servers
	wallDmesg            // "2026-03-05T08:00:02,123456+00:00": dmesg --time-format iso
	wallUnix             // "1772697602.123456": journalctl short-unix
	wallTime             // "08:00:02.123"
)

// wallStamp recognises a wall clock stamp at the beginning of s that ends at a
// blank or at the end, and returns its length.
func wallStamp(s string) (int, wallKind) {
	if len(s) < 8 {
		return 0, wallNone
	}
	var shapes []string
	var kinds []wallKind
	switch c := s[0]; {
	case isDigit(c):
		shapes = []string{"DTHz", "D_H_W", "D_Hz", "S_Hz", "Y_b_e_H", "H"}
		kinds = []wallKind{wallISO, wallConsole, wallConsole, wallConsole, wallClassic, wallTime}
	case c >= 'A' && c <= 'Z':
		shapes = []string{"a_D_H_W", "a_b_e_H_Y", "a_b_e_H_W_Y", "b_e_Y_H", "b_e_H", "a_b_e_H"}
		kinds = []wallKind{wallFull, wallCTime, wallCTime, wallClassic, wallClassic, wallClassic}
	default:
		return 0, wallNone
	}
	for i, w := range shapes {
		n := shape(s, w)
		if n == 0 || n < len(s) && !stampEnd(s[n:]) {
			continue
		}
		k := kinds[i]
		if k == wallTime && !strings.ContainsAny(s[:n], ".,") {
			// A time of day alone is too weak a sign, unless a bracket follows.
			if rest := strings.TrimLeft(s[n:], " :"); rest == "" || rest[0] != '[' {
				continue
			}
		}
		if k == wallISO && n > 20 && s[19] == ',' && n > 26 {
			k = wallDmesg
		}
		return n, k
	}
	if n := digits(s, 10, 10); n > 0 && n < len(s) && s[n] == '.' {
		if k := digits(s[n+1:], 6, 6); k > 0 && (n+1+k == len(s) || s[n+1+k] == ' ') {
			return n + 1 + k, wallUnix
		}
	}
	return 0, wallNone
}

// stampEnd reports that what follows a stamp separates it from the text.
func stampEnd(rest string) bool {
	return isBlank(rest[0]) || rest[0] == ':' && (len(rest) == 1 || rest[1] == ' ')
}

// bracket is what a stamp in square brackets says.
type bracket struct {
	n      int // length including the closing bracket, 0 if there is none
	printk event.Opt[int64]
	wall   string
	doubt  string
	format string
	strict bool // unmistakable: may be recognised in the middle of a line
}

// bracketStamp recognises "[   12.345678]" and its relatives at the beginning of s.
func bracketStamp(s string) bracket {
	if len(s) < 5 || s[0] != '[' {
		return bracket{}
	}
	if c := s[1]; c != ' ' && c != '+' && c != '<' && !isDigit(c) && (c < 'A' || c > 'Z') {
		return bracket{}
	}
	end := strings.IndexByte(s[:min(len(s), 80)], ']')
	if end < 0 {
		return bracket{}
	}
	in := strings.TrimLeft(s[1:end], " ")
	b := bracket{n: end + 1, format: FormatDmesg}
	if ns, n, decimals, ok := seconds(in); ok {
		rest := strings.TrimLeft(in[n:], " ")
		switch {
		case rest == "" && decimals >= 3:
			b.strict = decimals == 6
		case cpuSuffix(rest), deltaPart(rest):
			b.strict = decimals == 6
		case decimals >= 3:
			// A host program's stamp and the difference to the line before.
			if _, m, _, ok := seconds(rest); ok && m == len(rest) {
				b.wall, b.doubt, b.format = in, DoubtRelative, FormatSyslog
				return b
			}
			return bracket{}
		default:
			return bracket{}
		}
		b.printk = event.Some(ns)
		return b
	}
	body := strings.TrimRight(in, " ")
	if i := strings.IndexByte(body, '<'); i > 0 && deltaPart(body[i:]) {
		body = strings.TrimRight(body[:i], " ")
	}
	switch {
	case deltaPart(body), body != "" && body[0] == '+' && plainSeconds(strings.TrimLeft(body[1:], " ")):
		b.wall, b.doubt, b.format, b.strict = body, DoubtRelative, FormatDmesgH, true
		return b
	case shape(body, "be_h") == len(body), shape(body, "b_e_h") == len(body):
		b.wall, b.doubt, b.format, b.strict = body, DoubtRelative, FormatDmesgH, true
		return b
	case shape(body, "a_b_e_H_Y") == len(body):
		b.wall, b.doubt, b.format, b.strict = body, DoubtDmesgT, FormatDmesgT, true
		return b
	}
	if n, k := wallStamp(body); n == len(body) && n > 0 && k != wallUnix {
		b.wall, b.format = body, FormatSyslog
		return b
	}
	if n := shape(body, "H"); n > 0 && n == len(body) {
		b.wall, b.format = body, FormatSyslog
		return b
	}
	return bracket{}
}

// seconds reads "12.345678" as nanoseconds; n is the length read.
func seconds(s string) (ns int64, n, decimals int, ok bool) {
	whole := digits(s, 1, 9)
	if whole == 0 || whole >= len(s) || s[whole] != '.' {
		return 0, 0, 0, false
	}
	decimals = digits(s[whole+1:], 1, 9)
	if decimals == 0 {
		return 0, 0, 0, false
	}
	n = whole + 1 + decimals
	for i := range n {
		if i != whole {
			ns = ns*10 + int64(s[i]-'0')
		}
	}
	for i := decimals; i < 9; i++ {
		ns *= 10
	}
	return ns, n, decimals, true
}

func plainSeconds(s string) bool {
	_, n, _, ok := seconds(s)
	return ok && n == len(s)
}

// cpuSuffix recognises the processor that some vendor kernels write after the
// seconds: "@1", ",1", "(1)".
func cpuSuffix(s string) bool {
	if len(s) < 2 || s[0] != '@' && s[0] != ',' && s[0] != '(' {
		return false
	}
	return digits(strings.TrimRight(s[1:], ")"), 1, 3) > 0
}

// deltaPart recognises "<    0.000024>", the difference that dmesg -d and
// journalctl short-delta write.
func deltaPart(s string) bool {
	if len(s) < 3 || s[0] != '<' || s[len(s)-1] != '>' {
		return false
	}
	return plainSeconds(strings.TrimLeft(strings.TrimSpace(s[1:len(s)-1]), "+ "))
}

// callerField returns the length of "[    C2]" or "[   T32]" at the beginning of
// s, which CONFIG_PRINTK_CALLER and newer dmesg programs add; 0 if there is none.
func callerField(s string) int {
	if len(s) < 3 || s[0] != '[' {
		return 0
	}
	i := 1
	for i < len(s) && s[i] == ' ' {
		i++
	}
	if i >= len(s) || s[i] != 'C' && s[i] != 'T' {
		return 0
	}
	i++
	from := i
	for i < len(s) && (isDigit(s[i]) || isLetter(s[i])) {
		i++
	}
	if i == from || i-from > 10 || i >= len(s) || s[i] != ']' || !isDigit(s[from]) {
		return 0
	}
	return i + 1
}

// trimBlanks removes blanks and tabs from the beginning of s.
func trimBlanks(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}
