package cli

import (
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
)

// loggedNews is a kernel log that says something once, after some calls.
type loggedNews struct {
	text   string
	after  int
	calls  int
	closed bool
}

func (l *loggedNews) News() ([]byte, error) {
	if l.calls++; l.calls == l.after {
		return []byte(l.text), nil
	}
	return nil, nil
}

func (l *loggedNews) Close() error { l.closed = true; return nil }

const (
	retryLine = "4,900,28763164,-;clocksource: timekeeping watchdog on CPU1: hpet retried 2 times before success\n"
	otherLine = "6,901,28763165,-;usb 1-1: new high-speed USB device number 2\n"
	userLine  = "12,902,28763166,-;clocksource: timekeeping watchdog on CPU1: hpet retried 2 times before success\n"
)

func TestAWatchThatLoadsTheHPETNeedsConsentAndFollowsTheKernel(t *testing.T) {
	many := []string{"--era", "5.15", "--reference", "hpet", "--retries", "255", "--format", "jsonl"}
	accept := append(many, "--"+acceptLoss)
	for _, c := range []struct {
		name   string
		p      *pretend
		args   []string
		code   int
		stderr string // part of it, "" for nothing
		ended  string // "" where nothing was watched
		calls  int    // of the kernel's log
	}{
		{"without consent it is refused", &pretend{risk: machine.Yes}, many, ExitFailed, "256 attempts in a row over hpet", "", 0},
		{"and says how to consent", &pretend{risk: machine.Yes}, many, ExitFailed, "or accept the loss with --accept-losing-tsc-until-reboot: latency can condemn the TSC on this machine: the test says so", "", 0},
		{"what is not known is a risk", &pretend{}, many, ExitFailed, "latency may condemn the TSC", "", 0},
		{"where latency cannot condemn there is nothing to lose", &pretend{risk: machine.No}, many, ExitOK, "", "signal", 0},
		{"seven retries are a watchdog's pace", &pretend{risk: machine.Yes}, []string{"--era", "5.15", "--retries", "7", "--format", "jsonl"}, ExitOK, "", "signal", 0},
		{"with consent the kernel's log is followed", &pretend{risk: machine.Yes, log: &loggedNews{text: otherLine, after: 2}}, accept, ExitOK, "", "signal", 5},
		{"and its first complaint ends the watch", &pretend{risk: machine.Yes, log: &loggedNews{text: otherLine + retryLine, after: 3}}, accept, ExitFailed, "hpet retried 2 times before success", "kernel-log", 3},
		{"a complaint that a user wrote is none", &pretend{risk: machine.Yes, log: &loggedNews{text: userLine, after: 3}}, accept, ExitOK, "", "signal", 5},
		{"a log that cannot be followed ends it before it begins", &pretend{risk: machine.Yes}, accept, ExitFailed, "follow the kernel's log", "", 0},
	} {
		stopAfter(t, c.p, 5)
		code, out, errs := watchRun(t, c.p, false, c.args...)
		if code != c.code || !strings.Contains(errs, c.stderr) || c.stderr == "" && errs != "" {
			t.Errorf("%s: code %d, want %d\n%s%s", c.name, code, c.code, out, errs)
		}
		if watched := strings.Contains(out, `"ended":"`+c.ended+`"`); c.ended == "" && out != "" || c.ended != "" && !watched {
			t.Errorf("%s: want the end %q:\n%s", c.name, c.ended, out)
		}
		if c.p.log != nil && (c.p.log.calls != c.calls || !c.p.log.closed) {
			t.Errorf("%s: the log was asked %d times, want %d; closed %v", c.name, c.p.log.calls, c.calls, c.p.log.closed)
		}
	}
}
