package guest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
)

// pollPace is how long the guest waits for the kernel log before it looks at
// sysfs again. It is long enough not to load a guest of one slow CPU.
const pollPace = 100 * time.Millisecond

// world is what process 1 watches.
type world interface {
	// uptime is the monotonic clock.
	uptime() time.Duration
	// kernelLog returns the records of the kernel log since the last call, as
	// /dev/kmsg gives them. If there are none it waits for one, for at most the given time, which it also
	// takes where the log cannot be read.
	kernelLog(wait time.Duration) ([]string, error)
	clocksource() (Clocksource, error)
}

// watcher carries out a plan in a world.
type watcher struct {
	plan Plan
	w    world
	emit func(Record)

	start   time.Duration
	clock   Clocksource
	lastSeq int64 // sequence number of the last kernel log record, -1 before the first
	lost    int64
	found   event.Kind // the event that ends the trial, "" as long as none came
	failing map[string]bool
}

// watch carries out the plan: it hands over what happens until the plan, or the
// program by its exit code on ended, says that it is over. clock is what the
// hello said of the clocksource.
func watch(plan Plan, w world, clock Clocksource, emit func(Record), ended <-chan int) End {
	x := &watcher{plan: plan, w: w, emit: emit, start: w.uptime(), clock: clock, lastSeq: -1, failing: map[string]bool{}}
	until := x.start + plan.Window
	end := End{Reason: EndWindow}
	for {
		wait := min(until-w.uptime(), pollPace)
		x.look(max(wait, 0))
		if x.found != "" && end.Event == "" {
			end.Reason, end.Event = EndEvent, string(x.found)
			until = min(until, w.uptime()+plan.Linger)
		}
		select {
		case code := <-ended:
			// What the kernel said while the program ended is still to be read.
			x.look(0)
			end.Reason, end.Exit = EndProgram, &code
			return x.finish(end)
		default:
		}
		if wait <= 0 {
			return x.finish(end)
		}
	}
}

func (x *watcher) finish(end End) End {
	end.DweltNS = int64(x.w.uptime() - x.start)
	end.LostKmsg, end.Clocksource = x.lost, x.clock
	return end
}

func (x *watcher) say(r Record) {
	r.UptimeNS = int64(x.w.uptime())
	x.emit(r)
}

// trouble hands over an error, once for each thing that was attempted.
func (x *watcher) trouble(what string, err error) {
	if !x.failing[what] {
		x.failing[what] = true
		x.say(Record{Type: TypeTrouble, Trouble: fmt.Sprintf("%s: %v", what, err)})
	}
}

// look reads the kernel log and sysfs once.
func (x *watcher) look(wait time.Duration) {
	records, err := x.w.kernelLog(wait)
	if err != nil {
		x.trouble("read the kernel log", err)
	}
	for _, r := range records {
		if seq, ok := sequence(r); ok {
			if x.lastSeq >= 0 && seq > x.lastSeq+1 {
				x.lost += seq - x.lastSeq - 1
			}
			x.lastSeq = seq
		}
		x.say(Record{Type: TypeKmsg, Kmsg: r})
	}
	if len(x.plan.EndOn) > 0 && x.found == "" && len(records) > 0 {
		x.found = firstOf(records, x.plan.EndOn)
	}
	now, err := x.w.clocksource()
	if err != nil {
		x.trouble("read the clocksource", err)
		return
	}
	if !now.equal(x.clock) {
		x.clock = now
		x.say(Record{Type: TypeClocksource, Clocksource: &now})
	}
}

// sequence returns the sequence number of a /dev/kmsg record, the second field of its head.
func sequence(record string) (int64, bool) {
	_, rest, _ := strings.Cut(record, ",")
	digits, _, ok := strings.Cut(rest, ",")
	seq, err := strconv.ParseInt(digits, 10, 64)
	return seq, ok && err == nil && seq >= 0
}

// firstOf returns the kind of the first event in the records that is one of
// kinds, "" if there is none.
func firstOf(records []string, kinds []event.Kind) event.Kind {
	r := klog.NewReader(strings.NewReader(strings.Join(records, "\n")+"\n"), "kmsg")
	for r.Next() {
		if k := r.Event().Kind; slices.Contains(kinds, k) {
			return k
		}
	}
	return ""
}
