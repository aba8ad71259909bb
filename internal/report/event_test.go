package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/klog"
	"github.com/rogpeppe/go-internal/txtar"
)

// timeline is one event of most kinds, with the numbers that their lines carry.
func timeline() []event.Event {
	ns := event.Some[int64]
	hex := event.Some[event.Hex]
	events := []event.Event{
		{Kind: event.Version, Detail: "5.15.0-rc5+ (root@box) #1 SMP"},
		{Kind: event.CommandLine, Detail: "quiet tsc=nowatchdog"},
		{Kind: event.Hypervisor, Detail: "KVM"},
		{Kind: event.Platform, Detail: "QEMU Standard PC"},
		{Kind: event.CPUModel, Detail: "Intel Xeon E3-1240 v5"},
		{Kind: event.CPUsUp, Cycles: ns(8)},
		{Kind: event.Registered, Clocksource: "hpet", Mask: hex(0xffffffff), MaxIdleNS: ns(79_635_855_245)},
		{Kind: event.Switched, Clocksource: "tsc"},
		{Kind: event.OverrideRefused, Clocksource: "tsc"},
		{Kind: event.OverrideDeferred, Clocksource: "tsc"},
		{Kind: event.DeltaVerdict, Clocksource: "tsc", SkewNS: ns(4_686_968_874)},
		{Kind: event.SkewVerdict, Clocksource: "tsc", CPU: ns(3)},
		{Kind: event.ReferenceInterval, Reference: "hpet", IntervalNS: ns(515_998_611), Now: hex(0x1c29fb9), Last: hex(0x151e3b8), Mask: hex(0xffffffff)},
		{Kind: event.WatchedInterval, Clocksource: "tsc", IntervalNS: ns(515_124_524), Now: hex(0x8af4c89f9), Last: hex(0x874f8e80b), Mask: hex(math.MaxUint64)},
		{Kind: event.SkewAmount, Clocksource: "tsc", Reference: "hpet", SkewNS: ns(-874_087), ReferenceIntervalNS: ns(515_998_611)},
		{Kind: event.CurrentClock, Clocksource: "tsc", Current: "hpet"},
		{Kind: event.CurrentClock, Clocksource: "tsc", Detail: "none"},
		{Kind: event.DelayVerdict, Reference: "hpet", DelayNS: ns(60_666), Attempt: ns(4), CPU: ns(6)},
		{Kind: event.DelayVerdict, Clocksource: "tsc", DelayNS: ns(127_000), LimitNS: ns(125_000), WatchdogDelayNS: ns(900), Attempt: ns(3), CPU: ns(6)},
		{Kind: event.Retried, Reference: "hpet", Retries: ns(2)},
		{Kind: event.BusyReference, Reference: "hpet", WatchdogDelayNS: ns(201_000), CPU: ns(1)},
		{Kind: event.TestSkipped, Clocksource: "tsc", DelayNS: ns(301_000)},
		{Kind: event.LongInterval, IntervalNS: ns(12_000_000_000), ReferenceIntervalNS: ns(12_000_000_010)},
		{Kind: event.FrequencyVerdict, Clocksource: "tsc"},
		{Kind: event.InterCPUVerdict, Clocksource: "tsc"},
		{Kind: event.ReferenceSpan, Reference: "hpet", IntervalNS: ns(500_000_000)},
		{Kind: event.WatchedSpan, Clocksource: "tsc", IntervalNS: ns(510_000_000)},
		{Kind: event.CPUOrder, CPU: ns(3), Stamp: event.Some[event.Hex](1000), PeerCPU: ns(0), PeerStamp: event.Some[event.Hex](18446744073709546616)},
		{Kind: event.ReadTimedOut, Reference: "hpet", DelayNS: ns(90_000)},
		{Kind: event.RemoteTimedOut, CPU: ns(2)},
		{Kind: event.VerifyStarted, Clocksource: "tsc", CPU: ns(0), CPUs: "1-3,6-7"},
		{Kind: event.VerifyAhead, Clocksource: "tsc", CPU: ns(0), CPUs: "2"},
		{Kind: event.VerifyBehind, Clocksource: "tsc", CPU: ns(0), CPUs: "3"},
		{Kind: event.VerifyDurations, Clocksource: "tsc", CPU: ns(0), MinNS: ns(480), MaxNS: ns(2200)},
		{Kind: event.VerifyImpossible, Clocksource: "tsc"},
		{Kind: event.TSCUnstable, Detail: "clocksource watchdog"},
		{Kind: event.TSCBrokenBIOS},
		{Kind: event.SchedUnstable},
		{Kind: event.SchedStable},
		{Kind: event.SyncTest, CPU: ns(0), PeerCPU: ns(3)},
		{Kind: event.SyncTest, CPU: ns(0), PeerCPU: ns(3), Detail: "passed"},
		{Kind: event.Warp, Cycles: ns(4294)},
		{Kind: event.RandomWarp},
		{Kind: event.AdjustCompensated, CPU: ns(3), Cycles: ns(-215)},
		{Kind: event.AdjustForced, CPU: ns(0), Cycles: ns(-99)},
		{Kind: event.AdjustDiffers, CPU: ns(1), Cycles: ns(-5), OtherCycles: ns(0)},
		{Kind: event.AdjustSocket},
		{Kind: event.TSCDetected, FrequencyHz: ns(2_299_998_000)},
		{Kind: event.TSCRefined, FrequencyHz: ns(2_300_000_000)},
		{Kind: event.TSCFreqDiffers},
		{Kind: event.TSCFreqPrevious, FrequencyHz: ns(2_100_000_000)},
		{Kind: event.TSCFreqNew, Current: "HPET", FrequencyHz: ns(2_125_804_000)},
		{Kind: event.HPETCounter, FrequencyHz: ns(14_318_180)},
		{Kind: event.HPETPC10},
		{Kind: event.Stall, Detail: "soft lockup", CPU: ns(2), Seconds: ns(22)},
		{Kind: event.SuspendEntry, Detail: "suspend"},
		{Kind: event.SuspendExit, Detail: "suspend"},
		{Kind: event.ClockDrift, RatePPM: event.Some(event.Rate(-612.5))},
		{Kind: event.OverflowDanger, Text: "timekeeping: Clocksource tsc might overflow on 11% adjustment"},
		{Kind: event.DelayVerdict, Reference: "hpet", DelayNS: ns(5252), Cut: true},
	}
	for i := range events {
		e := &events[i]
		e.Source = event.Source{File: "dmesg.txt", Line: 37*i + 1, Boot: 1}
		e.Time.PrintkNS = ns(int64(i) * 213_000_001_000)
		if e.Text == "" {
			e.Text = "the line itself"
		}
	}
	last := len(events) - 1
	events[last].Source.Duplicate = true
	events[last-1].Time = event.Time{Wall: "Thu Mar  5 08:00:02 2026", Doubt: klog.DoubtDmesgT}
	events[last-2].Time = event.Time{}
	return events
}

func TestTheTimelineIsAsItWas(t *testing.T) {
	golden(t, "timeline", &txtar.Archive{Files: []txtar.File{
		section(t, "events", func(w io.Writer) error {
			for _, e := range timeline() {
				if err := EventText(w, e, TextOptions{}); err != nil {
					return err
				}
			}
			return nil
		}),
		section(t, "from standard input, ASCII", func(w io.Writer) error {
			e := timeline()[17]
			e.Source.File = "-"
			return EventText(w, e, TextOptions{ASCII: true})
		}),
		section(t, "statistics", func(w io.Writer) error {
			return StatsText(w, klog.Summary{
				Records: klog.Stats{Lines: 20451, Bytes: 1_734_002, Records: 61, Rejected: 20390, Cut: 1, Formats: map[string]int64{"syslog": 60, "dmesg": 1}},
				Events:  14, Duplicates: 1, Foreign: 3, Boots: 2,
				Kinds: map[event.Kind]int{event.Switched: 4, event.DelayVerdict: 1, event.Registered: 8},
			})
		}),
		section(t, "statistics of an empty log", func(w io.Writer) error { return StatsText(w, klog.Summary{}) }),
	}})
}

func TestEveryWordedKindSaysMoreThanItsLine(t *testing.T) {
	for _, e := range timeline() {
		if e.Kind == event.OverflowDanger {
			continue
		}
		if got := eventWords(&e); strings.Contains(got, "the line itself") || got == "" {
			t.Errorf("%s has no words: %q", e.Kind, got)
		}
		bare := event.Event{Kind: e.Kind, Text: "the line itself"}
		if got := eventWords(&bare); got == "" || strings.Contains(got, "%!") {
			t.Errorf("%s without numbers reads %q", e.Kind, got)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	for _, tt := range []struct {
		ns   int64
		want string
	}{
		{0, "0 ns"}, {999, "999 ns"}, {1000, "1 µs"}, {60666, "60.666 µs"}, {-874087, "-874.087 µs"}, {515998611, "515.998611 ms"},
		{4686968874, "4.686968874 s"}, {1_000_000_001, "1.000000001 s"}, {math.MinInt64, "-9223372036.854775808 s"},
	} {
		if got := exact(tt.ns); got != tt.want {
			t.Errorf("exact(%d) = %q, want %q", tt.ns, got, tt.want)
		}
	}
}

func TestPricesAreRoundedForPeople(t *testing.T) {
	for _, tt := range []struct {
		ns   float64
		want string
	}{
		{0, "not known"}, {math.NaN(), "not known"}, {math.Inf(1), "not known"}, {-3, "not known"}, {4.26, "4.3 ns"}, {9.96, "10 ns"},
		{23.4, "23 ns"}, {1310, "1310 ns"}, {9999.6, "10.0 µs"}, {41_234, "41.2 µs"}, {12_000_000, "12.0 ms"},
	} {
		if got := price(tt.ns); got != tt.want {
			t.Errorf("price(%g) = %q, want %q", tt.ns, got, tt.want)
		}
	}
}

func FuzzEventText(f *testing.F) {
	f.Add("[    1.0] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n")
	f.Add("<6>[ 1.0] tsc: Marking TSC unstable due to \x1b[31m\n")
	f.Fuzz(func(t *testing.T, log string) {
		var b bytes.Buffer
		n := 0
		for r := klog.NewReader(strings.NewReader(log), "a\nb"); r.Next(); n++ {
			if err := EventText(&b, r.Event(), TextOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 {
			return
		}
		harmless(t, "the timeline", b.String())
		if lines := strings.Count(b.String(), "\n"); lines != n {
			t.Errorf("%s wrote %d lines:\n%s", fmt.Sprint(n, " events"), lines, b.String())
		}
	})
}
