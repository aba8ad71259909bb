package monitor

import (
	"context"
	"time"

	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/evidence"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
)

// secondLook is how long a switch that sysfs shows waits for the log to tell of it.
const secondLook = 2 * time.Second

// followSysfs looks at the clocksources each so often, and at once after a switch.
func (m *Monitor) followSysfs(ctx context.Context) {
	ticker := time.NewTicker(m.config.SysfsEvery)
	defer ticker.Stop()
	for {
		again := false
		began := time.Now()
		current, available, err := m.config.Sources.Clocksources()
		m.report(tally.Sysfs, err, began)
		changed := false
		moment := m.moment()
		m.change(func(t *tally.Tally) {
			m.beat = began
			t.Tick(moment.At)
			if err == nil && m.ready { // before that the log is behind, and would tell of the past as if it were news
				before := t.Current()
				again = t.Observe(current, available, moment)
				changed = before != t.Current()
			}
		})
		if changed {
			say(m.judge)
		}
		var soon <-chan time.Time
		if again {
			soon = time.After(secondLook)
		}
		select {
		case <-ctx.Done():
			return
		case <-m.look:
		case <-soon:
		case <-ticker.C:
		}
	}
}

// samplePrices measures what a read of the clock costs.
func (m *Monitor) samplePrices(ctx context.Context) {
	for {
		began := time.Now()
		cost, err := m.config.Sources.Price(ctx)
		if ctx.Err() != nil {
			return
		}
		m.report(tally.Cost, err, began)
		if err == nil {
			m.change(func(t *tally.Tally) { t.Price(cost) })
		}
		if !pause(ctx, m.config.CostEvery) {
			return
		}
	}
}

const (
	// rest is how long a diagnosis waits for what else may come of what caused it.
	rest = 300 * time.Millisecond
	// apart is the shortest time between two, whatever a log says.
	apart = 5 * time.Second
)

// diagnose lets the doctor judge what is known, each so often and when something changed.
func (m *Monitor) diagnose(ctx context.Context) {
	next := m.config.DoctorEvery
	for {
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-m.judge:
		case <-timer.C:
		}
		timer.Stop()
		if !pause(ctx, rest) {
			return
		}
		select { // what was said meanwhile is in it
		case <-m.judge:
		default:
		}
		if m.Ready() != nil {
			continue // a word comes when the look back is over
		}
		if next = m.config.DoctorEvery; !m.diagnoseNow() {
			next = min(next, lastRetry)
		}
		if !pause(ctx, apart) {
			return
		}
	}
}

// diagnoseNow makes a diagnosis, and reports whether it could.
func (m *Monitor) diagnoseNow() bool {
	began := time.Now()
	ev, err := m.config.Sources.Surroundings()
	m.report(tally.Doctor, err, began)
	if err != nil {
		return false
	}
	m.mu.Lock()
	m.addTo(&ev)
	m.mu.Unlock()
	d := doctor.Examine(ev)
	moment := m.moment()
	m.change(func(t *tally.Tally) { t.Diagnose(&d, moment) })
	return true
}

// addTo adds to evidence what is known of the log and the measurements.
func (m *Monitor) addTo(ev *doctor.Evidence) {
	view := m.tally.View()
	ev.Events, ev.LeftOut = m.tally.Events()
	ev.LogLines, ev.Foreign = int64(view.Log.Records), int(view.Log.Foreign)
	ev.Inputs.Ignore, ev.Inputs.Expect, ev.Inputs.FailOn = m.config.Inputs.Ignore, m.config.Inputs.Expect, m.config.Inputs.FailOn
	if h := view.Collectors[tally.Kmsg]; !h.OK {
		evidence.Lacks(ev, "kernel log", h.Error, "give the program CAP_SYSLOG, as its systemd unit does")
	} else if view.Log.Lost > 0 {
		evidence.Lacks(ev, "part of the kernel log", "the kernel overwrote some of it before it was read", "boot with a greater log_buf_len")
	}
	if h := view.Collectors[tally.Cost]; h.OK {
		ev.Cost = view.Cost
	} else if h.Known {
		evidence.Lacks(ev, "cost of a clock read", h.Error, "see the collectors of cswatch monitor")
	}
	ev.Live = m.live.best()
	if h := view.Collectors[tally.Live]; ev.Live == nil && h.Known && !h.OK {
		ev.NoLive = &machine.Unreadable{What: "live counters", Reason: h.Error, HowTo: "see the collectors of cswatch monitor"}
	}
}
