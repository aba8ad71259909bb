package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/alerting"
	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/klog"
)

// guestStep is what a step of testdata/guestmonitor came to.
type guestStep struct {
	Step, Error, Note string
	Ms                float64
	Metrics           map[string]float64
}

// metric returns a metric of the step, and fails where it has none.
func (s *guestStep) metric(t *testing.T, name string) float64 {
	t.Helper()
	v, ok := s.Metrics[name]
	if !ok {
		t.Errorf("after step %s there is no %s", s.Step, name)
	}
	return v
}

// monitorInGuest runs a monitor in a guest and does to the machine what the steps say.
func monitorInGuest(t *testing.T, series string, words []string, steps ...string) ([]guestStep, qemu.Result) {
	t.Helper()
	config, kernel := guestKernel(t, series)
	exercise := filepath.Join(t.TempDir(), "exercise")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-o", exercise, "./testdata/guestmonitor")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program for the guest: %v\n%s", err, out)
	}
	r := bootUntilDone(t, config, qemu.Spec{
		Kernel: kernel, CPUs: 2, Append: words, Limit: 10 * time.Minute,
		Files: []qemu.File{{Guest: "/cswatch", Host: buildStatic(t), Perm: 0o755}, {Guest: "/exercise", Host: exercise, Perm: 0o755}},
		Plan:  guest.Plan{Window: 9 * time.Minute, Run: append([]string{"/exercise"}, steps...)},
	})
	hidden := func(s string) bool { return strings.Contains(s, "read the clocksource") } // while a step hides it
	if r.End.Reason != guest.EndProgram || r.End.Exit == nil || *r.End.Exit != 0 || len(slices.DeleteFunc(r.Troubles(), hidden)) > 0 {
		t.Fatalf("it ended with %+v, troubles %q\n%s%s", r.End, r.Troubles(), r.Output("stdout"), r.Output("stderr"))
	}
	var done []guestStep
	lines := json.NewDecoder(strings.NewReader(r.Output("stdout")))
	for {
		var s guestStep
		if err := lines.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, r.Output("stdout"))
		}
		done = append(done, s)
		t.Logf("step %s: %.1f ms %s %s", s.Step, s.Ms, s.Error, s.Note)
		if s.Error != "" {
			t.Fatalf("step %s: %s\n%s", s.Step, s.Error, r.Output("stderr"))
		}
	}
	if len(done) != len(steps) {
		t.Fatalf("%d of %d steps\n%s", len(done), len(steps), r.Output("stderr"))
	}
	return done, r
}

// tscOf is the frequency of the TSC that a guest's kernel found, in kHz.
func tscOf(t *testing.T, log string) (kHz int64) {
	t.Helper()
	for r := klog.NewReader(strings.NewReader(log), "console"); r.Next(); {
		if e := r.Event(); e.Kind == event.TSCDetected || e.Kind == event.TSCRefined {
			if hz, ok := e.FrequencyHz.Get(); ok {
				kHz = hz / 1000
			}
		}
	}
	if kHz == 0 {
		t.Fatal("the log tells no frequency of the TSC")
	}
	return kHz
}

const (
	currentTSC  = `cswatch_clocksource_current{clocksource="tsc",device="clocksource0"}`
	currentHPET = `cswatch_clocksource_current{clocksource="hpet",device="clocksource0"}`
	bestTSC     = `cswatch_clocksource_best{clocksource="tsc",device="clocksource0"}`
	condemned   = `cswatch_clocksource_condemned{clocksource="tsc"}`
	statusOK    = `cswatch_doctor_status{status="ok"}`
	kmsgWorks   = `cswatch_collector_success{collector="kmsg"}`
	sysfsWorks  = `cswatch_collector_success{collector="sysfs"}`
	stateWorks  = `cswatch_collector_success{collector="state"}`
	records     = `cswatch_kmsg_records_total`
	toHPET      = `cswatch_clocksource_switches_total{from="tsc",to="hpet"}`
	switchLines = `cswatch_kmsg_events_total{kind="switched"}`
	examined    = `cswatch_doctor_examined_timestamp_seconds`
	foreign     = `cswatch_kmsg_foreign_records_total`
)

// alertsFor lets a real Prometheus scrape metrics, evaluate the rules of monitoring/ until it has, and returns the
// names of the alerts that fire, with the cause where there is one.
func alertsFor(t *testing.T, metrics http.Handler, wait string) []string {
	t.Helper()
	page := httptest.NewServer(metrics)
	defer page.Close()
	server := alerting.StartPrometheus(t, "../../monitoring/alerts.yml", page.URL+"/metrics")
	server.Wait("scrape the guest's metrics", func() error { return server.Up(1) })
	server.Wait("evaluate the rules", server.Evaluated)
	var firing []string
	server.Wait("see "+wait, func() error {
		alerts, err := server.Query("ALERTS{alertstate=\"firing\"}")
		firing = nil
		for _, a := range alerts {
			name := a.Labels["alertname"]
			if cause := a.Labels["cause"]; cause != "" {
				name += " " + cause
			}
			firing = append(firing, name)
		}
		if wait != "" && !slices.Contains(firing, wait) {
			return fmt.Errorf("firing: %q, error %v", firing, err)
		}
		return err
	})
	return firing
}

// exposition shows the metrics that a guest had after a step.
func exposition(s guestStep) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		for name, v := range s.Metrics {
			fmt.Fprintf(w, "%s %v\n", name, v)
		}
	})
}

// A healthy guest stays green, whatever harmless time-outs its kernel logs, and what happens to it is seen within
// a second. The same guest whose kernel is told a wrong frequency of the TSC gives that up for a real skew.
func TestAMonitorInAGuestSeesWhatBecomesOfTheTSC(t *testing.T) {
	var kHz int64
	t.Run("a healthy one stays green", func(t *testing.T) {
		steps, r := monitorInGuest(t, "7", []string{"printk.devkmsg=on"},
			"start", "wait=20s", "until="+examined+">0", "switch=hpet", "switch=tsc", "wait=2s", "kill", "unseen=hpet", "start", "wait=1s")
		healthy, fell, back, killed, last := steps[2], steps[3], steps[4], steps[5], steps[9]
		if healthy.metric(t, statusOK) != 1 || healthy.metric(t, condemned) != 0 || healthy.metric(t, currentTSC) != 1 || healthy.metric(t, bestTSC) != 1 {
			t.Errorf("a healthy guest: status ok %v", healthy.Metrics[statusOK])
		}
		t.Logf("harmless time-outs meanwhile: %v and %v", healthy.Metrics[`cswatch_kmsg_events_total{kind="read-timed-out"}`], healthy.Metrics[`cswatch_kmsg_events_total{kind="remote-timed-out"}`])
		if fell.metric(t, currentHPET) != 1 || back.metric(t, currentTSC) != 1 {
			t.Error("the switches are not seen")
		}
		for _, s := range []guestStep{fell, back} {
			if s.Ms > 1000 {
				t.Errorf("from the kernel's line to the metric: %.0f ms, want less than a second", s.Ms)
			}
		}
		// Killed, it missed a switch; started again it has counted that one and none twice.
		if got, want := last.metric(t, switchLines), killed.metric(t, switchLines)+1; got != want || last.metric(t, toHPET) != 2 || last.metric(t, currentHPET) != 1 {
			t.Errorf("%v switches, want %v; to the HPET %v, want 2", got, want, last.Metrics[toHPET])
		}
		if last.metric(t, records) < killed.metric(t, records) {
			t.Errorf("%v records before, %v after", killed.Metrics[records], last.Metrics[records])
		}
		kHz = tscOf(t, r.KernelLog())
		t.Run("so that no alert fires", func(t *testing.T) {
			if firing := alertsFor(t, exposition(healthy), ""); len(firing) > 0 {
				t.Errorf("firing: %q", firing)
			}
		})
	})
	t.Run("one with a wrong frequency is told of, and why", func(t *testing.T) {
		if kHz == 0 {
			t.Skip("the healthy guest did not tell the frequency of its TSC")
		}
		steps, _ := monitorInGuest(t, "7", []string{"tsc_early_khz=" + strconv.FormatInt(kHz*105/100, 10)},
			"start", "until="+condemned+">0", "until="+currentHPET+">0", "until="+`cswatch_doctor_tsc_verdict{verdict="bad"}`+">0")
		last := steps[3]
		var cause string
		for name, v := range last.Metrics {
			if strings.HasPrefix(name, "cswatch_clocksource_unstable_total{") && v > 0 {
				cause += name
			}
		}
		if cause != `cswatch_clocksource_unstable_total{cause="frequency-skew",clocksource="tsc",reference="hpet"}` {
			t.Errorf("the cause is %q", cause)
		}
		if last.metric(t, bestTSC) != 1 || last.metric(t, statusOK) != 0 {
			t.Errorf("best TSC %v, status ok %v", last.Metrics[bestTSC], last.Metrics[statusOK])
		}
		t.Run("so that the alert fires", func(t *testing.T) {
			alertsFor(t, exposition(last), "CswatchClocksourceCondemned frequency-skew")
		})
	})
}

// What a monitor reads goes away, and comes back.
func TestAMonitorInAGuestSurvivesWhatItReadsGoingAway(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skipf("takes minutes: set %s", longVariable)
	}
	steps, _ := monitorInGuest(t, "7", []string{"printk.devkmsg=on", "log_buf_len=128k"},
		"start", "wait=2s", "memory", "flood=200000", "wait=1s", "memory", "switch=hpet", "alone", // 0 to 7
		"kill", "hide=/dev/kmsg", "start", "wait=2s", "unseen=tsc", "wait=15s", "show=/dev/kmsg", "until="+kmsgWorks+">0", "wait=2s", // 8 to 16
		"hide=/sys", "wait=12s", "show=/sys", "until="+sysfsWorks+">0", // 17 to 20
		"fill", "switch=hpet", "wait=3s", "kill", "start", "wait=2s", "empty", "readonly", // 21 to 28
		"switch=tsc", "wait=3s", "memory") // 29 to 31
	flooded, switched := steps[4], steps[6]
	if flooded.metric(t, condemned) != 0 || flooded.metric(t, foreign) == 0 {
		t.Errorf("after a flood of lines that a program wrote: condemned %v, foreign %v", flooded.Metrics[condemned], flooded.Metrics[foreign])
	}
	t.Logf("records %v, overruns %v, lost %v", flooded.Metrics[records], flooded.Metrics["cswatch_kmsg_overruns_total"], flooded.Metrics["cswatch_kmsg_lost_records_total"])
	if switched.Ms > 1000 {
		t.Errorf("behind a flood a switch is seen after %.0f ms", switched.Ms)
	}
	for line := range strings.Lines(steps[7].Note) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && !strings.HasPrefix(f[1], "0100007F:") {
			t.Errorf("it listens elsewhere: %s", line)
		}
	}
	blind := steps[13]
	if blind.metric(t, kmsgWorks) != 0 || blind.metric(t, currentTSC) != 1 {
		t.Errorf("without the log: collector %v, current TSC %v by sysfs", blind.Metrics[kmsgWorks], blind.Metrics[currentTSC])
	}
	if seeing := steps[16]; seeing.metric(t, switchLines) != switched.metric(t, switchLines)+1 {
		t.Errorf("%v lines of switches after the log came back, want one more than %v", seeing.Metrics[switchLines], switched.Metrics[switchLines])
	}
	if s := steps[18]; s.metric(t, sysfsWorks) != 0 || s.metric(t, kmsgWorks) != 1 {
		t.Errorf("without sysfs: %v, %v", s.Metrics[sysfsWorks], s.Metrics[kmsgWorks])
	}
	full, again := steps[23], steps[26]
	// Without a state all counts are those of the ring buffer, which holds the three switches since the flood.
	if full.metric(t, stateWorks) != 0 || full.metric(t, switchLines) < 5 || again.metric(t, switchLines) != 3 {
		t.Errorf("on a full disk: state %v; %v switches, after a restart %v", full.Metrics[stateWorks], full.Metrics[switchLines], again.Metrics[switchLines])
	}
	if s := steps[30]; s.metric(t, stateWorks) != 0 || s.metric(t, currentTSC) != 1 {
		t.Errorf("on a read-only file system: state %v, current TSC %v", s.Metrics[stateWorks], s.Metrics[currentTSC])
	}
}

// On 5.10 reads of the HPET are made late from outside, until its kernel gives up the TSC.
func TestAMonitorInAGuestNamesAReadDelay(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skipf("takes minutes where luck is bad: set %s", longVariable)
	}
	guestKernel(t, "5.10") // or it is skipped
	program := buildStatic(t)
	const tries = 10
	for try := 1; try <= tries; try++ {
		dir := filepath.Join(t.TempDir(), "campaign-"+strconv.Itoa(try))
		const kept = "/monitor.json"
		cmd := exec.CommandContext(t.Context(), program, "trial", "run", dir, "--kernel", "5.10", "--cpus", "2", "--boots", "1", "--controls", "0", "--window", "40s",
			"--delay", "always 400us", "--seed", strconv.Itoa(try), "--run", "monitor --state "+kept, "--fetch", kept)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		files, err := filepath.Glob(filepath.Join(dir, "trials", "*", "*monitor.json"))
		if err != nil || len(files) != 1 {
			all, _ := filepath.Glob(filepath.Join(dir, "trials", "*", "*"))
			t.Fatalf("files %q, %v; all of them %q", files, err, all)
		}
		var s tally.State
		b, err := os.ReadFile(files[0])
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Clocks.Condemned) == 0 {
			t.Logf("try %d: the TSC was not given up", try)
			continue
		}
		c := s.Clocks.Condemned[0]
		t.Logf("%+v", c)
		if c.Cause != event.IncidentDelay || c.Reference != "hpet" || !strings.HasPrefix(c.Clock, "tsc") || s.Clocks.Current != "hpet" {
			t.Errorf("state %+v", s.Clocks)
		}
		y, err := tally.Restore(s)
		if err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(exporter.NewCollector(exporter.Subject{View: y.View, Booted: time.Now, Hooks: func() []exporter.HookCounts { return nil }}))
		alertsFor(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), "CswatchClocksourceCondemned read-delay")
		return
	}
	t.Fatalf("no TSC was given up in %d boots", tries)
}
