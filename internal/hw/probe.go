package hw

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/machine"
)

// world is what probing looks at; tests have their own.
type world struct {
	readFile func(string) ([]byte, error)
	// devices lists the names of the form prefix and number in /dev, ascending.
	devices func(prefix string) ([]string, error)
	// counter tries the processor's counter. Its error says why it must not be read.
	counter func() error
	hz      uint64 // that the processor's counter states, 0 if none
	hpet    func() (Counter, error)
	port    func(port uint16) error // tries the port in a child
	clock   func(name string) error
	ptp     func(name string) (ways []string, err error)
	rtc     func(name string) error
}

// Probe looks which counters this process can read. It takes a few
// milliseconds and reads each found counter a few times; for the ACPI PM timer it starts a child.
// Counters of which there can be several (ptp, rtc) have an entry each, or one that says that there is none.
func Probe() []Availability { return probe(platformWorld()) }

func probe(w world) []Availability {
	found := []Availability{probeCounter(w), probeHPET(w), probePMTimer(w)}
	for _, name := range []string{MonotonicRaw, Monotonic, BootTime, RealTime, TAI, MonotonicVDSO, RealTimeVDSO} {
		found = append(found, probePOSIX(w, name))
	}
	found = append(found, probeDevices(w, "ptp", probePTP)...)
	return append(found, probeDevices(w, "rtc", probeRTC)...)
}

// fill turns an error of a probe into the answer.
func (a Availability) fill(err error) Availability {
	var n *NotHere
	if !errors.As(err, &n) {
		n = &NotHere{What: a.Name, Reason: err.Error(), Unsure: true}
	}
	return a.notHere(n)
}

func probeCounter(w world) Availability {
	a := Availability{
		Counter: Counter{Name: processorCounter, Hz: clocksource.Hz(w.hz), Mask: clocksource.Mask64, From: "an instruction"},
		Needs:   counterNeeds,
	}
	if processorCounter == "arch_sys_counter" {
		a.Mask = clocksource.Mask56
	}
	if err := w.counter(); err != nil {
		return a.fill(err)
	}
	return a.here("two readings by this process differ")
}

func probeHPET(w world) Availability {
	a := Availability{
		Counter: Counter{Name: HPET, Mask: clocksource.Mask32, From: hpetPath + ", mapped read-only"},
		Needs:   "read access to " + hpetPath + ", and a kernel that lets it be mapped (CONFIG_HPET_MMAP)",
	}
	c, err := w.hpet()
	if err != nil {
		return a.fill(err)
	}
	a.Counter = c
	return a.here("its registers are those of a running HPET")
}

func probePMTimer(w world) Availability {
	a := Availability{
		Counter: Counter{Name: ACPIPM, Hz: PMTimerHz, Mask: clocksource.Mask24, From: "its I/O port"},
		Needs:   "the capability CAP_SYS_RAWIO for ioperm on its four ports, which a child process asks for, and a kernel with CONFIG_X86_IOPL_IOPERM",
	}
	port, from, err := findPMTimer(w.readFile)
	if err != nil {
		return a.fill(err)
	}
	a.From = fmt.Sprintf("I/O port %#x, named by %s", port, from)
	if err := w.port(port); err != nil {
		return a.fill(err)
	}
	return a.here("a child process read it, and it runs")
}

// findPMTimer returns the port of the PM timer and who names it. Its error is a *NotHere.
func findPMTimer(readFile func(string) ([]byte, error)) (port uint16, from string, err error) {
	if !hasPorts {
		return 0, "", &NotHere{What: ACPIPM, Reason: "this architecture has no I/O ports"}
	}
	table, tableErr := readFile(fadtPath)
	if tableErr == nil {
		port, err := pmTimerPort(table)
		if err == nil {
			return port, fadtPath, nil
		}
		if absent := (*NotHere)(nil); errors.As(err, &absent) {
			return 0, "", absent
		}
		tableErr = err
	}
	text, err := readFile(ioportsPath)
	if err == nil {
		if port, ok := pmTimerIOPorts(string(text)); ok {
			return port, ioportsPath, nil
		}
	}
	if errors.Is(tableErr, fs.ErrNotExist) && err == nil && port == 0 {
		return 0, "", &NotHere{What: ACPIPM, Reason: "there is no ACPI table " + fadtPath + ", and " + ioportsPath + " names no PM timer", Unsure: true,
			Remedy: "run as root: both hide addresses from others; a machine without ACPI has no PM timer"}
	}
	return 0, "", &NotHere{What: ACPIPM, Reason: "its port is not known: " + tableErr.Error(), Remedy: "run as root", Unsure: true}
}

// posixCounter describes a POSIX clock.
func posixCounter(name string) Counter {
	from := "clock_gettime by system call"
	if name == MonotonicVDSO || name == RealTimeVDSO {
		from = "clock_gettime by the vDSO, called by the Go runtime"
	}
	return Counter{Name: name, Hz: clocksource.Hz(clocksource.NanosPerSecond), Mask: clocksource.Mask64, From: from}
}

func probePOSIX(w world, name string) Availability {
	a := Availability{Counter: posixCounter(name), Needs: "nothing"}
	if err := w.clock(name); err != nil {
		return a.fill(err)
	}
	return a.here("it answers")
}

// probeDevices probes each device of a kind, or says that there is none.
func probeDevices(w world, prefix string, one func(world, string) Availability) []Availability {
	names, err := w.devices(prefix)
	none := one(world{}, "")
	none.Name = prefix
	switch {
	case err != nil:
		return []Availability{none.fill(err)}
	case len(names) == 0:
		return []Availability{none.notHere(&NotHere{What: prefix, Reason: "there is no /dev/" + prefix + "0 or the like",
			Remedy: "where the machine has one, load its driver; a container must be given the device"})}
	}
	var found []Availability
	for _, name := range names {
		found = append(found, one(w, name))
	}
	return found
}

func probePTP(w world, name string) Availability {
	a := Availability{
		Counter: Counter{Name: name, Hz: clocksource.Hz(clocksource.NanosPerSecond), Mask: clocksource.Mask64, From: "clock_gettime on a /dev/ptpN"},
		Needs:   "read access to the device",
	}
	if name == "" {
		return a
	}
	a.Title = ptpTitle(w.readFile, name)
	a.Counter = ptpCounter(name, a.Title)
	ways, err := w.ptp(name)
	if err != nil {
		return a.fill(err)
	}
	a.Ways = ways
	return a.here("it answers")
}

func probeRTC(w world, name string) Availability {
	a := Availability{
		Counter: Counter{Name: name, Hz: 1, Mask: clocksource.Mask64, From: "since_epoch in sysfs, or /dev/rtcN"},
		Needs:   "nothing but sysfs, or read access to the device",
		Slow:    true,
	}
	if name == "" {
		return a
	}
	if err := w.rtc(name); err != nil {
		return a.fill(err)
	}
	return a.here("it answers")
}

// Choice is the reference that was chosen for a watchdog, and what it is worth.
type Choice struct {
	Availability
	Independence
	Passed []Availability // better ones that cannot be used, with the reasons
}

// Choose picks the best reference among what Probe found, as a kernel would: the
// HPET, then the ACPI PM timer; then a PTP clock that is independent of the
// processor's counter, and at last CLOCK_MONOTONIC_RAW, whatever it is worth.
// It fails with a *NotHere where there is nothing.
func Choose(found []Availability, s Surroundings) (Choice, error) {
	var c Choice
	try := func(a Availability, mustBeIndependent bool) bool {
		if a.Can != machine.Yes {
			c.Passed = append(c.Passed, a)
			return false
		}
		s.PTPName = a.Title
		i := Independent(a.Name, s)
		if mustBeIndependent && i.Independent != machine.Yes {
			a.Can, a.Why = machine.No, i.Reason
			c.Passed = append(c.Passed, a)
			return false
		}
		c.Availability, c.Independence = a, i
		return true
	}
	wanted := []struct {
		is          func(Availability) bool
		independent bool
	}{
		{func(a Availability) bool { return a.Name == HPET }, false},
		{func(a Availability) bool { return a.Name == ACPIPM }, false},
		{func(a Availability) bool { return isDevice(a.Name, "ptp") }, true},
		{func(a Availability) bool { return a.Name == MonotonicRaw }, false},
	}
	for _, want := range wanted {
		for _, a := range found {
			if want.is(a) && try(a, want.independent) {
				return c, nil
			}
		}
	}
	return c, &NotHere{What: "a reference", Reason: "no counter can be read that could be compared with " + processorCounter}
}
