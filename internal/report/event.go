package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// EventText writes one event of a kernel log as one line: where it stands, the
// boot, the time, the kind and what it says, in words and with units. A time
// that is not to be relied on carries a "?", a second copy of a line "(copy)".
// The line is not wrapped.
func EventText(w io.Writer, e event.Event, opt TextOptions) error {
	p := &page{opt: opt}
	text, limit := eventWords(&e), maxProof
	if !opt.Verbose {
		limit = 300
	}
	copied := ""
	if e.Source.Duplicate {
		copied = "  (copy)"
	}
	// Blanks behind the prefix level lines of up to four digits.
	level := strings.Repeat(" ", max(0, 4-len(fmt.Sprint(e.Source.Line))))
	p.line(fmt.Sprintf("%s%sboot %-2d %17s  %-20s  %s%s",
		p.paint(p.tag(e.Source.File, e.Source.Line), dim), level, e.Source.Boot, p.eventTime(e.Time),
		p.safe(string(e.Kind), maxName), p.safe(text, limit), copied))
	return p.writeTo(w, "the event")
}

// eventTime is the kernel's stamp, else the wall clock's as written, else "-".
func (p *page) eventTime(t event.Time) string {
	s := "-"
	if ns, ok := t.PrintkNS.Get(); ok {
		s = stamp(ns)
	} else if t.Wall != "" {
		s = p.safe(t.Wall, maxName)
	}
	if t.Doubt != "" {
		return s + "?"
	}
	return s + " "
}

// eventWords says in words what an event tells. Where there are no words for a
// kind, the line itself is shown.
func eventWords(e *event.Event) string {
	for _, tell := range [...]func(*event.Event) string{verdictEvent, checkEvent, tscEvent, clockEvent, machineEvent} {
		if s := tell(e); s != "" {
			if e.Cut {
				s += " (the line is cut off)"
			}
			return s
		}
	}
	return e.Text
}

// parts gathers what an event tells; a part whose number is not known is left out.
type parts []string

func (s *parts) add(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// ns adds a time in nanoseconds: the format has one %s for it.
func (s *parts) ns(format string, v event.Opt[int64]) {
	if ns, ok := v.Get(); ok {
		s.add(format, exact(ns))
	}
}

// count adds a plain number: the format has one %d for it.
func (s *parts) count(format string, v event.Opt[int64]) {
	if n, ok := v.Get(); ok {
		s.add(format, n)
	}
}

func (s *parts) name(format, name string) {
	if name != "" {
		s.add(format, name)
	}
}

// span is a time in nanoseconds with the words before it, "" if it is not known.
func span(words string, v event.Opt[int64]) string {
	if ns, ok := v.Get(); ok {
		return words + exact(ns)
	}
	return ""
}

// number is a plain number in its words, "" if it is not known.
func number(format string, v event.Opt[int64]) string {
	if n, ok := v.Get(); ok {
		return fmt.Sprintf(format, n)
	}
	return ""
}

// counterAt is a counter value, in decimal as kernels print it.
func counterAt(v event.Opt[event.Hex]) string {
	if n, ok := v.Get(); ok {
		return fmt.Sprintf(" at %d cycles", uint64(n))
	}
	return ""
}

// cpu names a CPU, or says that the line names none.
func cpu(v event.Opt[int64]) string { return or(number("CPU %d", v), "a CPU") }

func (s parts) String() string { return strings.Join(s, ", ") }

// or is name, or what stands for it where the line does not carry it.
func or(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// verdictEvent tells of clocks that the kernel gave up.
func verdictEvent(e *event.Event) string {
	clock := or(e.Clocksource, "a clock")
	var s parts
	switch e.Kind {
	case event.DeltaVerdict:
		s.add("%s condemned for skew", clock)
		s.ns("%s apart", e.SkewNS)
	case event.SkewVerdict:
		s.add("%s condemned for skew", clock)
		s.count("by CPU %d", e.CPU)
	case event.FrequencyVerdict:
		s.add("%s condemned for frequency skew", clock)
	case event.InterCPUVerdict:
		s.add("%s condemned for disorder between CPUs", clock)
	case event.DelayVerdict:
		s.add("%s condemned for latency", or(e.Clocksource, "clock"))
		s.ns("reading took %s", e.DelayNS)
		s.ns("allowed are %s", e.LimitNS)
		s.ns("the reference alone took %s", e.WatchdogDelayNS)
		s.count("attempt %d", e.Attempt)
		s.name("reference %s", e.Reference)
		s.count("CPU %d", e.CPU)
	case event.TSCUnstable:
		s.add("the kernel gives up the TSC")
		s.name("reason: %s", e.Detail)
	case event.TSCBrokenBIOS:
		s.add("the kernel found the TSC unstable after boot and suspects the firmware")
	case event.SchedUnstable:
		s.add("sched_clock no longer uses the TSC")
	case event.OverrideRefused:
		s.add("the wish for %s was refused: the kernel gave it up", clock)
	}
	return s.String()
}

// checkEvent tells of the watchdog's checks and of the lines of their blocks.
func checkEvent(e *event.Event) string {
	clock, reference := or(e.Clocksource, "the clock"), or(e.Reference, "the reference")
	var s parts
	switch e.Kind {
	case event.ReferenceInterval, event.SecondReference, event.ReferenceSpan:
		s = advance("reference "+or(e.Reference, "(no name)"), e)
	case event.WatchedInterval, event.WatchedSpan:
		s = advance(clock, e)
	case event.SkewAmount:
		s.add("%s is off against %s%s%s", clock, reference, span(" by ", e.SkewNS), span(" over ", e.ReferenceIntervalNS))
	case event.CurrentClock:
		switch {
		case e.Current == "" || e.Detail == "none":
			s.add("no clock is in use")
		case e.Current == e.Clocksource || e.Detail == "same":
			s.add("%s is in use", e.Current)
		default:
			s.add("%s is in use, not %s", e.Current, clock)
		}
	case event.Retried:
		s.add("%s was read in the end", reference)
		s.count("retries: %d", e.Retries)
	case event.BusyReference:
		s.add("%s is busy", reference)
		s.ns("two reads in a row took %s", e.WatchdogDelayNS)
		s.count("CPU %d", e.CPU)
	case event.TestSkipped:
		s.add("the check of %s was skipped", clock)
		s.ns("reading took %s", e.DelayNS)
	case event.LongInterval:
		s.add("a check was skipped: too long an interval")
		s.ns("%s by the clock", e.IntervalNS)
		s.ns("%s by the reference", e.ReferenceIntervalNS)
	case event.ReadTimedOut:
		s.add("reading %s took too long, no check", reference)
		s.ns("it took %s", e.DelayNS)
	case event.RemoteTimedOut:
		s.add("a read on another CPU took too long, no check")
		s.count("CPU %d", e.CPU)
	case event.CPUOrder:
		s.add("%s%s is behind %s%s", cpu(e.CPU), counterAt(e.Stamp), cpu(e.PeerCPU), counterAt(e.PeerStamp))
	case event.VerifyStarted:
		s.add("check of %s across CPUs", clock)
		s.name(cpu(e.CPU)+" against CPUs %s", e.CPUs)
	case event.VerifyAhead:
		s.add("%s of CPUs %s is ahead of %s", clock, or(e.CPUs, "(not said)"), cpu(e.CPU))
	case event.VerifyBehind:
		s.add("%s of CPUs %s is behind %s", clock, or(e.CPUs, "(not said)"), cpu(e.CPU))
	case event.VerifyDurations:
		s.add("check of %s across CPUs done%s%s", clock, span(", it took ", e.MinNS), span(" to ", e.MaxNS))
	case event.VerifyImpossible:
		s.add("no second CPU to check %s against", clock)
	}
	return s.String()
}

// advance tells how far a clock went between two checks.
func advance(who string, e *event.Event) parts {
	var s parts
	s.add("%s went on%s", who, span(" by ", e.IntervalNS))
	last, okLast := e.Last.Get()
	if now, ok := e.Now.Get(); ok && okLast {
		s.add("counter %#x to %#x", uint64(last), uint64(now))
	}
	if mask, ok := e.Mask.Get(); ok {
		s.add("mask %#x", uint64(mask))
	}
	return s
}

// tscEvent tells of the TSC's rate, its synchronisation and its adjustment.
func tscEvent(e *event.Event) string {
	var s parts
	switch e.Kind {
	case event.SchedStable:
		s.add("sched_clock uses the TSC")
	case event.SyncTest:
		s.add("TSC synchronisation test of %s against %s: %s", cpu(e.CPU), cpu(e.PeerCPU), or(e.Detail, "failed, or its result is missing"))
	case event.Warp:
		s.add("the TSC of one CPU is behind that of another%s", number(" by %d cycles", e.Cycles))
	case event.RandomWarp:
		s.add("both CPUs saw the other's TSC behind")
	case event.AdjustCompensated:
		s.add("an offset of the TSC was made good through TSC_ADJUST")
		s.count("CPU %d", e.CPU)
		s.count("%d cycles", e.Cycles)
	case event.AdjustForced:
		s.add("firmware left a value in TSC_ADJUST")
		s.count("CPU %d", e.CPU)
		s.count("the value %d", e.Cycles)
		s.name("%s", e.Detail)
	case event.AdjustDiffers:
		s.add("TSC_ADJUST was changed behind the kernel's back%s%s", number(" from %d", e.Cycles), number(" to %d", e.OtherCycles))
		s.count("CPU %d", e.CPU)
	case event.AdjustSocket:
		s.add("TSC_ADJUST differs within a socket")
	case event.TSCDetected:
		s.add("%s runs at %s", or(e.Detail, "processor"), megahertz(e.FrequencyHz))
	case event.TSCRefined:
		s.add("TSC measured again: %s", megahertz(e.FrequencyHz))
	case event.TSCFreqDiffers:
		s.add("the TSC's stated rate differs from the measured one")
	case event.TSCFreqPrevious:
		s.add("the TSC's rate so far: %s", megahertz(e.FrequencyHz))
	case event.TSCFreqNew:
		s.add("the TSC's rate by %s: %s", or(e.Current, "a timer"), megahertz(e.FrequencyHz))
	}
	return s.String()
}

// clockEvent tells of clocks that come and go.
func clockEvent(e *event.Event) string {
	clock := or(e.Clocksource, "a clock")
	var s parts
	switch e.Kind {
	case event.Registered:
		s.add("%s is there", clock)
		if mask, ok := e.Mask.Get(); ok {
			s.add("mask %#x", uint64(mask))
		}
		s.ns("at most %s between updates", e.MaxIdleNS)
	case event.Switched:
		s.add("%s is in use from here on", clock)
	case event.OverrideDeferred:
		s.add("the wish for %s waits until it can be used", clock)
	case event.HPETCounter:
		s.add("the HPET counts at %s", megahertz(e.FrequencyHz))
	case event.HPETPC10:
		s.add("the HPET stops in package C10")
		if e.Detail == "forced on" {
			s.add("and the command line keeps it on")
		} else {
			s.add("and the kernel turned it off")
		}
	case event.ClockDrift:
		ppm, ok := e.RatePPM.Get()
		if !ok {
			return ""
		}
		s.add("a time daemon says that the clock is off by %g ppm", float64(ppm))
	}
	return s.String()
}

// machineEvent tells what machine this is, and of trouble that is not a clock's.
func machineEvent(e *event.Event) string {
	var s parts
	switch e.Kind {
	case event.Version:
		s.name("Linux %s", e.Detail)
	case event.CommandLine:
		s.name("command line: %s", e.Detail)
	case event.Hypervisor:
		s.name("runs on: %s", e.Detail)
	case event.Platform:
		s.name("machine: %s", e.Detail)
	case event.CPUModel:
		s.name("processor: %s", e.Detail)
	case event.CPUsUp:
		s.count("%d CPUs are up", e.Cycles)
	case event.Stall:
		s.name("%s", e.Detail)
		if s != nil {
			s.count("CPU %d", e.CPU)
			s.count("%d s", e.Seconds)
			s.ns("%s", e.IntervalNS)
		}
	case event.SuspendEntry:
		s.add("the machine goes to sleep: %s", or(e.Detail, "suspend"))
	case event.SuspendExit:
		s.add("the machine woke up: %s", or(e.Detail, "resume"))
	}
	return s.String()
}
