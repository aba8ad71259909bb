package evidence

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/doctor"
	"github.com/cswatch/cswatch/internal/kmsg"
)

const verdict = "[   13.669682] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable\n"

// files writes a tree.
func files(t *testing.T, tree map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tree {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func fallen() map[string]string {
	const sysfs = "sys/devices/system/clocksource/clocksource0/"
	return map[string]string{
		"proc/version":                  "Linux version 6.1.0-57-amd64 (a@b) (gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)\n",
		sysfs + "current_clocksource":   "hpet\n",
		sysfs + "available_clocksource": "hpet acpi_pm \n",
		"var/log/kern.log":              "Mar  5 08:00:13 host kernel: " + verdict,
		"var/log/kern.log.1":            "Mar  4 08:00:13 host kernel: [    1.000000] clocksource: Switched to clocksource tsc\n",
	}
}

// countOf counts the events of one kind, copies left out.
func countOf(ev doctor.Evidence, kind event.Kind) (n int) {
	for _, e := range ev.Events {
		if e.Kind == kind && !e.Source.Duplicate {
			n++
		}
	}
	return n
}

func TestLogsOfOneMachineAreReadAsOne(t *testing.T) {
	dir := files(t, map[string]string{"a": verdict, "b": verdict})
	ev, err := FromLogs([]string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), "-"}, strings.NewReader("[   20.000000] clocksource: Switched to clocksource hpet\n"))
	if err != nil {
		t.Fatal(err)
	}
	if countOf(ev, event.DelayVerdict) != 1 || countOf(ev, event.Switched) != 1 || ev.LogLines != 3 {
		t.Errorf("%d verdicts, %d switches, %d lines: want 1, 1 and 3", countOf(ev, event.DelayVerdict), countOf(ev, event.Switched), ev.LogLines)
	}
}

func TestWhatWasReadBeforeAnErrorIsKept(t *testing.T) {
	dir := files(t, map[string]string{"a": verdict})
	ev, err := FromLogs([]string{filepath.Join(dir, "a"), filepath.Join(dir, "nowhere")}, nil)
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v: want one that names the missing file", err)
	}
	if countOf(ev, event.DelayVerdict) != 1 {
		t.Error("the verdict of the first log is lost")
	}
}

func TestALogThatEndsEarlyLeavesNoRoomForOK(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for i := range 5000 {
		fmt.Fprintf(z, "[%5d.000000] usb 1-1: new device number %d\n[%5d.500000] clocksource: Switched to clocksource tsc\n", i, i*i, i)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(files(t, map[string]string{"cut.gz": packed.String()[:packed.Len()/2]}), "cut.gz")
	ev, err := FromLogs([]string{name}, nil)
	if err == nil {
		t.Fatal("a log that was cut off gives no error")
	}
	d := doctor.Examine(ev)
	if d.Status != doctor.StatusUnknown || d.FinalClock != "tsc" || len(d.Unreadable) != 1 {
		t.Errorf("status %s, clock %q, unreadable %+v: want unknown, tsc and the log", d.Status, d.FinalClock, d.Unreadable)
	}
}

func TestRootGivesSnapshotAndLogs(t *testing.T) {
	ev, err := FromRoot(files(t, fallen()))
	if err != nil {
		t.Fatal(err)
	}
	if ev.Snapshot.Clocksource.Current != "hpet" || countOf(ev, event.DelayVerdict) != 1 || ev.Cost != nil {
		t.Errorf("current %q, %d verdicts, cost %v: want hpet, 1 and no measurement", ev.Snapshot.Clocksource.Current, countOf(ev, event.DelayVerdict), ev.Cost)
	}
	if last := ev.Events[len(ev.Events)-1]; last.Kind != event.DelayVerdict {
		t.Errorf("the last event is %s: the rotated log must come first", last.Kind)
	}
}

func TestRootWithoutLogSaysWhatIsMissing(t *testing.T) {
	tree := fallen()
	delete(tree, "var/log/kern.log")
	delete(tree, "var/log/kern.log.1")
	dir := files(t, tree)
	ev, err := FromRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, u := range ev.Snapshot.Unreadable {
		found = found || u.What == "kernel log" && strings.Contains(u.HowTo, "--log")
	}
	if !found {
		t.Errorf("unreadable %+v: want the kernel log with its remedy", ev.Snapshot.Unreadable)
	}
	log := filepath.Join(files(t, map[string]string{"sent": verdict}), "sent")
	if ev, err = FromRootAndLogs(dir, []string{log}, nil); err != nil || countOf(ev, event.DelayVerdict) != 1 {
		t.Errorf("with a log beside it: %d verdicts, error %v", countOf(ev, event.DelayVerdict), err)
	}
}

func TestRootThatIsNoMachineIsAnError(t *testing.T) {
	if _, err := FromRoot(t.TempDir()); err == nil {
		t.Error("an empty folder is taken for a machine")
	}
	if _, err := FromRoot(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("a missing folder is taken for a machine")
	}
}

func TestMachineWithoutKernelLogStillAnswers(t *testing.T) {
	dir := files(t, fallen())
	none := kmsg.Config{Device: filepath.Join(dir, "no-such-device"), Journal: []string{}}
	ev, err := Machine{Root: dir, Kmsg: none}.Gather(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if ev.Cost == nil || ev.Cost.ReadNS <= 0 {
		t.Errorf("cost %+v: want a measurement", ev.Cost)
	}
	d := doctor.Examine(ev)
	missing := false
	for _, m := range d.Missing {
		missing = missing || m.ID == "kernel-log"
	}
	if !missing || d.CurrentClock != "hpet" {
		t.Errorf("current %q, missing %+v: want hpet and the kernel log among what is missing", d.CurrentClock, d.Missing)
	}
}

func TestMachineReadsTheJournalWhereTheDeviceIsNotToBeHad(t *testing.T) {
	dir := files(t, fallen())
	journal := filepath.Join(files(t, map[string]string{"j": `{"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","_SOURCE_MONOTONIC_TIMESTAMP":"13669682","MESSAGE":"clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable"}` + "\n"}), "j")
	ev, err := Machine{Root: dir, Kmsg: kmsg.Config{Device: filepath.Join(dir, "no-such-device"), Journal: []string{"cat", journal}}}.Gather(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if countOf(ev, event.DelayVerdict) != 1 {
		t.Errorf("%d verdicts from the journal, want 1; unreadable: %+v", countOf(ev, event.DelayVerdict), ev.Snapshot.Unreadable)
	}
}

func TestALogThatLeadsNowhereIsListedOnce(t *testing.T) {
	dir := files(t, map[string]string{"proc/version": "Linux version 6.1.0\n", "var/log/dmesg": "[    1.000000] clocksource: Switched to clocksource tsc\n"})
	for _, name := range []string{"messages", "syslog"} {
		if err := os.Symlink("nowhere", filepath.Join(dir, "var/log", name)); err != nil {
			t.Fatal(err)
		}
	}
	ev, err := FromRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := doctor.Examine(ev)
	for _, name := range []string{"/var/log/messages", "/var/log/syslog"} {
		n := 0
		for _, u := range d.Unreadable {
			if u.What == name {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is listed %d times in %+v", name, n, d.Unreadable)
		}
	}
	if d.Status != doctor.StatusUnknown {
		t.Errorf("status %s, want unknown", d.Status)
	}
}
