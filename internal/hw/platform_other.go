//go:build !linux

package hw

import (
	"io/fs"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

func onlyLinux(what string) *NotHere {
	return &NotHere{What: what, Reason: "this program reads counters on Linux only"}
}

// Pin fails: only Linux is supported.
func Pin(int) error { return onlyLinux("binding a thread to a CPU") }

// AllowedCPUs fails: only Linux is supported.
func AllowedCPUs() ([]int, error) { return nil, onlyLinux("the list of CPUs") }

// UsageCounter counts nothing: only Linux is supported.
type UsageCounter struct{}

// Usage returns nothing.
func (*UsageCounter) Usage(int, bool) Usage { return Usage{} }

type binding struct{}

func (*binding) bind(cpu int) error { return Pin(cpu) }

func (*binding) free() {}

// ChildMain returns at once: there is no child that reads ports.
func ChildMain() {}

// Reader takes no read-backs: only Linux is supported.
type Reader struct{}

// OpenReader fails: only Linux is supported.
func OpenReader(reference string) (*Reader, error) { return nil, onlyLinux(reference) }

// Reference describes nothing.
func (*Reader) Reference() Counter { return Counter{} }

// ReadBack fails: only Linux is supported.
func (*Reader) ReadBack(*ReadBack) error { return onlyLinux("reading counters") }

// Close does nothing.
func (*Reader) Close() error { return nil }

// ComparePTP fails: only Linux is supported.
func ComparePTP(name string) (PTPSample, error) { return PTPSample{}, onlyLinux(name) }

func openSource(p Plan) (source, error) { return nil, onlyLinux(p.Reference) }

func platformFrequency() frequencySources {
	return frequencySources{readFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }, cpuid: cpuid, sleep: Pause}
}

func platformRTC(name string) (rtcSource, error) { return rtcSource{}, onlyLinux(name) }

func platformWorld() world {
	return world{
		readFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
		devices:  func(prefix string) ([]string, error) { return nil, onlyLinux(prefix) },
		counter:  func() error { return onlyLinux(processorCounter) },
		hpet:     func() (Counter, error) { return Counter{}, onlyLinux(HPET) },
		port:     func(uint16) error { return onlyLinux(ACPIPM) },
		clock:    func(name string) error { return onlyLinux(name) },
		ptp:      func(name string) ([]string, error) { return nil, onlyLinux(name) },
		rtc:      func(name string) error { return onlyLinux(name) },
	}
}

// monotonic is what read-backs are timed with.
func monotonic() clocksource.Nanos { return 0 }

// LooseTimers fails: only Linux is supported.
func LooseTimers(time.Duration) error { return onlyLinux("timer slack") }
