package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cswatch/cswatch/internal/journal"
)

// TrialSchema is the schema of the outcome of a trial.
const TrialSchema = "cswatch.trial/v1"

// File is a file of a trial.
type File struct {
	Name string // of letters, digits, '.', '_' and '-'
	Data []byte
}

// record is what result.json holds: the whole outcome of a trial, so that the
// index can be made from the folders.
type record struct {
	Schema  string          `json:"schema"`
	Trial   string          `json:"trial"`
	Plan    string          `json:"plan_sha256"` // no trial of another campaign is taken for one of this
	State   State           `json:"state"`
	Why     string          `json:"why,omitempty"`
	Files   []fileSum       `json:"files"`
	Summary json.RawMessage `json:"summary"`
	Result  json.RawMessage `json:"result"` // null if lost
}

type fileSum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// text returns the bytes of result.json. There is one form of it: what differs in
// a blank was not written by us.
func (r *record) text() ([]byte, error) {
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

// encode makes the record of an outcome, and refuses what could not be read again.
func (r *record) encode(files []File, result, summary any) ([]byte, error) {
	var err error
	if r.Result, err = json.Marshal(result); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	if r.Summary, err = json.Marshal(summary); err != nil {
		return nil, fmt.Errorf("encode the summary: %w", err)
	}
	if len(r.Summary) > maxSummary || len(r.Why) > maxWhy {
		return nil, fmt.Errorf("a summary of %d bytes and a reason of %d: they may have %d and %d", len(r.Summary), len(r.Why), maxSummary, maxWhy)
	}
	r.Files = []fileSum{}
	for _, f := range files {
		if err := checkFileName(f.Name); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.Files, func(had fileSum) bool { return had.Name == f.Name }) {
			return nil, fmt.Errorf("two files of the name %s", f.Name)
		}
		r.Files = append(r.Files, fileSum{f.Name, int64(len(f.Data)), sum(f.Data)})
	}
	text, err := r.text()
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf("%s would be of %d bytes, and may have %d: put large data into files", resultName, len(text), maxRecord)
	}
	return text, err
}

// entry is the line of the index that belongs to the record.
func (r *record) entry(text []byte) Entry {
	return Entry{Trial: r.Trial, State: r.State, SHA256: sum(text), Why: r.Why, Summary: r.Summary}
}

// readRecord reads the record of a trial and returns it with its text. It looks at
// result.json alone.
func readRecord(dir, id, plan string) (*record, []byte, error) {
	name := filepath.Join(dir, trialsName, id, resultName)
	text, err := readRegular(name, maxRecord)
	if err != nil {
		return nil, nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil || r.Schema != TrialSchema {
		return nil, nil, fmt.Errorf("%s is no outcome of a trial (%s)", name, TrialSchema)
	}
	switch again, err := r.text(); {
	case err != nil || !bytes.Equal(again, text) || r.Files == nil || r.Summary == nil || r.Result == nil || !r.State.outcome():
		return nil, nil, fmt.Errorf("%s is damaged: it is not in the form that it was written in", name)
	case r.Trial != id:
		return nil, nil, fmt.Errorf("%s is of trial %s: the folder was renamed or copied", name, r.Trial)
	case r.Plan != plan:
		return nil, nil, fmt.Errorf("%s is of a campaign with another plan", name)
	}
	for _, f := range r.Files {
		if err := checkFileName(f.Name); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &r, text, nil
}

// file reads a file of the trial and compares it with its sum.
func (r *record) file(dir, name string) ([]byte, error) {
	at := slices.IndexFunc(r.Files, func(f fileSum) bool { return f.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("trial %s has no file %q: %w", r.Trial, name, fs.ErrNotExist)
	}
	want := r.Files[at]
	path := filepath.Join(dir, trialsName, r.Trial, name)
	data, err := readRegular(path, want.Bytes)
	if err != nil {
		return nil, err
	}
	if got := sum(data); got != want.SHA256 {
		return nil, fmt.Errorf("%s is damaged: %d bytes with sha256 %s, written were %d with %s", path, len(data), got, want.Bytes, want.SHA256)
	}
	return data, nil
}

// check compares what lies in the trial's folder with the record.
func (r *record) check(dir string) (problems []error) {
	for _, f := range r.Files {
		if _, err := r.file(dir, f.Name); err != nil {
			problems = append(problems, err)
		}
	}
	all, err := os.ReadDir(filepath.Join(dir, trialsName, r.Trial))
	if err != nil {
		return append(problems, err)
	}
	for _, e := range all {
		if e.Name() != resultName && !slices.ContainsFunc(r.Files, func(f fileSum) bool { return f.Name == e.Name() }) {
			problems = append(problems, fmt.Errorf("%s is no file of the trial: nothing says where it comes from", filepath.Join(dir, trialsName, r.Trial, e.Name())))
		}
	}
	return problems
}

// disk is where everything is written through, for tests of one that is full.
type disk func(*os.File) journal.Storage

func plainDisk(f *os.File) journal.Storage { return f }

// write writes a new file onto the disk.
func (d disk) write(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	to := d(f)
	_, err = to.Write(data)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// replace writes a file so that it is there as a whole or as it was. What another
// process left of such a try is overwritten: the caller has the lock.
func (d disk) replace(name string, data []byte) error {
	unfinished := filepath.Join(filepath.Dir(name), newName(filepath.Base(name)))
	err := os.RemoveAll(unfinished)
	if err == nil {
		err = d.write(unfinished, data)
	}
	if err == nil {
		err = os.Rename(unfinished, name)
	}
	if err != nil {
		os.Remove(unfinished)
		return err
	}
	return journal.SyncFolder(filepath.Dir(name))
}

// fill writes the files of a trial into the folder of one that is begun. With an
// error the folder is empty, as far as that can be had.
func (d disk) fill(folder string, files []File, record []byte) error {
	err := empty(folder)
	for _, f := range append(slices.Clone(files), File{resultName, record}) { // the record last
		if err == nil {
			err = d.write(filepath.Join(folder, f.Name), f.Data)
		}
	}
	if err == nil {
		err = journal.SyncFolder(folder)
	}
	if err != nil {
		return errors.Join(err, empty(folder))
	}
	return nil
}

// empty makes a folder, or makes it empty.
func empty(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Mkdir(folder, 0o777)
}
