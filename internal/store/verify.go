package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cswatch/cswatch/internal/journal"
)

// Problem is something in a campaign's folder that is not as it was written.
type Problem struct {
	Trial string // empty if it is of the campaign
	What  string
}

// String is a line for people.
func (p Problem) String() string {
	if p.Trial == "" {
		return p.What
	}
	return "trial " + p.Trial + ": " + p.What
}

// Check is what the caller knows of a result. It is asked about trials that ended
// and are otherwise in order; file reads one of the trial's files.
type Check func(id string, result json.RawMessage, file func(name string) ([]byte, error)) error

// Verify checks all that lies in a campaign's folder, and changes nothing: every
// file against its sum, every outcome against the index, the index against the
// plan; what is missing and what nothing accounts for. check may be nil. What a
// process that runs the campaign has not finished is no problem. The error says
// that the folder cannot be checked at all.
func Verify(dir string, check Check) ([]Problem, error) {
	v := verifier{dir: dir, check: check}
	if err := v.verify(); err != nil {
		return nil, fmt.Errorf("verify the campaign in %s: %w", dir, err)
	}
	return v.problems, nil
}

type verifier struct {
	dir      string
	check    Check
	plan     string // sum
	x        *index
	problems []Problem
	open     []Problem // that are none if the campaign is being run
}

func (v *verifier) add(trial, format string, args ...any) {
	v.problems = append(v.problems, Problem{trial, fmt.Sprintf(format, args...)})
}

func (v *verifier) unfinished(trial, format string, args ...any) {
	v.open = append(v.open, Problem{trial, fmt.Sprintf(format, args...)})
}

func (v *verifier) verify() error {
	// A runner that begins or ends meanwhile changes what is unfinished. The folders
	// come before the index, which then has at least what they have.
	runs := Running(v.dir)
	plan, planErr := loadPlan(v.dir)
	names, err := listTrials(v.dir)
	if err != nil {
		return err
	}
	f, err := openIndex(v.dir, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if v.x, err = readIndex(f, true); err != nil {
		v.add("", "%s: %v", indexName, err)
	}
	v.plan = v.x.plan
	switch {
	case planErr != nil:
		v.add("", "%v", planErr)
	case v.plan == "":
		v.plan = sum(plan)
	case v.plan != sum(plan):
		v.add("", "the plan is not the one that the campaign was created with: its sha256 is %s, the index has %s", sum(plan), v.plan)
	}
	for _, err := range v.x.damaged {
		v.add("", "%s: %v; %s", indexName, err, whatToDo)
	}
	if n := len(v.x.extent.Rest); n > 0 || v.x.extent.Lines == 0 {
		v.unfinished("", "%s: the last line is not whole (%d bytes); resume the campaign, and it is mended", indexName, n)
	}
	v.problems = append(v.problems, v.x.twice...)
	if err := v.top(); err != nil {
		return err
	}
	for _, e := range v.x.entries {
		v.entry(e)
	}
	for _, name := range names {
		v.folder(name)
	}
	if !runs && !Running(v.dir) {
		v.problems = append(v.problems, v.open...)
	}
	return nil
}

// Running reports whether a process carries the campaign in a folder out: has its lock.
func Running(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return false
	}
	defer f.Close()
	locked, err := journal.Locked(f)
	return locked && err == nil
}

// top looks for what does not belong into the campaign's folder.
func (v *verifier) top() error {
	all, err := os.ReadDir(v.dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		switch name := e.Name(); {
		case name == indexName, name == lockName, name == trialsName, name == Scratch, planForm.MatchString(name), isSaved(name):
		case name == newName(indexName), name == newName(savedName):
			v.unfinished("", "%s was left by a process that did not come to its end: it can be deleted", name)
		default:
			v.add("", "%s is no part of a campaign", name)
		}
	}
	return nil
}

// entry checks the trial of an entry.
func (v *verifier) entry(e *Entry) {
	if e.State == Started {
		// A folder of its outcome is told of with the folders.
		if _, err := os.Lstat(filepath.Join(v.dir, trialsName, e.Trial)); errors.Is(err, os.ErrNotExist) {
			v.unfinished(e.Trial, "it was begun and has no outcome: resume the campaign, and it is given up")
		}
		return
	}
	r, text, err := readRecord(v.dir, e.Trial, v.plan)
	if err != nil {
		v.add(e.Trial, "%v", err)
		return
	}
	before := len(v.problems)
	if got := sum(text); got != e.SHA256 {
		v.add(e.Trial, "%s has sha256 %s, the index has %s", resultName, got, e.SHA256)
	}
	if r.State != e.State || r.Why != e.Why || !bytes.Equal(r.Summary, e.Summary) {
		v.add(e.Trial, "%s and the index differ in state, reason or summary", resultName)
	}
	for _, err := range r.check(v.dir) {
		v.add(e.Trial, "%v", err)
	}
	if v.check == nil || r.State != Ended || len(v.problems) > before {
		return
	}
	if err := v.check(e.Trial, r.Result, func(name string) ([]byte, error) { return r.file(v.dir, name) }); err != nil {
		v.add(e.Trial, "%v", err)
	}
}

// folder checks what lies among the trials.
func (v *verifier) folder(name string) {
	id, isBegun := begun(name)
	e := v.x.by[name]
	switch {
	case isBegun && v.x.by[id] == nil:
		v.unfinished(id, "it was begun, and the index does not have it: resume the campaign, and it is given up")
	case isBegun && v.x.by[id].State.outcome():
		v.unfinished(id, "%s was left over: resume the campaign, and it is removed", name)
	case isBegun: // told of with its entry
	case CheckID(name) != nil || !isFolder(filepath.Join(v.dir, trialsName, name)):
		v.add("", "%s is no folder of a trial", filepath.Join(trialsName, name))
	case e == nil || e.State == Started:
		v.late(name)
	}
}

// late checks an outcome that is not in the index.
func (v *verifier) late(id string) {
	r, _, err := readRecord(v.dir, id, v.plan)
	if err == nil {
		err = errors.Join(r.check(v.dir)...)
	}
	if err != nil {
		v.add(id, "the index has no outcome of it, and its folder is not as it was written: %v", err)
		return
	}
	v.unfinished(id, "it has an outcome that is not in the index: resume the campaign, and it is entered")
}
