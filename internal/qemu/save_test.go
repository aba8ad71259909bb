package qemu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/qemu/snapshot"
)

// state makes a saved state of a machine with one field, its ticks, and so many
// bytes of memory.
func state(t *testing.T, ticks int64, memory int) []byte {
	t.Helper()
	b := append([]byte("QEVM\x00\x00\x00\x03"), bytes.Repeat([]byte("memory"), memory/6)...)
	b = append(b, "\x04\x00\x00\x00\x01\x05timer\x00\x00\x00\x00\x00\x00\x00\x02"...)
	b = binary.BigEndian.AppendUint64(b, uint64(ticks))
	b = append(b, "\x7e\x00\x00\x00\x01\x00\x06"...)
	const text = `{"devices": [{"name": "timer", "instance_id": 0, "version": 2, "fields": [{"name": "cpu_ticks_offset", "type": "int64", "size": 8}]}]}`
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

func stateFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAMachineGoesOnFromASavedState(t *testing.T) {
	const memory = 1 << 20 // much more than a pipe takes
	cases := []struct {
		name, steps string
		ticks       int64
		limit       time.Duration
		outcome     Outcome
		why         string
		records     int
	}{
		{"and carries out its plan", "kmsg 4,7,3400000,-|x;end", 1000, 0, Done, "the window passed", 2},
		{"in the middle of a record", "rest;kmsg 4,7,3400000,-|x;end", 1000, 0, Done, "the window passed", 2},
		{"with another TSC", "end", -7, 0, Done, "the window passed", 1},
		{"and hangs", "hang", 1000, 3 * time.Second, Hung, "the guest did not end within 3s; it had gone on from a saved state", 0},
		{"and dies", "console last;exit 0", 1000, 0, Died, "before the guest did; the console's last line: last", 0},
		{"and panics", "console Kernel panic - not syncing: x;exit 0", 1000, 0, Panicked, "Kernel panic", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, received := fakeConfig(t), filepath.Join(t.TempDir(), "received")
			spec := fakeSpec(t, "state "+received+";"+c.steps)
			if c.limit > 0 {
				spec.Limit = c.limit
			}
			before := state(t, 1000, memory)
			spec.From = stateFile(t, before)
			if c.ticks != 1000 {
				spec.Steps = []snapshot.Step{{CPU: snapshot.AllCPUs, Cycles: c.ticks - 1000}}
			}
			r, err := config.Boot(limited(t), spec)
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome != c.outcome || !strings.Contains(r.Why, c.why) || len(r.Records) != c.records {
				t.Errorf("%s: %s, %d records; want %s: %s, %d", r.Outcome, r.Why, len(r.Records), c.outcome, c.why, c.records)
			}
			if !r.Resumed || r.Hello != nil || r.Booted != 0 || r.Damaged != 0 || r.Wall <= 0 {
				t.Errorf("resumed %v, hello %v, booted after %v, ended after %v, %d damaged lines", r.Resumed, r.Hello, r.Booted, r.Wall, r.Damaged)
			}
			if got, err := os.ReadFile(received); err != nil || !bytes.Equal(got, state(t, c.ticks, memory)) {
				t.Errorf("QEMU got %d bytes other than the state, error %v", len(got), err)
			}
			if kept, err := os.ReadFile(spec.From); err != nil || !bytes.Equal(kept, before) {
				t.Errorf("the state itself was changed, error %v", err)
			}
		})
	}
}

func TestAStateThatCannotBeRestoredIsAnError(t *testing.T) {
	good := state(t, 1000, 100)
	cases := []struct {
		name  string
		from  string
		steps []snapshot.Step
		want  string
	}{
		{"no file", "/no/such/state", nil, "restore the state of a machine from /no/such/state: open"},
		{"a folder", "/", nil, "restore the state of a machine from /: "},
		{"something else", stateFile(t, []byte("some other file")), nil, `it begins with "some oth", want "QEVM"`},
		{"a part", stateFile(t, good[:len(good)-1]), nil, "it may be cut"},
		{"a CPU that was not saved", stateFile(t, good), []snapshot.Step{{CPU: 1, Cycles: 5}}, "make the step CPU 1 +5 cycles: find the field env.tsc_offset of the section cpu 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, spec := fakeConfig(t), fakeSpec(t, "end")
			spec.From, spec.Steps = c.from, c.steps
			r, err := config.Boot(limited(t), spec)
			if err == nil || !strings.Contains(err.Error(), c.want) || r.Outcome != "" {
				t.Errorf("outcome %q, error %v; want one that says %q", r.Outcome, err, c.want)
			}
		})
	}
	t.Run("QEMU does not take it", func(t *testing.T) {
		spec := fakeSpec(t, "stderr qemu: load of migration failed: Invalid argument;exit 1") // without reading it
		spec.From = stateFile(t, state(t, 1000, 1<<20))
		r, err := fakeConfig(t).Boot(limited(t), spec)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "load of migration failed") || r.Outcome != Died {
			t.Errorf("%s, error %v", r.Outcome, err)
		}
	})
}

func TestSavingEndsTheMachineOrLeavesNoFile(t *testing.T) {
	good := state(t, 1000, 1<<20)
	cases := []struct {
		name  string
		qmp   bool
		state string // what QEMU sends
		to    string // a path in a folder that is there, by default
		want  string // "" for success
	}{
		{"all goes well", true, stateFile(t, good), "", ""},
		{"QEMU fails", true, "/no/such/state", "", "failed Broken pipe"},
		{"QEMU sends something else", true, stateFile(t, []byte("something else")), "", `it begins with "somethin"`},
		{"QEMU sends a part", true, stateFile(t, good[:1<<19]), "", "it may be cut, or saved by another version"},
		{"the folder is not there", true, stateFile(t, good), "/no/such/folder/state", "save the state of the machine to /no/such/folder/state: open /no/such/folder/"},
		{"there is no QMP", false, stateFile(t, good), "", "specified without QMP"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			steps := "hello;save " + c.state + ";hang"
			if !c.qmp {
				steps = "hello;hang"
			}
			config, spec := fakeConfig(t), fakeSpec(t, steps)
			spec.QMP = c.qmp
			m, err := config.Start(limited(t), spec)
			if err != nil {
				t.Fatal(err)
			}
			to, dir := c.to, t.TempDir()
			if to == "" {
				to = filepath.Join(dir, "state")
			}
			err = m.Save(limited(t), to)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			m.Kill()
			r, waitErr := m.Wait()
			why := "killed by the caller"
			if c.want == "" {
				why = "its state was saved"
			}
			if waitErr != nil || r.Outcome != Stopped || !strings.HasSuffix(r.Why, why) {
				t.Errorf("%s: %s, error %v; want %s: %s", r.Outcome, r.Why, waitErr, Stopped, why)
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" && len(left) > 0 {
				t.Errorf("it left %v behind", left)
			}
			if c.want == "" {
				if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, good) || len(left) != 1 {
					t.Errorf("saved were %d bytes in %v, error %v", len(got), left, err)
				}
			}
		})
	}
}

func TestSavingEndsWithItsContextAndWithTheMachine(t *testing.T) {
	for _, way := range []string{"context", "machine"} {
		t.Run(way, func(t *testing.T) {
			config, spec := fakeConfig(t), fakeSpec(t, "hello;hang") // nobody speaks QMP
			spec.QMP = true
			m, err := config.Start(limited(t), spec)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(limited(t))
			defer cancel()
			saved := make(chan error)
			go func() { saved <- m.Save(ctx, filepath.Join(t.TempDir(), "state")) }()
			if way == "machine" {
				m.Kill()
			} else {
				cancel()
			}
			want := map[string]string{"context": "context canceled", "machine": "the machine has ended"}[way]
			if err := <-saved; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one that says %q", err, want)
			}
			m.Kill()
			if _, err := m.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
