package dispatch

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// LedgerSchema is the schema of the first line of a ledger.
const LedgerSchema = "cswatch.pieces/v1"

// ledgerHead is how a ledger begins, even one of which no line is whole.
const ledgerHead = `{"schema":"` + LedgerSchema + `"`

// Limits of a ledger that is read. A piece is a few kilobytes.
const (
	maxLedgerLine  = 1 << 20
	maxLedgerBytes = 1 << 30
)

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
	f      *os.File
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
	l := &Ledger{f: f, pieces: map[string]json.RawMessage{}, synced: time.Now()}
	if err := l.open(parameters); err != nil {
		f.Close()
		return nil, fmt.Errorf("state of a run in %s: %w", name, err)
	}
	return l, nil
}

func (l *Ledger) open(parameters []Parameter) error {
	if err := syscall.Flock(int(l.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errors.New("another run is using it; wait for that, or name another file")
		}
		return fmt.Errorf("lock it: %w", err)
	}
	mine := ledgerHeader{Schema: LedgerSchema, Parameters: parameters, SHA256: sum(parameters)}
	l.run = mine.SHA256[:16]
	whole, err := l.read(&mine)
	if err != nil {
		return err
	}
	if err := l.f.Truncate(whole); err != nil {
		return fmt.Errorf("take away the line that is not whole: %w", err)
	}
	if _, err := l.f.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole > 0 {
		return nil
	}
	return errors.Join(l.write(mine, true), syncFolder(l.f.Name()))
}

// syncFolder sees to it that a new file is found after a failure of the machine.
func syncFolder(name string) error {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("put a new file on the disk: %w", err)
	}
	defer dir.Close()
	// Some file systems cannot do that for a folder, and then need not.
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("put a new file on the disk: %w", err)
	}
	return nil
}

func sum(parameters []Parameter) string {
	b, _ := json.Marshal(parameters) // strings only: it cannot fail
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// read takes in the lines that are whole, and returns where they end.
func (l *Ledger) read(mine *ledgerHeader) (whole int64, err error) {
	in := bufio.NewReaderSize(io.LimitReader(l.f, maxLedgerBytes), maxLedgerLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF:
			if own := min(len(line), len(ledgerHead)); n == 1 && string(line[:own]) != ledgerHead[:own] {
				return 0, fmt.Errorf("this is no state of a run (%s); name another file", LedgerSchema)
			}
			return whole, nil
		case err != nil:
			return 0, fmt.Errorf("line %d: %w", n, err)
		}
		if n == 1 {
			err = mine.agree(line)
		} else {
			err = l.take(line)
		}
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", n, err)
		}
		whole += int64(len(line))
	}
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
	b, err := json.Marshal(line)
	if err == nil {
		_, err = l.f.Write(append(b, '\n'))
	}
	if err == nil && sync {
		err = l.f.Sync()
		l.synced = time.Now()
	}
	if err != nil {
		return fmt.Errorf("write the state of a run: %w", err)
	}
	return nil
}

// Close puts everything onto the disk.
func (l *Ledger) Close() error {
	if err := errors.Join(l.f.Sync(), l.f.Close()); err != nil {
		return fmt.Errorf("write the state of a run: %w", err)
	}
	return nil
}
