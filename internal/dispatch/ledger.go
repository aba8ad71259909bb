package dispatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cswatch/cswatch/internal/journal"
)

// LedgerSchema is the schema of the first line of a ledger.
const LedgerSchema = "cswatch.pieces/v1"

// ledgerHead is how a ledger begins, even one of which no line is whole.
const ledgerHead = `{"schema":"` + LedgerSchema + `"`

// syncEvery bounds how much work a power failure can take: a piece may take less
// time than the disk needs to say that it is written.
const syncEvery = time.Second / 2

// Parameter is something that the results depend on.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type ledgerHeader struct {
	Schema     string      `json:"schema"`
	SHA256     string      `json:"sha256"` // of the parameters
	Parameters []Parameter `json:"parameters"`
}

type ledgerLine struct {
	Run    string          `json:"run"` // begins the header's sum
	Piece  string          `json:"piece"`
	Result json.RawMessage `json:"result"`
}

// Ledger is a file of finished pieces in JSON Lines: first the parameters of the
// run, then a line for each piece. Only one process has it at a time.
type Ledger struct {
	lines  *journal.Writer
	run    string
	pieces map[string]json.RawMessage // those that the file had when it was opened
	synced time.Time
}

// OpenLedger opens a ledger, or begins one. One that was begun with other
// parameters is refused. A last line that was not written whole is taken away:
// its piece is to be done again.
func OpenLedger(name string, parameters []Parameter) (*Ledger, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the state of a run: %w", err)
	}
	l := &Ledger{pieces: map[string]json.RawMessage{}, synced: time.Now()}
	if err := l.open(f, parameters); err != nil {
		f.Close()
		return nil, fmt.Errorf("state of a run in %s: %w", name, err)
	}
	return l, nil
}

func (l *Ledger) open(f *os.File, parameters []Parameter) error {
	err := journal.Lock(f)
	switch {
	case errors.Is(err, journal.ErrBusy):
		return fmt.Errorf("%w; wait for that, or name another file", err)
	case err != nil:
		return err
	}
	mine := ledgerHeader{Schema: LedgerSchema, Parameters: parameters, SHA256: sum(parameters)}
	l.run = mine.SHA256[:16]
	whole, err := l.read(f, &mine)
	if err != nil {
		return err
	}
	if l.lines, err = journal.Continue(f, whole); err != nil {
		return err
	}
	if whole.Lines > 0 {
		return nil
	}
	return errors.Join(l.write(mine, true), journal.SyncFolder(filepath.Dir(f.Name())))
}

func sum(parameters []Parameter) string {
	b, _ := json.Marshal(parameters) // strings only: it cannot fail
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// read takes in the lines that are whole, and returns how far they go.
func (l *Ledger) read(f *os.File, mine *ledgerHeader) (journal.Extent, error) {
	whole, err := journal.Read(f, func(n int, line []byte) error {
		if n == 1 {
			return mine.agree(line)
		}
		return l.take(line)
	})
	if own := min(len(whole.Rest), len(ledgerHead)); err == nil && whole.Lines == 0 && string(whole.Rest[:own]) != ledgerHead[:own] {
		err = fmt.Errorf("this is no state of a run (%s); name another file", LedgerSchema)
	}
	return whole, err
}

// agree compares the parameters of the file with those of this run.
func (h *ledgerHeader) agree(line []byte) error {
	var was ledgerHeader
	if err := json.Unmarshal(line, &was); err != nil || was.Schema != LedgerSchema {
		return fmt.Errorf("this is no state of a run (%s); name another file", LedgerSchema)
	}
	if was.SHA256 == h.SHA256 {
		return nil
	}
	before := map[string]string{}
	for _, p := range was.Parameters {
		before[p.Name] = p.Value
	}
	for _, p := range h.Parameters {
		if v, had := before[p.Name]; !had || v != p.Value {
			return fmt.Errorf("it was begun with another %s (%s, now %s): run with the same parameters, or name another file for this run", p.Name, was.shown(p.Name), p.Value)
		}
	}
	return errors.New("it was begun with other parameters: run with the same ones, or name another file for this run")
}

func (h *ledgerHeader) shown(name string) string {
	for _, p := range h.Parameters {
		if p.Name == name {
			return p.Value
		}
	}
	return "none"
}

// take takes in the line of a piece.
func (l *Ledger) take(line []byte) error {
	var p ledgerLine
	if err := json.Unmarshal(line, &p); err != nil || p.Piece == "" || p.Run != l.run {
		return errors.New("this is no line of this run; delete the file from this line on, and what is missing is done again")
	}
	l.pieces[p.Piece] = bytes.Clone(p.Result)
	return nil
}

// Find decodes the result of a piece, and reports whether it was there when the
// ledger was opened.
func (l *Ledger) Find(piece string, result any) (bool, error) {
	raw, found := l.pieces[piece]
	if !found {
		return false, nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return false, fmt.Errorf("read the state of piece %s: %w", piece, err)
	}
	return true, nil
}

// Len returns how many pieces were there then.
func (l *Ledger) Len() int { return len(l.pieces) }

// Append writes the result of a piece, so that it outlives the process, and within
// half a second of further writing, or with Close, a failure of the machine.
func (l *Ledger) Append(piece string, result any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode the result of piece %s: %w", piece, err)
	}
	return l.write(ledgerLine{Run: l.run, Piece: piece, Result: raw}, time.Since(l.synced) >= syncEvery)
}

func (l *Ledger) write(line any, sync bool) error {
	if err := l.lines.Append(line, sync); err != nil {
		return fmt.Errorf("write the state of a run: %w", err)
	}
	if sync {
		l.synced = time.Now()
	}
	return nil
}

// Close puts everything onto the disk.
func (l *Ledger) Close() error {
	if err := l.lines.Close(); err != nil {
		return fmt.Errorf("write the state of a run: %w", err)
	}
	return nil
}
