package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/alerting"
)

// monitorProcess is a monitor that runs as a process of its own.
type monitorProcess struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	said chan struct{} // closed when nothing more is logged
	log  strings.Builder
}

// startMonitor starts the program and waits until it is ready.
func startMonitor(t *testing.T, program string, change func(*exec.Cmd), args ...string) *monitorProcess {
	t.Helper()
	d := &monitorProcess{t: t, said: make(chan struct{})}
	d.cmd = exec.Command(program, append([]string{"monitor", "--web.listen-address", "127.0.0.1:0"}, args...)...)
	d.cmd.Env = append(os.Environ(), "CSWATCH_CONFIG=/dev/null")
	if change != nil {
		change(d.cmd)
	}
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	address := make(chan string, 1)
	go func() {
		defer close(d.said)
		lines := bufio.NewScanner(stderr)
		at := regexp.MustCompile(`msg=listening address=(127\.0\.0\.1:[0-9]+)`)
		for lines.Scan() {
			d.log.WriteString(lines.Text() + "\n")
			if m := at.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	select {
	case a := <-address:
		d.url = "http://" + a
	case <-d.said:
		t.Fatalf("the monitor ended:\n%s", d.log.String())
	case <-time.After(time.Minute):
		t.Fatal("the monitor does not say where it listens")
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(d.url + "/-/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return d
			}
		}
		if time.Now().After(end) {
			t.Fatal("the monitor is not ready after a minute")
		}
	}
}

func (d *monitorProcess) kill() {
	_ = d.cmd.Process.Kill()
	<-d.said
	_ = d.cmd.Wait()
}

// stop ends it as a service manager does, and returns its exit code.
func (d *monitorProcess) stop() int {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	return d.wait()
}

// wait returns the exit code of a monitor that was told to end.
func (d *monitorProcess) wait() int {
	<-d.said
	_ = d.cmd.Wait()
	return d.cmd.ProcessState.ExitCode()
}

func (d *monitorProcess) get(path string) string {
	d.t.Helper()
	resp, err := http.Get(d.url + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("%s: %s, %v\n%s", path, resp.Status, err, b)
	}
	return string(b)
}

// metric returns the value of a series that is named as in the exposition.
func (d *monitorProcess) metric(name string) float64 {
	d.t.Helper()
	for line := range strings.Lines(d.get("/metrics")) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				d.t.Fatal(err)
			}
			return v
		}
	}
	d.t.Fatalf("there is no %s", name)
	return 0
}

func TestAMonitorServesThisMachineAndEndsWhenToldTo(t *testing.T) {
	d := startMonitor(t, buildStatic(t), nil, "--state", "none")
	if !strings.Contains(d.get("/metrics"), "\ncswatch_build_info{") || !strings.Contains(d.get("/"), "<!doctype html>") && !strings.Contains(d.get("/"), "<!DOCTYPE html>") {
		t.Error("no metrics, or no page")
	}
	if d.metric("cswatch_boot_timestamp_seconds") <= 0 || d.metric("process_open_fds") <= 0 {
		t.Error("no boot time, or no descriptors")
	}
	var status struct {
		Schema string
		Status string
		Events []json.RawMessage
	}
	if err := json.Unmarshal([]byte(d.get("/api/v1/status")), &status); err != nil || status.Schema != "cswatch.monitor/v1" || status.Status == "" || status.Events == nil {
		t.Errorf("status %+v, error %v", status, err)
	}
	d.get("/-/healthy")
	if code := d.stop(); code != ExitOK {
		t.Errorf("exit code %d:\n%s", code, d.log.String())
	}
}

func TestAMonitorTellsSystemd(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := startMonitor(t, buildStatic(t), func(c *exec.Cmd) {
		c.Env = append(c.Env, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=200000")
	}, "--state", "none")
	seen := map[string]int{}
	hear := func(until func() bool) {
		t.Helper()
		b := make([]byte, 4096)
		for !until() {
			if err := l.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			n, err := l.Read(b)
			if err != nil {
				t.Fatalf("heard %v, then %v", seen, err)
			}
			for line := range strings.Lines(string(b[:n])) {
				key, _, _ := strings.Cut(strings.TrimSpace(line), "=")
				seen[key]++
			}
		}
	}
	hear(func() bool { return seen["READY"] == 1 && seen["WATCHDOG"] >= 3 && seen["STATUS"] >= 1 })
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	hear(func() bool { return seen["STOPPING"] == 1 })
	if code := d.wait(); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestAKilledMonitorGoesOnWhereItWas(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.json")
	program := buildStatic(t)
	const records = "cswatch_kmsg_records_total"
	d := startMonitor(t, program, nil, "--state", state)
	if d.metric(`cswatch_collector_success{collector="kmsg"}`) == 0 {
		t.Skip("the kernel's log may not be read here")
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(state); err == nil && strings.Contains(string(b), `"next_record":`) && !strings.Contains(string(b), `"next_record":0,`) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no state is kept")
		}
	}
	before := d.metric(records)
	d.kill()
	d = startMonitor(t, program, nil, "--state", state)
	after := d.metric(records)
	// A kernel may log something meanwhile, but never all of its log again.
	if after < before || before > 100 && after > before+before/2 {
		t.Errorf("%v records before and %v after", before, after)
	}
}

func TestAMonitorWithoutAnyRightsStillServes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a program as somebody else")
	}
	program := buildStatic(t)
	for _, dir := range []string{filepath.Dir(program), filepath.Dir(filepath.Dir(program))} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := startMonitor(t, program, func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		c.Dir = "/"
	}, "--state", filepath.Join(t.TempDir(), "not-ours.json"))
	for end := time.Now().Add(time.Minute); strings.Count(d.get("/metrics"), "\ncswatch_collector_success{") < 6; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not all collectors were tried")
		}
	}
	if d.metric(`cswatch_collector_success{collector="state"}`) != 0 || d.metric(`cswatch_collector_success{collector="sysfs"}`) != 1 {
		t.Errorf("collectors:\n%s", d.get("/metrics"))
	}
	if code := d.stop(); code != ExitOK || !strings.Contains(d.log.String(), `"collector failed" collector=state`) {
		t.Errorf("exit code %d, log\n%s", code, d.log.String())
	}
}

// The half hour that the daemon's costs are measured in; see docs/monitor.md.
func TestHalfAnHourOfMonitoring(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skip("set " + longVariable + "=1")
	}
	d := startMonitor(t, buildStatic(t), nil, "--state", filepath.Join(t.TempDir(), "state.json"))
	time.Sleep(time.Minute) // the start is not what is measured
	began, first := time.Now(), usageOf(t, d.cmd.Process.Pid)
	var slowest, all time.Duration
	most, scrapes := first, 0
	for time.Since(began) < 30*time.Minute {
		at := time.Now()
		d.get("/metrics")
		took := time.Since(at)
		slowest, all = max(slowest, took), all+took
		scrapes++
		u := usageOf(t, d.cmd.Process.Pid)
		most.resident, most.descriptors, most.threads = max(most.resident, u.resident), max(most.descriptors, u.descriptors), max(most.threads, u.threads)
		if scrapes%20 == 1 {
			t.Logf("after %v: %+v, %.0f ppm of a CPU, goroutines %v", time.Since(began).Round(time.Second), u,
				1e6*(u.cpu-first.cpu).Seconds()/time.Since(began).Seconds(), d.metric("go_goroutines"))
		}
		time.Sleep(15*time.Second - time.Since(at))
	}
	last := usageOf(t, d.cmd.Process.Pid)
	ppm := 1e6 * (last.cpu - first.cpu).Seconds() / time.Since(began).Seconds()
	t.Logf("%d scrapes, %v each, the slowest %v; %.0f ppm of a CPU; resident %d kB at most, %d at first, %d at last; descriptors %d, threads %d at most; on %d CPUs",
		scrapes, all/time.Duration(scrapes), slowest, ppm, most.resident, first.resident, last.resident, most.descriptors, most.threads, runtime.NumCPU())
	if most.resident > 30<<10 || last.descriptors > first.descriptors+1 || ppm > 1000 || all/time.Duration(scrapes) > 5*time.Millisecond {
		t.Error("more than 30 MB, 0.1 % of a CPU or 5 ms a scrape, or descriptors that grow")
	}
}

// processUsage is what a process takes.
type processUsage struct {
	cpu                  time.Duration
	resident             int // kB
	descriptors, threads int
}

func usageOf(t *testing.T, pid int) (u processUsage) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	// Behind the name: state is the first field, user and system time the 12th and 13th, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		u.cpu += time.Duration(n) * 10 * time.Millisecond
	}
	u.threads, _ = strconv.Atoi(fields[17])
	open, err := os.ReadDir(dir + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	u.descriptors = len(open)
	b, err := os.ReadFile(dir + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, _ = fmt.Sscan(rest, &u.resident)
		}
	}
	return u
}

func TestARealPrometheusScrapesAMonitor(t *testing.T) {
	d := startMonitor(t, buildStatic(t), nil, "--state", "none")
	t.Run("and promtool has no complaint", func(t *testing.T) {
		promtool, err := exec.LookPath("promtool")
		if err != nil {
			t.Skip("there is no promtool here (package prometheus)")
		}
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(d.get("/metrics"))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
	})
	server := alerting.StartPrometheus(t, "../../monitoring/alerts.yml", d.url+"/metrics")
	server.Wait("scrape the monitor", func() error { return server.Up(1) })
	server.Wait("evaluate the rules", server.Evaluated)
	var found []alerting.Series
	server.Wait("see the metrics of the monitor", func() (err error) {
		if found, err = server.Query(`cswatch_collector_success{collector="sysfs"}`); err == nil && len(found) == 0 {
			err = fmt.Errorf("there are none yet")
		}
		return err
	})
	if len(found) != 1 {
		t.Errorf("%d series of one collector", len(found))
	}
}
