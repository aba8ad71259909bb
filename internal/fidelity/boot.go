package fidelity

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// Boot is what was seen of a kernel.
type Boot struct {
	Release string         // uname -r
	Version string         // uname -v
	CPUs    int            // online
	HPET    clocksource.Hz // the rate of its counter
	How     string         // load, delays that were programmed: one line
	Checks  []Check
	Log     []string // records of the kernel log as /dev/kmsg gives them, from the first check on: those that klog knows
}

// Check is one check of the watchdog: all its reads of the HPET.
type Check struct {
	At    time.Duration // of the first read, by the clock outside; not part of the text
	Begin uint64        // the first read, in ticks of the HPET since an arbitrary moment; the kernel reads the lower 32 bits
	CPU   int           // that read
	Gaps  []uint64      // from each read to the next, in ticks
}

// Reads returns the raw values in order.
func (c *Check) Reads() []clocksource.Cycles {
	now := c.Begin
	values := []clocksource.Cycles{clocksource.Cycles(now) & clocksource.Cycles(clocksource.Mask32)}
	for _, g := range c.Gaps {
		now += g
		values = append(values, clocksource.Cycles(now)&clocksource.Cycles(clocksource.Mask32))
	}
	return values
}

// head is the first line of a boot's text.
const head = "boot"

// Append writes the boot as text: a line for each fact, for each check "c" with
// the ticks since the check before, the CPU and the gaps, for each line of the log "l".
func (b *Boot) Append(out []byte) []byte {
	out = fmt.Appendf(out, "%s %s\nversion %s\ncpus %d\nhpet %d\nhow %s\n", head, b.Release, b.Version, b.CPUs, b.HPET, b.How)
	var last uint64
	for _, c := range b.Checks {
		out = fmt.Appendf(out, "c %d %d", c.Begin-last, c.CPU)
		last = c.Begin
		for _, g := range c.Gaps {
			out = fmt.Appendf(out, " %d", g)
		}
		out = append(out, '\n')
	}
	for _, l := range b.Log {
		out = fmt.Appendf(out, "l %s\n", l)
	}
	return out
}

// ParseBoots reads what Append wrote, one boot behind the other. Empty lines and
// lines that begin with # are passed over.
func ParseBoots(r io.Reader) ([]Boot, error) {
	var boots []Boot
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		key, value, _ := strings.Cut(lines.Text(), " ")
		if key == "" || key[0] == '#' {
			continue
		}
		if key == head {
			boots = append(boots, Boot{Release: value})
			continue
		}
		if len(boots) == 0 {
			return nil, fmt.Errorf("read boots: line %d stands before the first %q", n, head)
		}
		if err := boots[len(boots)-1].take(key, value); err != nil {
			return nil, fmt.Errorf("read boots: line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read boots: %w", err)
	}
	return boots, nil
}

// take reads one line of a boot.
func (b *Boot) take(key, value string) error {
	switch key {
	case "version":
		b.Version = value
	case "how":
		b.How = value
	case "cpus":
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is no number of CPUs", value)
		}
		b.CPUs = int(n)
	case "hpet":
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is no rate of a counter in Hz", value)
		}
		b.HPET = clocksource.Hz(n)
	case "c":
		c, err := b.parseCheck(strings.Fields(value))
		if err != nil {
			return err
		}
		b.Checks = append(b.Checks, c)
	case "l":
		b.Log = append(b.Log, value)
	default:
		return fmt.Errorf("%q is not known", key)
	}
	return nil
}

func (b *Boot) parseCheck(fields []string) (Check, error) {
	if len(fields) < 2 {
		return Check{}, fmt.Errorf("a check of %d fields: want a time and a CPU at least", len(fields))
	}
	var numbers []uint64
	for _, f := range fields {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return Check{}, fmt.Errorf("check: %w", err)
		}
		numbers = append(numbers, n)
	}
	if numbers[1] > 1<<16 {
		return Check{}, fmt.Errorf("check: %d is no CPU", numbers[1])
	}
	c := Check{Begin: numbers[0], CPU: int(numbers[1]), Gaps: numbers[2:]}
	if len(c.Gaps) == 0 {
		c.Gaps = nil
	}
	if n := len(b.Checks); n > 0 {
		c.Begin += b.Checks[n-1].Begin
	}
	return c, nil
}
