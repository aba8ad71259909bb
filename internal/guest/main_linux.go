package guest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Main is process 1: it mounts what it needs, carries out the plan of its
// environment, and stops the machine. It returns only if it is not process 1.
func Main() error {
	if os.Getpid() != 1 {
		return errors.New("this program is process 1 of a virtual machine that cswatch boots; started by hand it does nothing")
	}
	mounted := mountAll()
	port, err := openRecordPort()
	if err != nil {
		// The console is all that is left to say it on.
		fmt.Fprintf(os.Stderr, "cswatch(guest): %v\n", errors.Join(err, mounted))
		stop()
	}
	session(port, mounted)
	port.drain()
	stop()
	return nil // the machine stopped
}

// session says hello, carries out the plan, and says how it ended.
func session(port *recordPort, mounted error) {
	w := newSystem()
	say := func(r Record) {
		r.UptimeNS = int64(w.uptime())
		port.emit(r)
	}
	clock, clockErr := w.clocksource()
	hello := Hello{Schema: Schema, CPUs: runtime.NumCPU(), Clocksource: clock}
	var u unix.Utsname
	unameErr := unix.Uname(&u)
	hello.Release, hello.Version = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:])
	line, lineErr := os.ReadFile("/proc/cmdline")
	hello.CommandLine = strings.TrimSpace(string(line))
	say(Record{Type: TypeHello, Hello: &hello})

	if err := errors.Join(mounted, clockErr, unameErr, lineErr); err != nil {
		say(Record{Type: TypeTrouble, Trouble: err.Error()})
	}
	plan, err := ParsePlan(os.Environ())
	if err != nil {
		say(Record{Type: TypeTrouble, Trouble: err.Error()})
		say(Record{Type: TypeEnd, End: &End{Reason: EndTrouble, Clocksource: clock}})
		return
	}
	if len(plan.Symbols) > 0 {
		symbols, err := kernelSymbols(plan.Symbols)
		if err != nil {
			say(Record{Type: TypeTrouble, Trouble: err.Error()})
		} else if len(symbols) > 0 {
			say(Record{Type: TypeSymbols, Symbols: symbols})
		}
	}
	var p *program
	var ended <-chan int
	endLoad, err := startLoad(plan.Load, say)
	if err == nil && len(plan.Run) > 0 {
		if p, err = startProgram(plan.Run, say); err == nil {
			ended = p.ended
		}
	}
	if err != nil {
		endLoad()
		say(Record{Type: TypeTrouble, Trouble: err.Error()})
		say(Record{Type: TypeEnd, End: &End{Reason: EndTrouble, Clocksource: clock}})
		return
	}
	end := watch(plan, w, clock, port.emit, ended)
	if p != nil && end.Exit == nil {
		killed := p.kill()
		end.Exit = &killed
	}
	endLoad()
	for _, path := range plan.Fetch {
		fetch(path, openFetched, say)
	}
	say(Record{Type: TypeEnd, End: &end})
}

// kernelSymbols looks symbols up in the running kernel.
func kernelSymbols(wanted []string) ([]Symbol, error) {
	table, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer table.Close()
	return findSymbols(table, wanted)
}

// mountAll mounts the file systems of the kernel.
func mountAll() error {
	var errs []error
	for _, m := range []struct{ dir, kind string }{{"/proc", "proc"}, {"/sys", "sysfs"}, {"/dev", "devtmpfs"}} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			errs = append(errs, err)
		}
		// EBUSY: the kernel was built to mount it itself (CONFIG_DEVTMPFS_MOUNT with a disk).
		if err := unix.Mount(m.kind, m.dir, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			errs = append(errs, fmt.Errorf("mount %s: %w", m.dir, err))
		}
	}
	return errors.Join(errs...)
}

// stop ends the machine: through QEMU's exit device if it is there, else by
// switching off. It does not return.
func stop() {
	unix.Sync()
	// /dev/port writes one byte to the port of that number, so that no assembly
	// is needed; the device takes accesses of one to four bytes.
	if port, err := os.OpenFile("/dev/port", os.O_WRONLY, 0); err == nil {
		_, _ = port.WriteAt([]byte{ExitValue}, ExitPort)
		_ = port.Close()
	}
	// Still here: there is no such device.
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // process 1 must not end: the kernel would panic
}
