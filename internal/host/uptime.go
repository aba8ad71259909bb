package host

import (
	"math"
	"regexp"
	"strconv"

	"github.com/cswatch/cswatch/machine"
)

// collectUptime reads the seconds since boot.
func (c *collector) collectUptime() {
	if v, ok := c.text("proc/uptime"); ok {
		c.snap.UptimeSeconds = parseUptime(v)
		return
	}
	if c.opt.kind() == machine.KindSOS {
		if v, ok := c.text("sos_commands/host/uptime"); ok {
			c.snap.UptimeSeconds = uptimeCommand(v)
		}
	}
}

// parseUptime reads the first number of /proc/uptime; 0 if it is none.
func parseUptime(text string) float64 {
	s := text
	for i, r := range text {
		if r == ' ' {
			s = text[:i]
			break
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) || v > 1e10 {
		return 0
	}
	return v
}

var uptimeWords = regexp.MustCompile(`\bup\s+(?:(\d{1,6}) days?,\s+)?(?:(\d{1,2}):(\d{2})|(\d{1,2}) min)`)

// uptimeCommand reads " 10:00:00 up 12 days,  3:04,  2 users, ..." to the minute.
func uptimeCommand(line string) float64 {
	m := uptimeWords.FindStringSubmatch(line)
	if m == nil {
		return 0
	}
	var n [4]float64
	for i, s := range m[1:] {
		n[i], _ = strconv.ParseFloat(s, 64) // "" is 0
	}
	return n[0]*86400 + n[1]*3600 + n[2]*60 + n[3]*60
}
