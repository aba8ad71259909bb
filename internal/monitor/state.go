package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cswatch/cswatch/internal/journal"
	"github.com/cswatch/cswatch/internal/tally"
)

const (
	// saveRest is the shortest time between two writes of the state: what is not in it is read from
	// the kernel's ring buffer again.
	saveRest = time.Second
	// saveEvery is how often it is written although nothing worth it happened: record numbers go on.
	saveEvery = time.Minute
	// maxState bounds the file, in bytes.
	maxState = 16 << 20
)

// restore returns the tally of this boot that was kept, or a new one.
func (m *Monitor) restore(boot string) *tally.Tally {
	if m.config.State == "" {
		return tally.New(boot)
	}
	s, err := readState(m.config.State)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tally.New(boot)
	case err == nil && s.Boot != boot:
		m.config.Log.Info("the state that was kept is of an earlier boot", "file", m.config.State)
		return tally.New(boot)
	}
	var t *tally.Tally
	if err == nil {
		t, err = tally.Restore(s)
	}
	if err != nil {
		m.config.Log.Warn("the state that was kept cannot be used: what the kernel's log still holds is counted anew", "file", m.config.State, "err", err)
		return tally.New(boot)
	}
	m.config.Log.Info("going on with what was kept of this boot", "file", m.config.State, "next_record", t.Next())
	return t
}

func readState(name string) (s tally.State, err error) {
	f, err := os.Open(name)
	if err != nil {
		return s, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	if info.Size() > maxState || !info.Mode().IsRegular() {
		return s, fmt.Errorf("%s is no state of a monitor", name)
	}
	return s, json.NewDecoder(f).Decode(&s)
}

// keepState keeps the state whenever something changed, and each so often.
func (m *Monitor) keepState(ctx context.Context) {
	if m.config.State == "" {
		<-ctx.Done()
		return
	}
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		m.save()
		if !pause(ctx, saveRest) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-m.keep:
		case <-ticker.C:
		}
	}
}

// save keeps the state.
func (m *Monitor) save() {
	if m.config.State == "" {
		return
	}
	began := time.Now()
	m.mu.Lock()
	s := m.tally.State()
	m.mu.Unlock()
	b, err := json.Marshal(s)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(m.config.State), 0o755)
	}
	if err == nil {
		err = journal.Replace(m.config.State, append(b, '\n'), 0o600)
	}
	if err != nil {
		err = fmt.Errorf("keep the state of the monitor: %w", err)
	}
	m.report(tally.Keeper, err, began)
}
