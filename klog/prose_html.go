package klog

import (
	"bytes"
	"strings"
)

// htmlName reports that n is an element that is taken for mark-up.
func htmlName(n string) bool {
	switch n {
	case "html", "head", "body", "pre", "code", "br", "p", "div", "span", "td", "th", "tr", "table", "tbody", "thead",
		"li", "ul", "ol", "b", "i", "u", "em", "strong", "tt", "font", "a", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6",
		"kbd", "samp", "mark", "section", "article", "title", "meta", "link", "hr", "details", "summary", "dl", "dt", "dd",
		"!doctype", "o:p", "wbr", "small", "textarea", "style", "script", "xmp", "center", "main":
		return true
	}
	return false
}

// breaking reports that an element begins a new line.
func breaking(n string) bool {
	switch n {
	case "br", "p", "div", "tr", "li", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "table", "hr", "section",
		"article", "title", "dt", "dd", "td", "th", "body", "head":
		return true
	}
	return false
}

// openHTML says which elements are open that make all lines within HTML.
type openHTML uint8

const (
	openPage openHTML = 1 << iota // html or body
	openPre
)

// stripTags removes HTML tags and splits at those that begin a line. It returns
// false where there is no mark-up: mark-up begins with a line that begins with a
// tag. A tag within the text of a log is text.
func (r *RecordReader) stripTags(s string) ([]string, bool) {
	if r.html == 0 && !beginsWithTag(s) {
		return nil, false
	}
	var out []byte
	for i := 0; i < len(s); {
		if s[i] != '<' {
			n := strings.IndexByte(s[i:], '<')
			if n < 0 {
				n = len(s) - i
			}
			out = append(out, s[i:i+n]...)
			i += n
			continue
		}
		name, n := htmlTag(s[i:])
		if n == 0 {
			out = append(out, s[i])
			i++
			continue
		}
		var bit openHTML
		switch name {
		case "html", "body", "!doctype":
			bit = openPage
		case "pre":
			bit = openPre
		}
		if s[i+1] != '/' {
			r.html |= bit
		} else {
			r.html &^= bit
		}
		if breaking(name) {
			out = append(out, '\n')
		}
		i += n
	}
	var pieces []string
	for p := range strings.SplitSeq(string(out), "\n") {
		if p != "" {
			pieces = append(pieces, unescapeHTML(p))
		}
	}
	return pieces, true
}

// cutTags removes tags from the end of a line. No text stands behind them, so
// they can be taken for mark-up on any line.
func cutTags(s string) string {
	for strings.HasSuffix(s, ">") {
		i := strings.LastIndexByte(s, '<')
		if i < 0 {
			break
		}
		if _, n := htmlTag(s[i:]); i+n != len(s) {
			break
		}
		s = strings.TrimRight(s[:i], " \t")
	}
	return s
}

// htmlChunk takes one chunk up to its last line break in HTML and keeps the rest.
func (r *RecordReader) htmlChunk(b []byte, last bool) {
	r.carry = append(r.carry, b...)
	n := lastBreak(r.carry)
	if n <= 0 || last {
		n = len(r.carry)
	}
	if len(r.carry) > 0 {
		r.quoted(string(r.carry[:n]), draft{line: r.long.line})
	}
	r.carry = append(r.carry[:0], r.carry[n:]...)
}

// lastBreak returns the place of the last tag that begins a line, -1 if there is none.
func lastBreak(b []byte) int {
	for end := len(b); ; {
		i := bytes.LastIndexByte(b[:end], '<')
		if i < 0 {
			return -1
		}
		if i+1 < len(b) && (isLetter(b[i+1]) || b[i+1] == '/') {
			if name, n := htmlTag(string(b[i:min(len(b), i+headSize)])); n > 0 && breaking(name) {
				return i
			}
		}
		end = i
	}
}

// maxTag bounds the length of a tag.
const maxTag = 2 << 10

// htmlTag recognises a tag at the beginning of s and returns its name, in small
// letters, and its length.
func htmlTag(s string) (string, int) {
	i := 1
	if i < len(s) && s[i] == '/' {
		i++
	}
	from := i
	for i < len(s) && i-from <= maxTagName && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '!' || s[i] == ':') {
		i++
	}
	if i >= len(s) || i == from || i-from > maxTagName {
		return "", 0
	}
	if c := s[i]; c != '>' && c != ' ' && c != '/' && c != '\t' {
		return "", 0
	}
	name := strings.ToLower(s[from:i])
	if !htmlName(name) {
		return "", 0
	}
	for ; i < len(s) && i < maxTag; i++ {
		switch s[i] {
		case '>':
			return name, i + 1
		case '<':
			return "", 0
		}
	}
	return "", 0
}

// maxTagName is the length of the longest name that htmlName knows.
const maxTagName = 10

// unescapeHTML decodes the entities that mark-up of a log contains. No kernel
// message contains one.
func unescapeHTML(s string) string {
	for range 2 { // a page within a page is escaped twice
		if strings.IndexByte(s, '&') < 0 || strings.IndexByte(s, ';') < 0 {
			return s
		}
		s = entities.Replace(s)
	}
	return s
}

// entities is never changed.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&#039;", "'",
	"&#x27;", "'", "&#34;", `"`, "&#x22;", `"`, "&#60;", "<", "&#62;", ">", "&#x3c;", "<", "&#x3e;", ">", "&#x3C;", "<",
	"&#x3E;", ">", "&#91;", "[", "&#93;", "]", "&#32;", " ", "&nbsp;", " ", "&#160;", " ", "&#xa0;", " ", "&#xA0;", " ",
	"&amp;", "&", "&#38;", "&", "&#58;", ":", "&#61;", "=", "&#x3D;", "=", "&#43;", "+", "&#40;", "(", "&#41;", ")",
	"&lsquo;", "'", "&rsquo;", "'", "&ldquo;", `"`, "&rdquo;", `"`, "&#8217;", "'", "&#8216;", "'", "&#47;", "/")
