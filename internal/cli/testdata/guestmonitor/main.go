// guestmonitor is what the tests run inside a guest beside cswatch monitor: it starts it, does to the machine what the steps
// on its command line say, and writes what came of each as a line of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	address = "127.0.0.1:9953"
	state   = "/run/cswatch/monitor.json"
	sysfs   = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
)

// result is what a step came to.
type result struct {
	Step    string             `json:"step"`
	Error   string             `json:"error,omitempty"`
	Millis  float64            `json:"ms,omitempty"` // that it measured
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Note    string             `json:"note,omitempty"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	g := &guest{}
	http.DefaultClient.Timeout = 20 * time.Second
	if err := loopbackUp(); err != nil {
		fmt.Fprintln(os.Stderr, "set the loopback interface up:", err)
		os.Exit(1)
	}
	for _, step := range os.Args[1:] {
		name, argument, _ := strings.Cut(step, "=")
		r := result{Step: name}
		if err := g.do(name, argument, &r); err != nil {
			r.Error = err.Error()
		}
		if m, err := scrape(); err == nil {
			r.Metrics = m
		}
		if err := out.Encode(r); err != nil {
			os.Exit(1)
		}
		if r.Error != "" {
			break
		}
	}
	if g.monitor != nil {
		_ = g.monitor.Process.Kill()
	}
}

// loopbackUp sets the loopback interface up, which the kernel leaves to the first program.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

type guest struct {
	monitor *exec.Cmd
	args    []string
}

func (g *guest) do(name, argument string, r *result) error {
	switch name {
	case "start":
		g.args = strings.Fields(argument)
		return g.start(r)
	case "wait": // for a time
		d, err := time.ParseDuration(argument)
		time.Sleep(d)
		return err
	case "until": // a metric has a value: NAME>VALUE
		metric, value, _ := strings.Cut(argument, ">")
		want, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return err
		}
		return until(r, 4*time.Minute, func(m map[string]float64) bool { return m[metric] > want })
	case "switch":
		return switchTo(argument, r)
	case "unseen": // a switch while nobody needs to look
		return os.WriteFile(sysfs, []byte(argument), 0o644)
	case "kill":
		_ = g.monitor.Process.Kill()
		_ = g.monitor.Wait()
		g.monitor = nil
		return nil
	case "flood":
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		return flood(n, r)
	case "hide": // a file or a folder behind nothing
		return hide(argument)
	case "show":
		return syscall.Unmount(argument, syscall.MNT_DETACH)
	case "fill": // the folder of the state
		return fill()
	case "empty":
		return syscall.Unmount("/run/cswatch", syscall.MNT_DETACH)
	case "readonly":
		return syscall.Mount("none", "/run/cswatch", "tmpfs", syscall.MS_RDONLY, "size=64k")
	case "memory":
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.monitor.Process.Pid))
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
				r.Note += strings.Join(strings.Fields(line), " ") + "; "
			}
		}
		return err
	case "alone": // nothing listens but on the loopback address
		b, err := os.ReadFile("/proc/net/tcp")
		r.Note = string(b)
		return err
	}
	return fmt.Errorf("no such step")
}

// start starts the monitor and waits until it is ready.
func (g *guest) start(r *result) error {
	g.monitor = exec.Command("/cswatch", append([]string{"monitor", "--web.listen-address", address, "--log.level", "debug"}, g.args...)...)
	g.monitor.Stderr = os.Stderr
	began := time.Now()
	if err := g.monitor.Start(); err != nil {
		return err
	}
	for time.Since(began) < time.Minute {
		if resp, err := http.Get("http://" + address + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				r.Millis = time.Since(began).Seconds() * 1000
				return nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("not ready after a minute")
}

// scrape reads the metrics: "name{labels}" to its value.
func scrape() (map[string]float64, error) {
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d, %w", resp.StatusCode, err)
	}
	m := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || line[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64); err == nil && v == v {
			m[line[:i]] = v
		}
	}
	return m, nil
}

func until(r *result, limit time.Duration, ok func(map[string]float64) bool) error {
	began := time.Now()
	for time.Since(began) < limit {
		if m, err := scrape(); err == nil && ok(m) {
			r.Millis = time.Since(began).Seconds() * 1000
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("not seen after %v", limit)
}

// switchTo switches the clocksource, and measures from the kernel's line of it to the metrics.
func switchTo(name string, r *result) error {
	log, err := os.Open("/dev/kmsg")
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := log.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	before, err := scrape()
	if err != nil {
		return err
	}
	to := total(before, "switches_total", `to="`+name+`"`)
	seen := make(chan time.Time, 1)
	go func() {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if strings.HasSuffix(lines.Text(), ";clocksource: Switched to clocksource "+name) {
				seen <- time.Now()
				return
			}
		}
	}()
	if err := os.WriteFile(sysfs, []byte(name), 0o644); err != nil {
		return err
	}
	var at time.Time
	select {
	case at = <-seen:
	case <-time.After(time.Minute):
		return fmt.Errorf("the kernel does not say that it switched")
	}
	err = until(r, time.Minute, func(m map[string]float64) bool {
		return m[`cswatch_clocksource_current{clocksource="`+name+`",device="clocksource0"}`] == 1 && total(m, "switches_total", `to="`+name+`"`) > to
	})
	r.Millis = time.Since(at).Seconds() * 1000
	return err
}

// total adds up the series whose names hold all of the parts.
func total(m map[string]float64, parts ...string) (sum float64) {
	for name, v := range m {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(name, p)
		}
		if all {
			sum += v
		}
	}
	return sum
}

// flood writes lines to the kernel's log as fast as it goes, by two writers, and scrapes meanwhile. The kernel marks
// them as a program's, whatever they say.
func flood(n int, r *result) error {
	var wait sync.WaitGroup
	var wrote atomic.Int64
	began := time.Now()
	for w := range 2 {
		wait.Go(func() {
			f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
			if err != nil {
				return
			}
			defer f.Close()
			for i := range n / 2 {
				if _, err := fmt.Fprintf(f, "clocksource: timekeeping watchdog on CPU%d: hpet read-back delay of %dns, attempt 4, marking unstable", w, i); err == nil {
					wrote.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	worst := time.Duration(0)
	for scraped := 0; ; scraped++ {
		at := time.Now()
		if _, err := scrape(); err != nil {
			return err
		}
		worst = max(worst, time.Since(at))
		select {
		case <-done:
			took := time.Since(began)
			r.Note = fmt.Sprintf("%d lines in %v, %.0f a second; %d scrapes meanwhile, the slowest %v", wrote.Load(), took, float64(wrote.Load())/took.Seconds(), scraped+1, worst)
			r.Millis = worst.Seconds() * 1000
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// hide mounts nothing over a file or a folder.
func hide(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.Mount("none", path, "tmpfs", 0, "size=64k")
	}
	if err := os.WriteFile("/nothing", nil, 0o644); err != nil {
		return err
	}
	return syscall.Mount("/nothing", path, "", syscall.MS_BIND, "")
}

// fill makes the folder of the state a file system that is full.
func fill() error {
	if err := os.MkdirAll("/run/cswatch", 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("none", "/run/cswatch", "tmpfs", 0, "size=64k"); err != nil {
		return err
	}
	f, err := os.Create("/run/cswatch/full")
	if err != nil {
		return err
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	return nil
}
