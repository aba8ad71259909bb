package klog

import (
	"bytes"
	"strings"
)

// htmlName reports that n is an element that is taken for mark-up.
func htmlName(n string) bool {
	switch strings.ToLower(n) {
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
	switch strings.ToLower(n) {
	case "br", "p", "div", "tr", "li", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "table", "hr", "section",
		"article", "title", "dt", "dd", "td", "th", "body", "head":
		return true
	}
	return false
}

// stripTags removes HTML tags and splits at those that begin a line. It returns
// false if there is no mark-up in s and none open.
func (r *RecordReader) stripTags(s string) ([]string, bool) {
	var out []byte
	found := false
	for i := 0; i < len(s); {
		if s[i] != '<' {
			out = append(out, s[i])
			i++
			continue
		}
		name, n := htmlTag(s[i:])
		if n == 0 {
			out = append(out, s[i])
			i++
			continue
		}
		found = true
		lower := strings.ToLower(name)
		if s[i+1] != '/' {
			r.html = r.html || lower == "pre" || lower == "html" || lower == "body" || lower == "!doctype" || lower == "code"
		} else if lower == "html" || lower == "pre" {
			r.html = false
		}
		if breaking(name) {
			out = append(out, '\n')
		}
		i += n
	}
	if !found && !r.html {
		return nil, false
	}
	var pieces []string
	for p := range strings.SplitSeq(string(out), "\n") {
		if p != "" {
			pieces = append(pieces, unescapeHTML(p))
		}
	}
	return pieces, true
}

// htmlChunks starts reading a line of HTML beyond the limit in chunks.
func (r *RecordReader) htmlChunks(raw []byte) bool {
	if lastBreak(raw) <= 0 {
		return false
	}
	r.chunks, r.carry = chunksHTML, r.carry[:0]
	r.htmlChunk(raw)
	return true
}

// htmlChunk takes one chunk up to its last line break in HTML and keeps the rest.
func (r *RecordReader) htmlChunk(b []byte) {
	r.carry = append(r.carry, b...)
	n := lastBreak(r.carry)
	if n <= 0 || !r.src.long {
		n = len(r.carry)
	}
	r.quoted(string(r.carry[:n]), draft{line: r.src.line})
	r.carry = append(r.carry[:0], r.carry[n:]...)
	if !r.src.long {
		r.chunks, r.carry = chunksNone, nil
	}
}

// lastBreak returns the place of the last tag that begins a line, -1 if there is none.
func lastBreak(b []byte) int {
	for end := len(b); ; {
		i := bytes.LastIndexByte(b[:end], '<')
		if i < 0 {
			return -1
		}
		if name, n := htmlTag(string(b[i:min(len(b), i+200)])); n > 0 && breaking(name) {
			return i
		}
		end = i
	}
}

// htmlTag recognises a tag at the beginning of s and returns its name and length.
func htmlTag(s string) (string, int) {
	i := 1
	if i < len(s) && s[i] == '/' {
		i++
	}
	from := i
	for i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '!' || s[i] == ':') {
		i++
	}
	name := s[from:i]
	if i >= len(s) || !htmlName(name) {
		return "", 0
	}
	switch s[i] {
	case '>':
		return name, i + 1
	case ' ', '/', '\t':
		end := strings.IndexByte(s[i:], '>')
		if end < 0 || strings.IndexByte(s[i:i+end], '<') >= 0 {
			return "", 0
		}
		return name, i + end + 1
	}
	return "", 0
}

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
