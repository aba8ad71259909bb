package host

import (
	"encoding/json"
	"fmt"

	"github.com/cswatch/cswatch/machine"
)

// ManifestSchema is the schema id of the manifest in an archive of cswatch collect.
const ManifestSchema = "cswatch.collect/v1"

// manifest is cswatch/collect.json: what the archive holds, what it does not
// hold and why, and the facts that are in no file.
type manifest struct {
	Schema   string  `json:"schema"`
	Version  string  `json:"version,omitempty"`  // of cswatch
	TakenAt  string  `json:"taken_at,omitempty"` // RFC 3339
	Redacted bool    `json:"redacted"`
	Taken    []Taken `json:"taken"`
	Left     []Left  `json:"left"`
	Facts    facts   `json:"facts"`
}

// facts come from system calls and from the list of processes.
type facts struct {
	Arch     string      `json:"arch,omitempty"`
	Adjtimex *ClockState `json:"adjtimex,omitempty"`
	Daemon   string      `json:"daemon,omitempty"`
	// Cost is what a clock read cost on the machine when the archive was made.
	Cost *machine.Cost `json:"cost,omitempty"`
}

// Taken is a file in the archive.
type Taken struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	Redacted int    `json:"redacted,omitempty"` // places that were made unreadable
}

// Left is something that was looked for and is not in the archive.
type Left struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (c *collector) readManifest() error {
	data, cut, err := c.read(manifestName)
	if err != nil {
		return fmt.Errorf("collect a snapshot of %s: read its manifest: %w", c.opt.root(), err)
	}
	m := new(manifest)
	if err := json.Unmarshal(data, m); err != nil || cut {
		if cut {
			err = fmt.Errorf("it is longer than %d bytes", maxFact)
		}
		return fmt.Errorf("collect a snapshot of %s: its manifest %s is damaged, make the archive again: %w", c.opt.root(), manifestName, err)
	}
	if m.Schema != ManifestSchema {
		return fmt.Errorf("collect a snapshot of %s: its manifest has schema %.60q, this cswatch reads %q", c.opt.root(), m.Schema, ManifestSchema)
	}
	c.mani = m
	c.snap.Redacted = m.Redacted
	if m.Facts.Cost != nil {
		cost := *m.Facts.Cost
		cost.Path, cost.Clocksource = cleanText(cost.Path), cleanText(cost.Clocksource)
		c.snap.Cost = &cost
	}
	if m.Facts.Arch != "" {
		m.Facts.Arch = cleanText(m.Facts.Arch)
	}
	return nil
}

// left returns why a name is not in the archive.
func (m *manifest) left(name string) (string, bool) {
	if m == nil {
		return "", false
	}
	for _, l := range m.Left {
		if l.Name == name {
			if l.Reason == "" {
				return machine.ReasonNotInArchive, true
			}
			return cleanText(l.Reason), true
		}
	}
	return "", false
}
