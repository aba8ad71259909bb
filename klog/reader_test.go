package klog

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/event"
)

// read returns all events of a log.
func read(t testing.TB, text string) []event.Event {
	t.Helper()
	r := NewReader(strings.NewReader(text), "log")
	var out []event.Event
	for r.Next() {
		out = append(out, r.Event())
	}
	if err := r.Err(); err != nil {
		t.Fatalf("reading: %v", err)
	}
	return out
}

// brief writes events as "line kind" with marks, for comparison.
func brief(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%d %s", e.Source.Line, e.Kind)
		if e.Source.Boot != 1 {
			fmt.Fprintf(&b, " boot%d", e.Source.Boot)
		}
		if e.Source.Duplicate {
			b.WriteString(" copy")
		}
		if e.Cut {
			b.WriteString(" cut")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestReaderJoinsWrappedLines(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"a mail client wraps at a blank",
			"Apr 15 18:22:57 host kernel: TSC synchronization [CPU#0 ->\nCPU#8]:\nApr 15 18:22:57 host kernel: Measured 120 cycles TSC warp\nbetween CPUs, turning off TSC clock.\nApr 15 18:22:57 host kernel: tsc: Marking TSC unstable due\nto check_tsc_sync_source failed\n",
			"1 sync-test\n3 warp\n5 tsc-unstable\n"},
		{"a verdict over three lines without stamps",
			"clocksource: timekeeping watchdog on CPU0: Marking clocksource\n             'tsc-early' as unstable because the skew is too large:\nclocksource: 'refined-jiffies' wd_now: fffb7018 wd_last: fffb6e9d\n             mask: ffffffff\n",
			"1 skew-verdict\n3 reference-interval\n"},
		{"the name on a line of its own",
			"clocksource: timekeeping watchdog on CPU373:\nMarking clocksource 'tsc' as unstable because the skew is too large:\n",
			"1 skew-verdict\n"},
		{"a reason that is only half there",
			"[    1.000000] tsc: Marking TSC unstable due to clocksource\nwatchdog\n[    2.000000] clocksource: Switched to clocksource hpet\n",
			"1 tsc-unstable\n3 switched\n"},
		{"a line that was cut is not glued to the next message",
			"clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 5252e\ntsc: Marking TSC unstable due to clocksource watchdog\n",
			"1 delay-verdict cut\n2 tsc-unstable\n"},
		{"two whole lines stay two",
			"clocksource: Switched to clocksource hpet\nclocksource: Switched to clocksource tsc\n",
			"1 switched\n2 switched\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := brief(read(t, c.log)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestWrappedCommandLineKeepsItsOptions(t *testing.T) {
	events := read(t, "[    0.038718] Kernel command line: initrd=\\intel-ucode.img root=UUID=1\nrw nowatchdog clocksource=tsc\ntsc=directsync iommu=pt\n[    0.100000] clocksource: Switched to clocksource tsc\n")
	want := `initrd=\intel-ucode.img root=UUID=1 rw nowatchdog clocksource=tsc tsc=directsync iommu=pt`
	if len(events) != 2 || events[0].Detail != want {
		t.Fatalf("got %+v\nwant a command line %q and a switch", events, want)
	}
}

func TestReaderCountsTheSecondCopyOfALineOnce(t *testing.T) {
	const console = "[  572.495181] clocksource: Switched to clocksource kvm-clock\n"
	const journal = "Feb 27 18:47:28 host kernel: clocksource: Switched to clocksource kvm-clock\n"
	const stamped = "Feb 27 18:47:28 host kernel: [  572.495181] clocksource: Switched to clocksource kvm-clock\n"
	for _, c := range []struct{ name, log, want string }{
		{"console and journal without the kernel's stamp", console + journal, "1 switched\n2 switched copy\n"},
		{"console and syslog with the kernel's stamp", console + stamped, "1 switched\n2 switched copy\n"},
		{"the same stamp twice in one container", stamped + stamped, "1 switched\n2 switched copy\n"},
		{"one container, two stamps: two events", console + strings.Replace(console, "572", "573", 1), "1 switched\n2 switched\n"},
		{"two events and their two copies", console + strings.Replace(console, "572", "573", 1) + journal + journal, "1 switched\n2 switched\n3 switched copy\n4 switched copy\n"},
		{"a copy that was cut", "  [  572.100000] clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable because the skew is too large:\n  Feb 27 18:47:28 host kernel: clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable because the skew\n",
			"1 skew-verdict\n2 skew-verdict copy cut\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := brief(read(t, c.log)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestReaderNumbersBoots(t *testing.T) {
	const banner = "[    0.000000] Linux version 6.1.0-57-amd64 (builder@host) #1 SMP\n"
	const hpet = "[    2.000000] clocksource: Switched to clocksource hpet\n"
	for _, c := range []struct{ name, log, want string }{
		{"two boots in one file", banner + hpet + banner + hpet, "1 version\n2 switched\n3 version boot2\n4 switched boot2\n"},
		{"the end of a boot before the first banner", "[ 5000.000000] clocksource: Switched to clocksource hpet\n" + banner + hpet, "1 switched\n2 version boot2\n3 switched boot2\n"},
		{"lines that an architecture prints before its banner", "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd083]\n" + banner, "1 cpu-model\n2 version\n"},
		{"printk time that jumps back after a verdict is no boot",
			"[33987.845818] Measured 3483092704 cycles TSC warp between CPUs, turning off TSC clock.\n[    0.008000] Marking TSC unstable due to check_tsc_sync_source failed\n",
			"1 warp\n2 tsc-unstable\n"},
		{"journalctl marks a boot", "-- Boot 0123456789abcdef0123456789abcdef --\nMar 05 08:00:01 host kernel: clocksource: Switched to clocksource hpet\n-- Boot 1123456789abcdef0123456789abcdef --\nMar 05 09:00:01 host kernel: clocksource: Switched to clocksource tsc\n",
			"2 switched\n4 switched boot2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := brief(read(t, c.log)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestReaderContinuesWithAnotherLogOfTheSameMachine(t *testing.T) {
	const banner = "Linux version 6.1.0-57-amd64 (builder@host) #1 SMP"
	r := NewReader(strings.NewReader("Mar 05 08:00:01 host kernel: "+banner+"\nMar 05 08:00:03 host kernel: clocksource: Switched to clocksource hpet\n"), "journal")
	var got []event.Event
	for r.Next() {
		got = append(got, r.Event())
	}
	r.Continue(strings.NewReader("[    0.000000] "+banner+"\n[    2.000000] clocksource: Switched to clocksource hpet\n[    9.000000] clocksource: Switched to clocksource tsc\n"), "dmesg")
	for r.Next() {
		got = append(got, r.Event())
	}
	const want = "1 version\n2 switched\n1 version copy\n2 switched copy\n3 switched\n"
	if b := brief(got); b != want {
		t.Errorf("got\n%swant\n%s", b, want)
	}
	if s := r.Stats(); s.Records.Lines != 5 || s.Boots != 1 || s.Duplicates != 2 {
		t.Errorf("stats %+v: want 5 lines of one boot with 2 copies", s)
	}
	if got[4].Source.File != "dmesg" {
		t.Errorf("the last event is of %q, want dmesg", got[4].Source.File)
	}
}

func TestStampThatJumpedBackIsDoubted(t *testing.T) {
	events := read(t, "[33987.845818] Measured 3483092704 cycles TSC warp between CPUs, turning off TSC clock.\n[    0.008000] Marking TSC unstable due to check_tsc_sync_source failed\n[33989.609551] Switching to clocksource hpet\n")
	if len(events) != 3 {
		t.Fatalf("%d events, want 3", len(events))
	}
	if events[0].Time.Doubt != "" || events[1].Time.Doubt == "" || events[2].Time.Doubt != "" {
		t.Errorf("doubts %q, %q, %q: want one at the second event only", events[0].Time.Doubt, events[1].Time.Doubt, events[2].Time.Doubt)
	}
}

func TestWordsOfOthersAreNoEvidence(t *testing.T) {
	const verdict = "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:"
	for _, line := range []string{
		"Mar  5 08:00:00 host puppet[12]: " + verdict,
		"Mar  5 08:00:00 host user.notice myapp: " + verdict,
		"<13>1 2026-03-05T10:30:00.000000Z host app 12 - - " + verdict,
		"12,1053,882000412,-;" + verdict,
		`{"_TRANSPORT":"syslog","SYSLOG_IDENTIFIER":"app","MESSAGE":"` + verdict + `"}`,
		"[    2.811820] tool[77]: " + verdict,
		"cswatch(replay): " + verdict,
		"[    2.811820] cswatch(5.15): " + verdict,
	} {
		r := NewReader(strings.NewReader(line+"\n"), "log")
		for r.Next() {
			t.Errorf("%q is taken for the kernel's: %s", line, r.Event().Kind)
		}
		if r.Stats().Foreign != 1 {
			t.Errorf("%q: %d foreign lines counted, want 1", line, r.Stats().Foreign)
		}
	}
}

func TestTimeDaemonsAreHeard(t *testing.T) {
	events := read(t, "Tue Feb 11 10:13:12 2025 daemon.warn chronyd[3181]: Frequency -600043.5 ppm exceeds allowed maximum\n")
	if len(events) != 1 || events[0].Kind != event.ClockDrift || events[0].RatePPM != event.Some[event.Rate](-600043.5) {
		t.Fatalf("got %+v, want one drift of -600043.5 ppm", events)
	}
}

func TestReaderKeepsWhatItReadBeforeAnError(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("clocksource: Switched to clocksource hpet\n"), broken{}), "log")
	n := 0
	for r.Next() {
		n++
	}
	if n != 1 || r.Err() == nil {
		t.Errorf("%d events and error %v, want one event and the error", n, r.Err())
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// FuzzReader: no input makes the reader panic; events come in the order of
// their lines, with bounded texts, and boots only grow.
func FuzzReader(f *testing.F) {
	f.Add([]byte("[    1.000000] clocksource: Switched to clocksource tsc\n"))
	f.Add([]byte("> Measured 120 cycles TSC warp\n> between CPUs, turning off TSC clock.\n"))
	f.Add([]byte("clocksource: timekeeping watchdog on CPU1: hpet read-back delay of 1ns, attempt 4, mark=\ning unstable\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		r := NewReader(strings.NewReader(string(log)), "log")
		line, boot := 0, 0
		for r.Next() {
			e := r.Event()
			if e.Kind == "" || len(e.Text) > event.MaxText || len(e.Detail) > event.MaxDetail || strings.ContainsRune(e.Text, '\n') {
				t.Fatalf("event out of bounds: %+v", e)
			}
			if e.Source.Line < line || e.Source.Boot < boot || e.Source.Line < 1 {
				t.Fatalf("line %d boot %d after line %d boot %d", e.Source.Line, e.Source.Boot, line, boot)
			}
			line, boot = e.Source.Line, e.Source.Boot
		}
	})
}

func BenchmarkReaderOnABootLog(b *testing.B) {
	line := "[    1.233000] usb 1-1: new high-speed USB device number 2 using xhci_hcd\n"
	log := strings.Repeat(line, 10_000) + "[    2.000000] clocksource: Switched to clocksource tsc\n"
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		r := NewReader(strings.NewReader(log), "log")
		for r.Next() {
		}
	}
}
