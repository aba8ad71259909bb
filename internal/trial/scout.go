package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/fidelity"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/watchdog"
)

// Scout is what one boot of a kernel told that trials of it need.
type Scout struct {
	Release  string `json:"release"` // uname -r
	Version  string `json:"version"` // uname -v
	ReadHPET uint64 `json:"read_hpet"`
	// TSCHz is what the kernel took for the frequency of the TSC. It is this machine's.
	TSCHz int64 `json:"tsc_hz"`
}

// The function that reads the HPET's counter, in every release.
const readHPET = "read_hpet"

// scoutTries bounds how often a boot is tried that QEMU lost, or on which the machine was too busy.
const scoutTries = 4

// ScoutKernel returns what a boot of the kernel in a file tells: from the cache, by
// the sum of its image, else by booting it.
func ScoutKernel(ctx context.Context, c qemu.Config, file string) (Scout, error) {
	kernel, err := c.Prepare(file)
	if err != nil {
		return Scout{}, err
	}
	dir, err := c.CacheFolder("scouts")
	if err != nil {
		return Scout{}, err
	}
	path := filepath.Join(dir, kernel.SHA256+".json")
	var s Scout
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &s) == nil && s.ReadHPET != 0 && s.TSCHz != 0 {
		return s, nil
	}
	if s, err = scout(ctx, c, file); err != nil {
		return Scout{}, fmt.Errorf("find out about the kernel %s: %w", file, err)
	}
	return s, keepScout(path, s)
}

// keepScout writes beside and renames, for others may read meanwhile.
func keepScout(path string, s Scout) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func scout(ctx context.Context, c qemu.Config, file string) (Scout, error) {
	spec := qemu.Spec{
		Kernel: file, Limit: 2 * time.Minute,
		// The calibration of the TSC ends a second after it began.
		Plan: guest.Plan{Symbols: []string{readHPET}, Window: 20 * time.Second, EndOn: []event.Kind{event.TSCRefined, event.TSCUnstable}},
	}
	var why error
	for range scoutTries {
		r, err := c.Boot(ctx, spec)
		if err != nil {
			return Scout{}, err
		}
		s, err := told(&r)
		if err == nil {
			return s, nil
		}
		why = err
	}
	return Scout{}, why
}

// told takes what is wanted from a boot.
func told(r *qemu.Result) (Scout, error) {
	if r.Hello == nil {
		return Scout{}, fmt.Errorf("%s: %s", r.Outcome, r.Why)
	}
	s := Scout{Release: r.Hello.Release, Version: r.Hello.Version}
	for _, rec := range r.Records {
		for _, symbol := range rec.Record.Symbols {
			s.ReadHPET = symbol.Address
		}
	}
	events, err := r.Events()
	if err != nil {
		return Scout{}, err
	}
	s.TSCHz = frequency(events)
	switch {
	case s.ReadHPET == 0:
		return Scout{}, fmt.Errorf("it tells no address of %s: %v", readHPET, r.Troubles())
	case s.TSCHz == 0:
		return Scout{}, fmt.Errorf("its log tells no frequency of the TSC: %s", r.Why)
	}
	return s, nil
}

// frequency returns what the kernel takes for the frequency of the TSC, in Hz, 0 if it does not say.
func frequency(events []event.Event) int64 {
	var hz int64
	for _, e := range events {
		if e.Kind == event.TSCDetected || e.Kind == event.TSCRefined {
			hz = e.FrequencyHz.Value
		}
	}
	return hz
}

// Profile returns the era of the kernel, which must be certain.
func (s *Scout) Profile() (watchdog.Profile, error) {
	return profileOf(s.Release, s.Version)
}

func profileOf(release, version string) (watchdog.Profile, error) {
	return fidelity.ProfileOf(watchdog.Identity{Release: release, Version: version})
}
