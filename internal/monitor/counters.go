package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/evidence"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/internal/tally"
)

// sessionLasts is how long counters are watched before they are opened anew: what is a good reference can change, and so
// can the CPUs and the clocksource.
const sessionLasts = 10 * time.Minute

// window is what the live watch saw lately, for the doctor.
type window struct{ done, now *doctor.Live } // of the last session that ended, and of the one that runs

// enough is how many ticks a verdict wants: those of `doctor --live 5s`.
const enough = 10

// best returns the better founded of the two.
func (w *window) best() *doctor.Live {
	if w.now != nil && (w.now.Ticks >= enough || w.done == nil) {
		return w.now
	}
	return w.done
}

// watchCounters runs the live watch, session after session.
func (m *Monitor) watchCounters(ctx context.Context) {
	var wait retry
	var from live.Place
	for {
		began := time.Now()
		err := m.session(ctx, &from)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			wait.worked()
			continue
		}
		m.report(tally.Live, err, began)
		if !wait.pause(ctx) {
			return
		}
	}
}

// session watches the counters for a while, or until the clocksource is another one.
func (m *Monitor) session(ctx context.Context, from *live.Place) error {
	ev, err := m.config.Sources.Surroundings()
	if err != nil {
		return err
	}
	plan, err := m.config.Watch(ev.Snapshot)
	if err != nil {
		return err
	}
	o := plan.Options
	o.Anew, o.Record, o.Ticks, o.From = true, nil, 0, *from
	o.Rhythm = m.rhythm()
	s, err := m.config.Sources.Open(ctx, o)
	if err != nil {
		return err
	}
	opened := time.Now()
	count := evidence.NewLiveTally(s)
	found := func() *doctor.Live {
		l := count.Result(s)
		l.Asked, l.Release, l.EraWhy, l.Kernel = sessionLasts.Seconds(), plan.Release, plan.EraWhy, plan.Kernel
		l.Current, l.Guest, l.Ended = o.Surroundings.Clocksource, o.Surroundings.Guest, "duration"
		return l
	}
	r := &s.Reference
	m.change(func(t *tally.Tally) {
		setup := s.Setup()
		t.Watching(setup.Profile.Era, setup.Profile.Attempts(r.CPUs.Count(), setup.Retries)-1, tally.Name(r.Counter), r.Name, r.Independent, r.Reason)
	})
	m.config.Log.Debug("watching the live counters", "era", s.Setup().Profile.Era, "reference", r.Name, "independent", r.Independent)
	var check tally.Check
	var began time.Time // of the burst
	err = s.Run(ctx, func(tick *live.Tick) error {
		if began.IsZero() {
			began = time.Now()
		}
		count.Add(tick)
		of(&check, tick)
		moment := m.moment()
		over := false
		burstEnds := o.Rhythm.Burst == 0 || o.Rhythm.Ends(int(tick.Number))
		m.change(func(t *tally.Tally) {
			t.Check(&check, moment)
			if burstEnds {
				m.live.now = found()
				current := t.Current()
				over = time.Since(opened) >= sessionLasts || current != "" && current != o.Surroundings.Clocksource
			}
		})
		if burstEnds {
			m.report(tally.Live, nil, began)
			began = time.Time{}
		}
		if over {
			return errSessionOver
		}
		return nil
	})
	*from = s.Place()
	m.mu.Lock()
	m.live = window{done: found()}
	m.mu.Unlock()
	if errors.Is(err, errSessionOver) {
		err = nil
	}
	if err == nil && ctx.Err() == nil && time.Since(opened) < time.Second {
		err = fmt.Errorf("watch live counters: the watch ended at once")
	}
	return errors.Join(err, s.Close())
}

var errSessionOver = errors.New("the session is over")

func (m *Monitor) rhythm() hw.Rhythm {
	if m.config.WatchEvery < 0 {
		return hw.Rhythm{}
	}
	return hw.Rhythm{Burst: burst, Every: max(m.config.WatchEvery, burst*hw.Pace)}
}
