package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Bounds of what is read.
const (
	MostBytes     = 1 << 30  // of one file
	mostDocument  = 32 << 20 // of one document in it, or one line of a stream
	mostDocuments = 4096     // of a page; lines of a stream are one
)

// document is one JSON object with a schema of this program.
type document struct {
	Source string // the file, as the user named it
	Schema string
	Raw    json.RawMessage
}

// decode reads a document into a value.
func (d *document) decode(v any) error {
	if err := json.Unmarshal(d.Raw, v); err != nil {
		return fmt.Errorf("a document %s that is not as such documents are: %w", d.Schema, err)
	}
	return nil
}

// short is the schema without what all have in common.
func (d *document) short() string {
	return strings.TrimSuffix(strings.TrimPrefix(d.Schema, "cswatch."), "/v1")
}

// schemaForm is how every schema of this program is written.
var schemaForm = regexp.MustCompile(`^cswatch\.[a-z0-9-]{1,40}/v[0-9]{1,4}$`)

// errNoDocument is of input that holds none of our documents.
var errNoDocument = errors.New("no JSON document of this program: want an object with a \"schema\" such as cswatch.doctor/v1")

// decodeAll reads the documents of a file one by one: one, several, or JSON Lines.
// What stands behind the first that is no document is not read. It hands each to
// take, and returns how many that were.
func decodeAll(source string, r io.Reader, take func(*document) error) (n int, err error) {
	limited := &bounds{r: r, file: MostBytes}
	dec := json.NewDecoder(limited)
	for {
		var raw json.RawMessage
		limited.document = mostDocument
		err := dec.Decode(&raw)
		switch {
		case limited.file == 0:
			return n, fmt.Errorf("it is larger than %d MiB; what was read until there is shown", MostBytes>>20)
		case limited.document == 0:
			return n, fmt.Errorf("document %d is larger than %d MiB", n+1, mostDocument>>20)
		case errors.Is(err, io.EOF) && n == 0:
			return n, errors.New("it is empty")
		case errors.Is(err, io.EOF):
			return n, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return n, fmt.Errorf("it breaks off within document %d", n+1)
		case err != nil && n == 0:
			return n, fmt.Errorf("%w (%v)", errNoDocument, err)
		case err != nil:
			return n, fmt.Errorf("behind document %d: %w", n, err)
		}
		var head struct {
			Schema string `json:"schema"`
		}
		if !bytes.HasPrefix(raw, []byte("{")) || json.Unmarshal(raw, &head) != nil || !schemaForm.MatchString(head.Schema) {
			return n, errNoDocument
		}
		if err := take(&document{Source: source, Schema: head.Schema, Raw: raw}); err != nil {
			return n, err
		}
		n++
	}
}

// bounds ends a file that is too long, or a document in it.
type bounds struct {
	r              io.Reader
	file, document int64 // what may still be read
}

// Read reads at most what may be read.
func (b *bounds) Read(p []byte) (int, error) {
	most := min(b.file, b.document)
	if most == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > most {
		p = p[:most]
	}
	n, err := b.r.Read(p)
	b.file, b.document = b.file-int64(n), b.document-int64(n)
	return n, err
}
