package qmp

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// message is one line from QEMU: exactly one of the four parts is there.
type message struct {
	ID       *uint64         `json:"id,omitempty"`
	Greeting *Greeting       `json:"QMP,omitempty"`
	Return   json.RawMessage `json:"return,omitempty"`
	Error    *Error          `json:"error,omitempty"`

	Event     string          `json:"event,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Timestamp *timestamp      `json:"timestamp,omitempty"`
}

// Greeting is the first message: QEMU says who it is.
type Greeting struct {
	Version struct {
		QEMU struct {
			Major int `json:"major"`
			Minor int `json:"minor"`
			Micro int `json:"micro"`
		} `json:"qemu"`
		Package string `json:"package"`
	} `json:"version"`
}

// Event is what QEMU says on its own account, such as STOP or RESUME.
type Event struct {
	Name string
	Data json.RawMessage // nil if there are none
	Time time.Time       // by QEMU's clock; zero if it did not say
}

// Error is QEMU's refusal of a command.
type Error struct {
	Class       string `json:"class"` // GenericError, CommandNotFound, ...
	Description string `json:"desc"`
}

// Error returns QEMU's description.
func (e *Error) Error() string { return e.Description }

// timestamp is what events carry.
type timestamp struct {
	Seconds      int64 `json:"seconds"` // -1 if QEMU could not tell
	Microseconds int64 `json:"microseconds"`
}

func (t *timestamp) time() time.Time {
	if t == nil || t.Seconds < 0 {
		return time.Time{}
	}
	return time.Unix(t.Seconds, t.Microseconds*1000).UTC()
}

// parseMessage reads one line.
func parseMessage(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("read a QMP message: %w", err)
	}
	parts := 0
	for _, there := range []bool{m.Greeting != nil, m.Return != nil, m.Error != nil, m.Event != ""} {
		if there {
			parts++
		}
	}
	if parts != 1 {
		return message{}, errors.New("read a QMP message: it is not exactly one of greeting, return, error and event")
	}
	return m, nil
}
