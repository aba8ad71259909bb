package monitor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cswatch/cswatch/internal/tally"
)

// Monitor keeps the tally of a machine. Its methods may be called by any goroutine.
type Monitor struct {
	config  Config
	started time.Time

	mu      sync.Mutex
	tally   *tally.Tally
	offered map[string]uint64 // by hook, the number of the last entry
	ready   bool
	beat    time.Time // when the loop over sysfs last came around
	live    window    // what the live watch saw since the last diagnosis

	// Each of these has room for one word, and says that there is something to do.
	look  chan struct{} // at sysfs
	judge chan struct{}
	keep  chan struct{}
}

// New makes a monitor, which goes on with the state that was kept of this boot. A state that cannot be
// read is said in the log and is no error: what is still in the kernel's ring buffer is counted anew.
func New(c Config) (*Monitor, error) {
	c = c.withDefaults()
	boot, err := c.Sources.Boot()
	if err != nil {
		return nil, fmt.Errorf("find out which boot of the kernel this is: %w", err)
	}
	word := func() chan struct{} { return make(chan struct{}, 1) }
	m := &Monitor{config: c, started: time.Now(), beat: time.Now(), offered: map[string]uint64{}, look: word(), judge: word(), keep: word()}
	m.tally = m.restore(boot)
	return m, nil
}

// Run monitors until the context ends, keeps the state once more and returns. It is called once.
func (m *Monitor) Run(ctx context.Context) {
	m.offer() // what an earlier run did not get told
	var all sync.WaitGroup
	for _, f := range []func(context.Context){m.followKernel, m.followSysfs, m.watchCounters, m.samplePrices, m.diagnose, m.keepState} {
		all.Go(func() { f(ctx) })
	}
	all.Wait()
	m.save()
}

// View returns a copy of what is known.
func (m *Monitor) View() tally.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tally.View()
}

// Started is when the monitor was made, and Booted when the kernel was, as far as can be told now.
func (m *Monitor) Started() time.Time { return m.started }

// Booted returns when the kernel was booted, as far as can be told now.
func (m *Monitor) Booted() time.Time {
	s := m.config.Sources.Stamps()
	return s.Now.Add(-s.Monotonic - s.Slept).Round(time.Second) // the clocks are steered: it would be another one each time
}

// Ready reports whether the log of this boot was looked through, or cannot be: before that, counts
// are smaller than they were when an earlier run ended.
func (m *Monitor) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ready {
		return fmt.Errorf("the log of this boot is still being looked through")
	}
	return nil
}

// patience is how long nothing may come around.
const patience = time.Minute

// Healthy reports a monitor that does not come around any more.
func (m *Monitor) Healthy() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if late := time.Since(m.beat); late > patience+m.config.SysfsEvery {
		return fmt.Errorf("the monitor has not come around for %v", late.Round(time.Second))
	}
	return nil
}

// Told notes that a hook has dealt with an entry, whatever came of it.
func (m *Monitor) Told(hook string, number uint64) {
	m.change(func(t *tally.Tally) { t.Tell(hook, number) })
}

// change changes the tally, and sees to it that what follows from that is done.
func (m *Monitor) change(f func(*tally.Tally)) {
	m.mu.Lock()
	before := m.tally.Entries()
	f(m.tally)
	changed, entered := m.tally.Changed(), m.tally.Entries() > before
	m.mu.Unlock()
	if changed {
		m.offer()
		say(m.keep)
	}
	if entered {
		say(m.judge)
	}
}

// offer gives the hooks what they do not know yet.
func (m *Monitor) offer() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.config.Hooks {
		for _, e := range m.tally.Untold(h.Name()) {
			if e.Number > m.offered[h.Name()] {
				m.offered[h.Name()] = e.Number
				h.Offer(e)
			}
		}
	}
}

// report notes how a collector fared, and says so in the log where it is news.
func (m *Monitor) report(c tally.Collector, err error, began time.Time) {
	now := time.Now()
	m.mu.Lock()
	news := m.tally.Report(c, err, now.Sub(began), m.config.Sources.Stamps().Now)
	m.mu.Unlock()
	switch {
	case !news:
	case err != nil:
		m.config.Log.Warn("collector failed", "collector", c, "err", err)
	default:
		m.config.Log.Info("collector works", "collector", c)
	}
}

// moment is now.
func (m *Monitor) moment() tally.Moment { return tally.Moment{At: m.config.Sources.Stamps().Now} }

// say leaves a word where there is none yet.
func say(word chan struct{}) {
	select {
	case word <- struct{}{}:
	default:
	}
}

// pause waits, and reports false where the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// retry are the pauses between attempts at what fails: they grow.
type retry struct{ next time.Duration }

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// pause waits before the next attempt.
func (r *retry) pause(ctx context.Context) bool {
	r.next = min(max(2*r.next, firstRetry), lastRetry)
	return pause(ctx, r.next)
}

// worked begins anew with short pauses.
func (r *retry) worked() { r.next = 0 }
