package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

const sysfsHowTo = "run cswatch on the host itself, or give the container the host's /sys read-only and use --root"

// collectClocksource reads what sysfs says of the clocksources.
func (c *collector) collectClocksource() {
	cs := &c.snap.Clocksource
	name := clocksourceDir + "/current_clocksource"
	if v, ok := c.need(name, sysfsHowTo); ok {
		cs.Current = oneLine(v)
		c.source("clocksource.current", name)
	}
	name = clocksourceDir + "/available_clocksource"
	if v, ok := c.need(name, sysfsHowTo); ok {
		cs.Available = strings.Fields(oneLine(v))
		c.source("clocksource.available", name)
	}
	c.collectParameters()
	c.collectHRES()
	cs.HPETDevice = c.exists("dev/hpet")
	if cs.HPETDevice == machine.No && (c.snap.Container != "" || c.exists("dev") != machine.Yes) {
		cs.HPETDevice = machine.Unknown // a container is not shown the host's devices
	}
}

// collectParameters reads the parameters of the clocksource module. Kernels
// before 5.14 have none and then no folder either, which is a fact where
// /sys/module itself is there.
func (c *collector) collectParameters() {
	names, err := c.list(parametersDir)
	if err != nil {
		reason := c.reason(parametersDir, err)
		absent := errors.Is(err, fs.ErrNotExist) && (c.mani == nil || reason == machine.ReasonNotThere)
		if modules := c.exists(moduleDir); absent && modules == machine.Yes {
			// A sosreport, too, copies the parameters of all modules.
			c.snap.Clocksource.Parameters = map[string]string{}
			c.source("clocksource.parameters", moduleDir)
			return
		}
		c.missing(parametersDir, reason, sysfsHowTo)
		return
	}
	params := make(map[string]string)
	for _, n := range names[:min(len(names), maxParameters)] {
		name := path.Join(parametersDir, n)
		data, _, err := c.read(name)
		if err != nil {
			c.unreadable(name, err, sysfsHowTo)
			continue
		}
		params[cleanText(n)] = oneLine(cleanText(string(data)))
	}
	c.snap.Clocksource.Parameters = params
	c.source("clocksource.parameters", parametersDir)
}

// collectHRES finds out whether the kernel runs in high resolution mode. The
// direct answer is for root only. The indirect one is as good: the clock
// "jiffies" is always registered, and sysfs hides it exactly in the mode in
// which it also hides condemned clocks (one-shot mode, which high resolution needs).
func (c *collector) collectHRES() {
	cs := &c.snap.Clocksource
	cs.HRES = machine.Unknown
	const list = "proc/timer_list"
	data, _, err := c.read(list)
	if err == nil {
		if cs.HRES = hresActive(string(data)); cs.HRES != machine.Unknown {
			c.source("clocksource.hres", list)
			return
		}
	}
	if len(cs.Available) > 0 {
		if slices.Contains(cs.Available, "jiffies") {
			cs.HRES = machine.No
			c.source("clocksource.hres", "available_clocksource lists jiffies, as it does outside one-shot mode only")
		} else {
			cs.HRES = machine.Yes
			c.source("clocksource.hres", "available_clocksource does not list jiffies, as in one-shot mode only")
		}
		return
	}
	if err != nil {
		c.unreadable(list, err, "look for \"Switched to high resolution mode\" in the kernel log")
		return
	}
	c.missing(list, machine.ReasonNotUnderstood+": it has no hres_active line", "look for \"Switched to high resolution mode\" in the kernel log")
}

// hresActive finds the first "  .hres_active    : 1" line.
func hresActive(timerList string) machine.Answer {
	answer := machine.Unknown
	eachField(timerList, ":", func(key, value string) bool {
		if key != ".hres_active" {
			return true
		}
		switch value {
		case "1":
			answer = machine.Yes
		case "0":
			answer = machine.No
		}
		return false
	})
	return answer
}

// countList counts the numbers in a list such as "0-3,8": false if it is none.
func countList(s string) (int, bool) {
	if s == "" {
		return 0, false
	}
	total := 0
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, okA := listNumber(first)
		b, okB := a, okA
		if isRange {
			b, okB = listNumber(last)
		}
		if !okA || !okB || b < a {
			return 0, false
		}
		if total += b - a + 1; total > maxListed {
			return 0, false
		}
	}
	return total, true
}

const maxListed = 1 << 20 // Linux knows 8192 CPUs at most today

func listNumber(s string) (int, bool) {
	var n int
	if s == "" || len(s) > 7 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	if _, err := fmt.Sscan(s, &n); err != nil {
		return 0, false
	}
	return n, true
}
