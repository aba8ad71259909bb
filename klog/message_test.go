package klog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
)

// sample is an event with every field set, so that any row can be printed from it.
func sample() event.Event {
	return event.Event{
		Clocksource: "tsc-early", Reference: "hpet", Current: "kvm-clock", CPU: event.Some[int64](12), PeerCPU: event.Some[int64](3), CPUs: "0,2-3",
		DelayNS: event.Some[int64](60666), WatchdogDelayNS: event.Some[int64](11440), LimitNS: event.Some[int64](125000), Attempt: event.Some[int64](4), Retries: event.Some[int64](2),
		IntervalNS: event.Some[int64](512328860), ReferenceIntervalNS: event.Some[int64](511997470), SkewNS: event.Some[int64](-874087),
		Now: event.Some[event.Hex](0x1c29fb9), Last: event.Some[event.Hex](0x151e3b8), Mask: event.Some[event.Hex](0xffffffff),
		MaxCycles: event.Some[event.Hex](0x212733415c7), MaxIdleNS: event.Some[int64](440795236380),
		Cycles: event.Some[int64](4547752365), OtherCycles: event.Some[int64](-78394770), FrequencyHz: event.Some[int64](2299998000),
		Stamp: event.Some[event.Hex](18446744073709546616), PeerStamp: event.Some[event.Hex](0xfffffffffffffff0),
		MinNS: event.Some[int64](945683), MaxNS: event.Some[int64](945700), Seconds: event.Some[int64](26), RatePPM: event.Some[event.Rate](-600043.5),
		SchedNS: event.Some(event.Sched{Gtod: 11633513890, GtodOffset: 2036384489, Raw: 13965149377, RawOffset: -295250974}),
		Detail:  "clocksource watchdog",
	}
}

// printed writes a row as the kernel does; ok is false for rows that are only read.
func printed(m *message, e *event.Event) (string, bool) {
	text, ok := m.compiled.print(e)
	return m.prefix + text, ok && m.reads == fromStart
}

func TestEveryPrintedMessageIsReadBackWithAllItsNumbers(t *testing.T) {
	table := newTable()
	count := 0
	// A clock's name may look like the prefix of a driver's messages.
	for _, name := range []string{"tsc-early", "tsc", "hpet", "kvm-clock", "acpi_pm", "jiffies"} {
		for i := range table.rows {
			m := &table.rows[i]
			e := sample()
			e.Clocksource = name
			line, ok := printed(m, &e)
			if !ok {
				continue
			}
			count++
			f := table.find(line)
			if f.row == nil || f.row.kind != m.kind || f.m.outcome != full {
				t.Errorf("%q: read as %+v, want kind %s in full", line, f.row, m.kind)
				continue
			}
			var got event.Event
			f.fill(&got)
			if again, ok := printed(f.row, &got); !ok || again != line {
				t.Errorf("printed again:\n got %q (ok %v)\nwant %q", again, ok, line)
			}
		}
	}
	if count < 6*60 {
		t.Errorf("only %d rows were printed: the test lost its subject", count)
	}
}

func TestFilterLetsEveryKnownMessagePass(t *testing.T) {
	f := newFilter(anchors())
	for _, m := range messages() {
		p, err := compile(m.text)
		if err != nil {
			t.Fatal(err)
		}
		e := sample()
		var line strings.Builder
		line.WriteString(m.prefix)
		for _, tok := range p.tokens {
			if tok.field == nil {
				line.WriteString(tok.literal)
			} else if s, ok := tok.field.get(&e); ok {
				line.WriteString(s)
			} else {
				line.WriteString("xyz")
			}
		}
		if !f.match([]byte(line.String())) {
			t.Errorf("the filter drops %q", line.String())
		}
	}
}

func TestFilterDropsOrdinaryLines(t *testing.T) {
	f := newFilter(anchors())
	for _, line := range []string{
		"", "x", "abcd",
		"[    1.233000] usb 1-1: new high-speed USB device number 2 using xhci_hcd",
		"[    2.100000] EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
		"Mar  5 08:00:02 host sshd[812]: Accepted publickey for root from 203.0.113.7 port 52211 ssh2",
	} {
		if f.match([]byte(line)) {
			t.Errorf("the filter lets %q pass", line)
		}
	}
}

func TestFilterFindsATextAtEveryPlaceOfALine(t *testing.T) {
	f := newFilter([]string{"locksource", "wd_now", "12345678901234567890"})
	for _, text := range []string{"locksource", "wd_now", "12345678901234567890"} {
		for before := range 40 {
			line := strings.Repeat("w", before) + text
			if !f.match([]byte(line)) || !f.match([]byte(line+"tail")) {
				t.Fatalf("%q behind %d bytes is not found", text, before)
			}
			if f.match([]byte(line[:len(line)-1])) {
				t.Fatalf("%q without its last byte is found", line)
			}
		}
	}
}

// parse reads one line of bare text.
func parse(text string) event.Event {
	p := newParser("test")
	p.record(&Record{Text: text, Line: 1, Format: FormatDmesg})
	p.finish()
	e, _ := p.pop()
	e.Source, e.Text = event.Source{}, ""
	return e
}

func some(v int64) event.Opt[int64]        { return event.Some(v) }
func hex(v event.Hex) event.Opt[event.Hex] { return event.Some(v) }

func TestLinesSeenInTheField(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       event.Event
	}{
		{"5.15 condemns for latency", "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable",
			event.Event{Kind: event.DelayVerdict, CPU: some(6), Reference: "hpet", DelayNS: some(60666), Attempt: some(4)}},
		{"a number that the console cut is dropped", "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 5252e",
			event.Event{Kind: event.DelayVerdict, CPU: some(6), Reference: "hpet", Cut: true}},
		{"6.5 condemns for latency", "clocksource: timekeeping watchdog on CPU227: wd-tsc-wd excessive read-back delay of 153560ns vs. limit of 125000ns, wd-wd read-back delay only 11440ns, attempt 3, marking tsc unstable",
			event.Event{Kind: event.DelayVerdict, CPU: some(227), Clocksource: "tsc", DelayNS: some(153560), LimitNS: some(125000), WatchdogDelayNS: some(11440), Attempt: some(3)}},
		{"a vendor kernel names the clock and not the reference", "clocksource: timekeeping watchdog on CPU392: wd-tsc-wd read-back delay of 113640ns, attempt 3, marking unstable",
			event.Event{Kind: event.DelayVerdict, CPU: some(392), Clocksource: "tsc", DelayNS: some(113640), Attempt: some(3)}},
		{"the first line of a skip", "clocksource: timekeeping watchdog on CPU34: hpet wd-wd read-back delay of 129200ns",
			event.Event{Kind: event.BusyReference, CPU: some(34), Reference: "hpet", WatchdogDelayNS: some(129200)}},
		{"the second line of a skip, of a clock with dashes in its name", "clocksource: wd-tsc-early-wd read-back delay of 107970ns, clock-skew test skipped!",
			event.Event{Kind: event.TestSkipped, Clocksource: "tsc-early", DelayNS: some(107970)}},
		{"the design that forgives latency", "clocksource: timekeeping watchdog on CPU3: hpet read-back delay of 70000ns, attempt 4, coarse-grained skew check followed by re-initialization",
			event.Event{Kind: event.CoarseCheck, CPU: some(3), Reference: "hpet", DelayNS: some(70000), Attempt: some(4), Detail: "checked coarsely"}},
		{"the skew block's header with its left part cut off", " on CPU2: Marking clocksource 'tsc' as unstable because the skew is too large:",
			event.Event{Kind: event.SkewVerdict, CPU: some(2), Clocksource: "tsc"}},
		{"hex only", "clocksource:                       'hpet' wd_now: 25272026 wd_last: 2e9ce418 mask: ffffffff",
			event.Event{Kind: event.ReferenceInterval, Reference: "hpet", Now: hex(0x25272026), Last: hex(0x2e9ce418), Mask: hex(0xffffffff)}},
		{"a mask that is missing", "clocksource: 'tsc' cs_now: 3e0e2debe0 cs_last: 3daab92440 mask:",
			event.Event{Kind: event.WatchedInterval, Clocksource: "tsc", Now: hex(0x3e0e2debe0), Last: hex(0x3daab92440), Cut: true}},
		{"typed by hand", "   'kvm-clock' wd_nsec: 556248511 wd_new: 4a93129e69 wd_alst: 4a71eaf0aa mask: (all f's)",
			event.Event{Kind: event.ReferenceInterval, Reference: "kvm-clock", IntervalNS: some(556248511), Now: hex(0x4a93129e69), Last: hex(0x4a71eaf0aa)}},
		{"6.3 to 6.7 print a huge number of ms for a negative skew", "clocksource: Clocksource 'tsc' skewed -485515617 ns (18446744073224 ms) over watchdog 'acpi_pm' interval of 485515617 ns (485 ms)",
			event.Event{Kind: event.SkewAmount, Clocksource: "tsc", Reference: "acpi_pm", SkewNS: some(-485515617), ReferenceIntervalNS: some(485515617)}},
		{"another clock is current", "'kvm-clock' (not 'tsc') is current clocksource",
			event.Event{Kind: event.CurrentClock, Clocksource: "tsc", Current: "kvm-clock", Cut: true}},
		{"the condemned clock is current", "clocksource:                       'tsc' is current clocksource.",
			event.Event{Kind: event.CurrentClock, Clocksource: "tsc", Current: "tsc"}},
		{"RHEL 6 appends advice", "Clocksource tsc unstable (delta = -8589935096 ns).  Enable clocksource failover by adding clocksource_failover kernel parameter.",
			event.Event{Kind: event.DeltaVerdict, Clocksource: "tsc", SkewNS: some(-8589935096)}},
		{"the oldest reason has a colon and a full stop", "Marking TSC unstable due to: check_tsc_sync_source failed.",
			event.Event{Kind: event.TSCUnstable, Clocksource: "tsc", Detail: "check_tsc_sync_source failed"}},
		{"a number that somebody redacted", "[Firmware Bug]: TSC ADJUST: CPU0: <large-negative-number> force to 0",
			event.Event{Kind: event.AdjustForced, CPU: some(0), Cut: true}},
		{"7.1 names clocks in twenty columns", "clocksource: Watchdog                    hpet interval:        511997470ns",
			event.Event{Kind: event.ReferenceSpan, Reference: "hpet", IntervalNS: some(511997470)}},
		{"the short form of sched_clock's line", "sched_clock: Marking unstable (818769414384, 1195404998)",
			event.Event{Kind: event.SchedUnstable, SchedNS: event.Some(event.Sched{Gtod: 818769414384, GtodOffset: 1195404998}), Cut: true}},
		{"4.1 registers without the second colon", "clocksource refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1910969940391419 ns",
			event.Event{Kind: event.Registered, Clocksource: "refined-jiffies", Mask: hex(0xffffffff), MaxCycles: hex(0xffffffff), MaxIdleNS: some(1910969940391419)}},
		{"a registered clock whose name is also the prefix of a driver", "clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns",
			event.Event{Kind: event.Registered, Clocksource: "hpet", Mask: hex(0xffffffff), MaxCycles: hex(0xffffffff), MaxIdleNS: some(19112604467)}},
		{"early 2.6 installs a clock", "Time: hpet clocksource has been installed.",
			event.Event{Kind: event.Switched, Clocksource: "hpet"}},
		{"HPET rate", "hpet0: 8 comparators, 64-bit 24.000000 MHz counter",
			event.Event{Kind: event.HPETCounter, FrequencyHz: some(24_000_000)}},
		{"a soft lockup of any subsystem's wording", "NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:412]",
			event.Event{Kind: event.Stall, CPU: some(3), Seconds: some(22), Detail: "soft lockup"}},
		{"a number beyond 64 bits is dropped", "Measured 99999999999999999999 cycles TSC warp between CPUs, turning off TSC clock.",
			event.Event{Kind: event.Warp, Cut: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parse(c.line)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.line, diff)
			}
		})
	}
}

func TestLinesThatAreNoClockEvents(t *testing.T) {
	for _, line := range []string{
		"[Hardware Error]: TSC 7ebbc5c7e698b4",                     // an error record's stamp
		"kvm_amd: TSC scaling supported",                           // what KVM offers its guests
		"ffffffff86a85818 (watchdog_lock){?.-.}-{2:2}",             // a lock
		"CPU0: Thermal monitoring enabled (TM1)",                   //
		"clocksource_watchdog+0x26/0x620",                          // a call trace
		"PM: Marking nosave pages: [mem 0x00000000-0x00000fff]",    //
		"Marking clocksource stable.",                              // no kernel prints this
		"cswatch(5.15): clocksource: Switched to clocksource hpet", // our own words
		"Switched to clocksource",                                  // no name
	} {
		switch got := parse(line); got.Kind {
		case "", event.LookAlike, event.CorrectedErr:
		default:
			t.Errorf("%q is read as %s", line, got.Kind)
		}
	}
}

// FuzzMessage: no text makes the table panic, and what it reads in full from a
// row that kernels print is printed again to a text that reads the same.
func FuzzMessage(f *testing.F) {
	table := newTable()
	for i := range table.rows {
		e := sample()
		if line, ok := printed(&table.rows[i], &e); ok {
			f.Add(line)
		}
	}
	f.Add("clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 5252e")
	f.Fuzz(func(t *testing.T, line string) {
		found := table.find(line)
		if found.row == nil {
			return
		}
		var first event.Event
		found.fill(&first)
		if found.m.outcome != full || found.row.reads != fromStart || first.Cut {
			return
		}
		text, ok := printed(found.row, &first)
		if !ok {
			return
		}
		again := table.find(text)
		if again.row == nil {
			t.Fatalf("%q was printed as %q, which reads as nothing", line, text)
		}
		var second event.Event
		again.fill(&second)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("%q was printed as %q, which reads differently (-first +second):\n%s", line, text, diff)
		}
	})
}
