package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/store"
	"github.com/cswatch/cswatch/klog"
)

// readLog reads a trial's kernel log.
func readLog(text string) ([]event.Event, error) {
	in := klog.NewReader(strings.NewReader(text), LogFile)
	var events []event.Event
	for in.Next() {
		events = append(events, in.Event())
	}
	return events, in.Err()
}

// judge judges what is in a result and its log, and adds both to what was carried out.
func (c *Carried) judge(log string) error {
	events, err := readLog(log)
	if err != nil {
		return fmt.Errorf("read the kernel log of trial %s: %w", c.Result.Trial.ID, err)
	}
	e := c.Result.Evidence(events)
	c.Result.Judgement = campaign.Judge(&e)
	text, err := eventLines(events)
	if err != nil {
		return err
	}
	c.Files = append(c.Files, store.File{Name: LogFile, Data: []byte(log)}, store.File{Name: EventsFile, Data: text})
	return nil
}

func eventLines(events []event.Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range events {
		if err := enc.Encode(&events[i]); err != nil {
			return nil, fmt.Errorf("write events: %w", err)
		}
	}
	return b.Bytes(), nil
}

// Recheck judges a trial again by its kernel log, and returns an error where this
// program comes to something else than what was kept.
func Recheck(r *campaign.Result, file func(name string) ([]byte, error)) error {
	log, err := file(LogFile)
	if err != nil {
		return err
	}
	events, err := readLog(string(log))
	if err != nil {
		return err
	}
	text, err := eventLines(events)
	if err != nil {
		return err
	}
	kept, err := file(EventsFile)
	if err != nil {
		return err
	}
	if !bytes.Equal(kept, text) {
		return fmt.Errorf("%s does not hold what this program reads in %s", EventsFile, LogFile)
	}
	e := r.Evidence(events)
	if now := campaign.Judge(&e); now.Verdict() != r.Verdict() {
		return fmt.Errorf("it was judged %s %s, and by its kernel log it is %s %s", r.Outcome, r.Cause, now.Outcome, now.Cause)
	}
	return nil
}
