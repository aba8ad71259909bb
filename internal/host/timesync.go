package host

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

const timeHowTo = "run chronyc tracking, ntpq -p or timedatectl on that machine"

// collectTime finds out how the system clock is disciplined.
func (c *collector) collectTime() {
	c.snap.Time.Synchronised = machine.Unknown
	switch {
	case c.opt.Adjtimex != nil:
		st, err := c.opt.Adjtimex()
		if err != nil {
			c.noAdjtimex(err.Error())
		} else {
			c.clockState(st)
		}
		c.snap.Time.Daemon = c.runningDaemon()
	case c.mani != nil:
		if st := c.mani.Facts.Adjtimex; st != nil {
			c.clockState(*st)
		} else {
			reason, ok := c.mani.left("adjtimex")
			if !ok {
				reason = machine.ReasonNotInArchive
			}
			c.noAdjtimex(reason)
		}
		c.snap.Time.Daemon = cleanText(c.mani.Facts.Daemon)
	case c.opt.kind() == machine.KindSOS:
		c.sosTime()
	default:
		c.snap.Time.Daemon = c.runningDaemon()
		c.noAdjtimex("only the running machine answers it")
	}
}

func (c *collector) noAdjtimex(reason string) {
	c.snap.Unreadable = append(c.snap.Unreadable, machine.Unreadable{What: "adjtimex", Reason: reason, HowTo: timeHowTo})
}

func (c *collector) clockState(st ClockState) {
	t := &c.snap.Time
	t.Source = "adjtimex"
	t.Synchronised = answer(st.Synchronised)
	t.FrequencyPPM, t.OffsetNS, t.MaxErrorNS = &st.FrequencyPPM, &st.OffsetNS, &st.MaxErrorNS
}

func answer(yes bool) machine.Answer {
	if yes {
		return machine.Yes
	}
	return machine.No
}

// sosTime reads what a sosreport holds: chronyd's own words, else timedatectl's.
func (c *collector) sosTime() {
	t := &c.snap.Time
	t.Daemon = c.sosDaemon()
	const tracking = "sos_commands/chrony/chronyc_tracking"
	for _, name := range [...]string{tracking, "sos_commands/chrony/chronyc_-n_tracking"} {
		v, ok := c.text(name)
		if !ok {
			continue
		}
		tr, err := parseTracking(v)
		if err != nil {
			c.missing(name, machine.ReasonNotUnderstood+": "+err.Error(), timeHowTo)
			continue
		}
		t.Source, t.Daemon, t.Leap = "chronyc tracking", "chronyd", tr.leap
		t.Synchronised = answer(tr.synchronised)
		t.FrequencyPPM, t.OffsetNS, t.MaxErrorNS = &tr.frequencyPPM, &tr.offsetNS, &tr.maxErrorNS
		return
	}
	if v, ok := c.text("sos_commands/systemd/timedatectl"); ok {
		eachField(v, ":", func(key, value string) bool {
			if key == "System clock synchronized" || key == "NTP synchronized" {
				t.Synchronised, t.Source = answer(value == "yes"), "timedatectl"
				return false
			}
			return true
		})
	}
	if t.Synchronised == machine.Unknown {
		c.missing(tracking, machine.ReasonNotInArchive, timeHowTo)
		c.snap.Unreadable[len(c.snap.Unreadable)-1].HowTo = timeHowTo
	}
}

// tracking is what "chronyc tracking" says.
type tracking struct {
	frequencyPPM float64 // correction in force: positive where the clock is slow by nature
	offsetNS     int64   // positive where the system clock is behind
	maxErrorNS   int64   // offset + root dispersion + half the root delay
	leap         string
	synchronised bool
}

// parseTracking reads the output of "chronyc tracking". All of frequency,
// system time and leap status must be there.
func parseTracking(text string) (tracking, error) {
	var tr tracking
	var delay, dispersion float64
	var haveFrequency, haveOffset bool
	var bad error
	eachField(text, ":", func(key, value string) bool {
		var err error
		switch key {
		case "Frequency": // "3.225 ppm slow"
			tr.frequencyPPM, err = signed(value, "ppm")
			haveFrequency = true
		case "System time": // "0.000006523 seconds slow of NTP time"
			var s float64
			s, err = signed(strings.TrimSuffix(value, " of NTP time"), "seconds")
			tr.offsetNS = nanoseconds(s)
			haveOffset = true
		case "Root delay":
			delay, err = plain(value)
		case "Root dispersion":
			dispersion, err = plain(value)
		case "Leap status":
			tr.leap = value
		}
		if err != nil {
			bad = fmt.Errorf("line %q: %w", key, err)
		}
		return err == nil
	})
	switch {
	case bad != nil:
		return tracking{}, bad
	case !haveFrequency || !haveOffset || tr.leap == "":
		return tracking{}, errors.New("want lines for System time, Frequency and Leap status")
	}
	tr.maxErrorNS = nanoseconds(math.Abs(float64(tr.offsetNS))/1e9 + math.Abs(dispersion) + math.Abs(delay)/2)
	tr.synchronised = tr.leap != "Not synchronised"
	return tr, nil
}

// signed reads "NUMBER UNIT slow" as positive and "... fast" as negative.
func signed(value, unit string) (float64, error) {
	f := strings.Fields(value)
	if len(f) != 3 || f[1] != unit || f[2] != "slow" && f[2] != "fast" {
		return 0, fmt.Errorf("%.60q: want a number, %s, and slow or fast", value, unit)
	}
	v, err := number(f[0])
	if f[2] == "fast" && v != 0 {
		v = -v
	}
	return v, err
}

func plain(value string) (float64, error) {
	n, _, _ := strings.Cut(value, " ")
	return number(n)
}

// number reads a float that makes sense here: a clock is never wrong by 1e12 of anything.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > 1e12 {
		return 0, fmt.Errorf("%.60q is not a number in range", s)
	}
	return v, nil
}

// nanoseconds converts seconds and stays within the range of int64.
func nanoseconds(seconds float64) int64 {
	ns := math.Round(seconds * 1e9)
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return int64(ns)
}

// isDaemon knows the programs that discipline the system clock. The kernel cuts
// a program's name at 15 characters.
func isDaemon(comm string) (string, bool) {
	switch comm {
	case "chronyd", "ntpd", "openntpd", "ptp4l", "phc2sys", "sptpd", "timebeat":
		return comm, true
	case "systemd-timesyn", "systemd-timesyncd":
		return "systemd-timesyncd", true
	}
	return "", false
}

const maxProcesses = 1024 // looked at; a time daemon starts early and has a low number

var pidName = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

// runningDaemon finds the time daemon by its pid file, else among the first
// processes of /proc. A pid file counts if the process still has the name.
func (c *collector) runningDaemon() string {
	for _, name := range [...]string{"run/chrony/chronyd.pid", "run/chronyd.pid", "run/ntpd.pid"} {
		pid, err := readLimited(c.fsys, name, 16)
		if err != nil || !pidName.MatchString(strings.TrimSpace(string(pid))) {
			continue
		}
		if d, ok := isDaemon(c.comm(strings.TrimSpace(string(pid)))); ok {
			return d
		}
	}
	var pids []string
	for _, name := range listDir(c.fsys, "proc", maxDirEntries) {
		if pidName.MatchString(name) {
			pids = append(pids, name)
		}
	}
	slices.SortFunc(pids, func(a, b string) int { // by number
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for _, pid := range pids[:min(len(pids), maxProcesses)] {
		if d, ok := isDaemon(c.comm(pid)); ok {
			return d
		}
	}
	return ""
}

const maxComm = 64 // bytes of a program's name; the kernel has 15

func (c *collector) comm(pid string) string {
	data, err := readLimited(c.fsys, path.Join("proc", pid, "comm"), maxComm)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// sosDaemon looks for the daemon in the process list of a sosreport.
func (c *collector) sosDaemon() string {
	for _, name := range [...]string{"sos_commands/process/ps_auxwwwm", "sos_commands/process/ps_auxwww"} {
		v, ok := c.text(name)
		if !ok {
			continue
		}
		for line := range strings.SplitSeq(v, "\n") {
			f := strings.Fields(line)
			if len(f) < 11 { // USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND
				continue
			}
			if d, ok := isDaemon(path.Base(f[10])); ok {
				return d
			}
		}
	}
	return ""
}
