package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cswatch/cswatch/internal/journal"
)

// IndexSchema is the schema of the first line of an index.
const IndexSchema = "cswatch.campaign-index/v1"

// indexHead is how an index begins, even one of which no line is whole.
const indexHead = `{"schema":"` + IndexSchema + `"`

// State is how far a trial is.
type State string

// The states. A trial is lost if it ended without a result.
const (
	Started State = "started"
	Ended   State = "ended"
	Lost    State = "lost"
)

func (s State) outcome() bool { return s == Ended || s == Lost }

// Entry is what the index says of a trial.
type Entry struct {
	Trial   string          `json:"trial"`
	State   State           `json:"state"`
	At      time.Time       `json:"at,omitzero"`       // when it was started; zero if that is not known
	SHA256  string          `json:"sha256,omitempty"`  // of result.json, once there is an outcome
	Why     string          `json:"why,omitempty"`     // it was lost
	Summary json.RawMessage `json:"summary,omitempty"` // the caller's, once there is an outcome
}

type indexHeader struct {
	Schema string `json:"schema"`
	Plan   string `json:"plan_sha256"`
}

// index is an index that was read.
type index struct {
	plan    string // sum of the plan by the header; empty without a header
	entries []*Entry
	by      map[string]*Entry
	twice   []Problem // lines that say again what was said
	extent  journal.Extent
	damaged []error // lines that are none, where they are tolerated
}

func newIndex() *index { return &index{by: map[string]*Entry{}} }

// readIndex reads the lines that are whole. With tolerant set, a line that is
// none of an index is passed over and listed.
func readIndex(r io.Reader, tolerant bool) (*index, error) {
	x := newIndex()
	var err error
	x.extent, err = journal.Read(r, func(n int, text []byte) error {
		err := x.take(n, text)
		if err != nil && tolerant {
			x.damaged = append(x.damaged, fmt.Errorf("line %d: %w", n, err))
			return nil
		}
		return err
	})
	if own := min(len(x.extent.Rest), len(indexHead)); err == nil && x.extent.Lines == 0 && string(x.extent.Rest[:own]) != indexHead[:own] {
		err = errNoIndex
		if tolerant {
			x.damaged, err = append(x.damaged, err), nil
		}
	}
	return x, err
}

var (
	errNoIndex = fmt.Errorf("this is no index of a campaign (%s)", IndexSchema)
	errNoLine  = errors.New("this is no line of a campaign's index")
)

func (x *index) take(n int, text []byte) error {
	if n == 1 {
		var h indexHeader
		if json.Unmarshal(text, &h) != nil || h.Schema != IndexSchema || h.Plan == "" {
			return errNoIndex
		}
		x.plan = h.Plan
		return nil
	}
	var e Entry
	if json.Unmarshal(text, &e) != nil || CheckID(e.Trial) != nil || e.State != Started && !e.State.outcome() ||
		e.State.outcome() && len(e.SHA256) != 2*sha256.Size {
		return errNoLine
	}
	x.put(e, n)
	return nil
}

// put enters a line. The first outcome of a trial counts, and nothing after it.
func (x *index) put(e Entry, n int) {
	e.Summary = bytes.Clone(e.Summary)
	was := x.by[e.Trial]
	switch {
	case was == nil:
		x.by[e.Trial] = &e
		x.entries = append(x.entries, &e)
	case was.State == Started && e.State.outcome():
		e.At = was.At
		*was = e
	default:
		x.twice = append(x.twice, Problem{e.Trial, fmt.Sprintf("%s, line %d: %s again, after it was %s; only the first counts", indexName, n, e.State, was.State)})
	}
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// whatToDo follows an error that lies in the index.
const whatToDo = "the folders of the trials hold every outcome: rebuild the index from them (cswatch trial resume --rebuild-index)"

// load reads the index of a campaign and compares it with the plan.
func load(f io.Reader, dir string, plan []byte) (*index, error) {
	x, err := readIndex(f, false)
	if err == nil && x.plan != "" && x.plan != sum(plan) {
		return nil, fmt.Errorf("%s: the plan is not the one that the campaign was created with (sha256 %s, was %s): put that back, or create another campaign", dir, sum(plan), x.plan)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; %s", filepath.Join(dir, indexName), err, whatToDo)
	}
	gone, err := x.withoutFolder(dir)
	if err == nil && len(gone) > 0 {
		err = fmt.Errorf("%s: by the index trial %s has an outcome (%s), and it has no folder (%d such): put the folder back, or rebuild the index without it",
			filepath.Join(dir, indexName), gone[0].Trial, gone[0].State, len(gone))
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// loadPlan reads the plan of a campaign.
func loadPlan(dir string) ([]byte, error) {
	name, err := findPlan(dir)
	if err != nil {
		return nil, fmt.Errorf("read the plan of a campaign: %w", err)
	}
	plan, err := readRegular(filepath.Join(dir, name), maxPlan)
	if err != nil {
		return nil, fmt.Errorf("read the plan of a campaign: %w", err)
	}
	return plan, nil
}

// openIndex opens the index of a campaign, for readers or to append.
func openIndex(dir string, flag int) (*os.File, error) {
	name := filepath.Join(dir, indexName)
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is no plain file", name)
	}
	f, err := os.OpenFile(name, flag, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is not there", ErrNone, name)
	}
	return f, err
}
