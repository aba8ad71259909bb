package qemu

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/qemu/snapshot"
)

// Accelerators.
const (
	// TCG emulates the processor: it runs everywhere, and the techniques for
	// programmed delays and faults need it.
	TCG = "tcg"
	// KVM runs the guest on the real processor. A /dev/kvm that opens may still
	// not work: see [Config.Probe].
	KVM = "kvm"
)

// Spec is what to boot. The zero value of every field but Kernel has a meaning.
type Spec struct {
	// Kernel is the path of a bzImage, a vmlinux, or a Debian package with one in it.
	Kernel string `json:"kernel"`
	// Append are words for the kernel command line, after [BaseAppend] and before the plan's.
	Append []string `json:"append,omitempty"`
	// OnlyAppend leaves BaseAppend out but for the console.
	OnlyAppend bool `json:"only_append,omitempty"`
	// CPUs is the number of virtual CPUs; 0 is 2, the fewest with which the
	// watchdog's checks between CPUs happen.
	CPUs int `json:"cpus,omitempty"`
	// MemoryMB is the guest's memory in MiB; 0 is 256.
	MemoryMB int `json:"memory_mb,omitempty"`
	// Accelerator is TCG or KVM; "" is TCG.
	Accelerator string `json:"accelerator,omitempty"`
	// CPUModel is QEMU's -cpu; "" is Skylake-Client. Linux takes "constant TSC"
	// from the model, and TCG offers neither "nonstop TSC" nor TSC_ADJUST, so that
	// the TSC of this one is both used and watched. With "max" the kernel calls
	// the TSCs of two CPUs unsynchronized at once.
	CPUModel string `json:"cpu_model,omitempty"`
	// Plan is what the guest program does.
	Plan guest.Plan `json:"plan"`
	// Files go into the initramfs beside the guest program.
	Files []File `json:"files,omitempty"`
	// Limit is the time from start to end after which the machine is killed, in
	// real time; 0 is one minute and three times the plan's window, for an
	// emulated machine may run slower than real time, and one minute for each file
	// that the plan fetches, of which the longest takes half of that.
	Limit time.Duration `json:"limit_ns,omitempty"`
	// QMP opens a socket for [Machine.QMP] and [Machine.Save].
	QMP bool `json:"qmp,omitempty"`
	// From is a file of [Machine.Save]: the machine goes on from there. The
	// specification must be that of the saved machine otherwise, but for Limit, QMP
	// and what of Extra adds no device. Append and Plan are the saved machine's,
	// whatever is written here: they are in its memory, and its window runs on.
	From string `json:"from,omitempty"`
	// Steps are made in the TSC of the machine before it goes on.
	Steps []snapshot.Step `json:"steps,omitempty"`
	// Extra are further arguments for QEMU, such as -trace.
	Extra []string `json:"extra,omitempty"`
}

// File is a file of this machine that goes into the initramfs.
type File struct {
	Guest string `json:"guest"` // path in the guest, from the root
	Host  string `json:"host"`  // path here
	Perm  uint32 `json:"perm,omitempty"`
}

// Bounds of a Spec. The kernel's command line has 2048 bytes on x86, with a zero at the end.
const (
	MaxCPUs        = 255
	maxCommandLine = 2047
	minMemoryMB    = 64
)

// BaseAppend returns the words with which kernels boot here unless OnlyAppend
// says otherwise. They take a third off the boot time of an emulated machine and
// leave clocksources and watchdog as they are: a given delay loop, no self tests,
// no randomised layout, no mitigations. After a panic the machine ends at once.
func BaseAppend() []string {
	return []string{"panic=-1", "quiet", "lpj=12000000", "no_timer_check", "cryptomgr.notests", "random.trust_cpu=on",
		"raid=noautodetect", "nokaslr", "mitigations=off"}
}

// withDefaults fills in what the zero values stand for.
func (s Spec) withDefaults() Spec {
	if s.CPUs == 0 {
		s.CPUs = 2
	}
	if s.MemoryMB == 0 {
		s.MemoryMB = 256
	}
	if s.Accelerator == "" {
		s.Accelerator = TCG
	}
	if s.CPUModel == "" {
		s.CPUModel = "Skylake-Client"
	}
	if s.Limit == 0 {
		s.Limit = time.Minute + 3*s.Plan.Window + time.Duration(len(s.Plan.Fetch))*time.Minute
	}
	return s
}

// Validate reports everything that is wrong with the specification.
func (s Spec) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("boot specification: "+format, args...))
	}
	d := s.withDefaults()
	if s.Kernel == "" {
		bad("no kernel is named")
	}
	if d.CPUs < 1 || d.CPUs > MaxCPUs {
		bad("%d CPUs: want 1 to %d", d.CPUs, MaxCPUs)
	}
	if d.MemoryMB < minMemoryMB {
		bad("%d MiB of memory: want %d at least", d.MemoryMB, minMemoryMB)
	}
	if d.Accelerator != TCG && d.Accelerator != KVM {
		bad("accelerator %q: want %s or %s", d.Accelerator, TCG, KVM)
	}
	if d.Limit < 0 {
		bad("limit %v", d.Limit)
	}
	for _, word := range s.Append {
		if word == "" || strings.ContainsAny(word, "\x00\n") || strings.ContainsAny(word, " \t") && !strings.Contains(word, `"`) {
			bad("%q is not one word of a command line", word)
		}
	}
	if n := len(d.commandLine()); n > maxCommandLine {
		bad("a kernel command line of %d bytes: the kernel takes %d", n, maxCommandLine)
	}
	if (s.From != "" || len(s.Steps) > 0) && d.Accelerator != TCG {
		bad("accelerator %s with a saved state: only %s has the TSC in it", d.Accelerator, TCG)
	}
	if len(s.Steps) > 0 && s.From == "" {
		bad("steps of the TSC without a saved state in which to make them")
	}
	for _, step := range s.Steps {
		if step.CPU != snapshot.AllCPUs && (step.CPU < 0 || step.CPU >= d.CPUs) {
			bad("step %s: want a CPU from 0 to %d, or %d for all", step, d.CPUs-1, snapshot.AllCPUs)
		}
	}
	taken := []string{"/init"}
	for _, f := range s.Files {
		name := path.Clean("/" + f.Guest)
		if f.Host == "" || name == "/" || slices.Contains(taken, name) {
			bad("file %q from %q: want a path in the guest of its own, other than /init, and a path here", f.Guest, f.Host)
		}
		taken = append(taken, name)
	}
	if err := s.Plan.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// commandLine is the kernel's.
func (s Spec) commandLine() string {
	words := []string{"console=ttyS0"}
	if !s.OnlyAppend {
		words = append(words, BaseAppend()...)
	}
	words = append(words, s.Append...)
	return strings.Join(append(words, s.Plan.Words()...), " ")
}

// paths are the files of one boot.
type paths struct{ qemu, kernel, initramfs, qmp string }

// The file descriptors on which QEMU finds the pipe for records and that with a
// saved state: the first after the standard three.
const (
	recordsFD = 3
	stateFD   = 4
)

// arguments returns QEMU's command line. The spec must have its defaults.
func (s Spec) arguments(p paths) []string {
	accel, cpu := "tcg,thread=multi", s.CPUModel
	if s.Accelerator == KVM {
		// Without this the guest takes kvm-clock and leaves the TSC alone.
		accel, cpu = "kvm", s.CPUModel+",kvm=off"
	}
	args := []string{
		p.qemu,
		"-accel", accel,
		"-machine", "pc,hpet=on,vmport=off,i8042=off",
		"-cpu", cpu,
		"-smp", fmt.Sprint(s.CPUs),
		"-m", fmt.Sprint(s.MemoryMB),
		"-display", "none", "-vga", "none", "-nic", "none", "-nodefaults", "-no-user-config", "-no-reboot", "-monitor", "none",
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("file,id=records,path=/dev/fd/%d", recordsFD), "-serial", "chardev:records",
		"-device", fmt.Sprintf("isa-debug-exit,iobase=%#x,iosize=4", guest.ExitPort),
		"-kernel", p.kernel,
		"-initrd", p.initramfs,
		"-append", s.commandLine(),
	}
	if p.qmp != "" {
		args = append(args, "-qmp", "unix:"+p.qmp+",server=on,wait=off")
	}
	if s.From != "" {
		args = append(args, "-incoming", fmt.Sprintf("fd:%d", stateFD))
	}
	return append(args, s.Extra...)
}
