package perf

import "strings"

// Part is what a function has to do with reading a clock.
type Part string

// The parts.
const (
	Counter Part = "counter" // it reads the counter: this is what another clocksource changes
	Inlined Part = "inlined" // it reads the counter and computes the time, in one function
	Around  Part = "around"  // the system call, the locking and the arithmetic around the counter
	NoClock Part = ""        // it reads no clock
)

// vdsoReads is why the vDSO's functions count, and why their part is not the counter alone.
const vdsoReads = "reads the counter and computes the time, without entering the kernel; under a clocksource that user code cannot read, only the way into the system call"

// Where a function with a name that means a clock has to lie, since names are anybody's.
const (
	inKernel   = "kernel"
	inVDSO     = "vdso"
	inVsyscall = "vsyscall"
	inLibC     = "libc" // an object called libc or ld-musl: the name is a common word
	inUser     = "user"
)

// ClockSymbol is a function, or with a star at its end a family of them, that
// counts as reading a clock.
type ClockSymbol struct {
	Name  string `json:"name"`
	Where string `json:"where"` // kernel, vdso, vsyscall, libc or user
	Part  Part   `json:"part"`
	Why   string `json:"why"`
}

// ClockSymbols returns what counts as reading a clock; of several that fit a
// function the first counts. Not in it are the scheduler's own clock (sched_clock, local_clock), which
// no clocksource changes, clocks of CPU time, the keeping of the time at each tick, and timers.
func ClockSymbols() []ClockSymbol {
	return []ClockSymbol{
		{"read_hpet", inKernel, Counter, "reads the HPET's main counter, a register beyond the processor: about 0.5 to 2 us"},
		{"hpet_readl", inKernel, Counter, "reads a register of the HPET"},
		{"acpi_pm_read*", inKernel, Counter, "reads the port of the ACPI PM timer: 0.5 to 3 us, three times that where the chip needs it"},
		{"read_tsc", inKernel, Counter, "reads the TSC"},
		{"rdtsc_ordered", inKernel, Counter, "reads the TSC"},
		{"kvm_clock_read", inKernel, Counter, "kvm-clock: the TSC with the hypervisor's scale"},
		{"kvm_clock_get_cycles", inKernel, Counter, "kvm-clock: the TSC with the hypervisor's scale"},
		{"pvclock_clocksource_read*", inKernel, Counter, "kvm-clock and Xen: the TSC with the hypervisor's scale; the scheduler's clock may come this way, too"},
		{"xen_clocksource_read", inKernel, Counter, "Xen's clock: the TSC with the hypervisor's scale"},
		{"xen_clocksource_get_cycles", inKernel, Counter, "Xen's clock: the TSC with the hypervisor's scale"},
		{"read_hv_clock_tsc*", inKernel, Counter, "Hyper-V's TSC page: the TSC with the hypervisor's scale"},
		{"read_hv_clock_msr*", inKernel, Counter, "Hyper-V's counter by a model-specific register: each read leaves the guest"},
		{"hv_read_tsc_page*", inKernel, Counter, "Hyper-V's TSC page: the TSC with the hypervisor's scale"},
		{"uv_read_rtc", inKernel, Counter, "reads the clock that the nodes of an SGI UV share"},
		{"i8253_read", inKernel, Counter, "reads the PIT by three port accesses: some us"},
		{"pit_read", inKernel, Counter, "reads the PIT by port accesses: some us"},
		{"jiffies_read", inKernel, Counter, "reads the tick counter, the clocksource of last resort"},
		{"arch_counter_*", inKernel, Counter, "reads the architected counter of ARM"},
		{"clocksource_mmio_*", inKernel, Counter, "reads a counter of the system on the chip"},
		{"riscv_clocksource_rdtime", inKernel, Counter, "reads the time counter of RISC-V"},
		{"timebase_read", inKernel, Counter, "reads the time base of POWER"},

		{"ktime_get_update_offsets_now", inKernel, Around, "the time for the timers of an interrupt: the counter's price is paid once each"},
		{"ktime_get*", inKernel, Around, "computes the time from the counter, for the kernel's own use and for system calls; newer kernels may read the TSC within it"},
		{"getnstimeofday64", inKernel, Around, "computes the time of day from the counter, in older kernels"},
		{"do_gettimeofday", inKernel, Around, "computes the time of day from the counter, in older kernels"},
		{"timekeeping_get_*", inKernel, Around, "turns cycles into nanoseconds"},
		{"timekeeping_cycles_to_ns", inKernel, Around, "turns cycles into nanoseconds"},
		{"timekeeping_delta_to_ns", inKernel, Around, "turns cycles into nanoseconds"},
		{"tk_clock_read", inKernel, Around, "calls the clocksource's read function"},
		{"posix_get_*", inKernel, Around, "chooses the clock of clock_gettime"},
		{"__x64_sys_clock_gettime*", inKernel, Around, "the system call: the vDSO could not answer"},
		{"__x64_sys_gettimeofday", inKernel, Around, "the system call: the vDSO could not answer"},
		{"__x64_sys_time", inKernel, Around, "the system call"},
		{"__ia32_sys_clock_gettime*", inKernel, Around, "the system call, of a 32-bit program"},
		{"__ia32_sys_gettimeofday", inKernel, Around, "the system call, of a 32-bit program"},
		{"__ia32_compat_sys_gettimeofday", inKernel, Around, "the system call, of a 32-bit program"},
		{"__arm64_sys_clock_gettime*", inKernel, Around, "the system call: the vDSO could not answer"},
		{"__arm64_sys_gettimeofday", inKernel, Around, "the system call: the vDSO could not answer"},
		{"__do_sys_clock_gettime*", inKernel, Around, "the system call"},
		{"__do_sys_gettimeofday", inKernel, Around, "the system call"},
		{"__se_sys_clock_gettime*", inKernel, Around, "the system call"},
		{"__se_sys_gettimeofday", inKernel, Around, "the system call"},
		{"sys_clock_gettime", inKernel, Around, "the system call, before 4.17"},
		{"sys_gettimeofday", inKernel, Around, "the system call, before 4.17"},
		{"SyS_clock_gettime", inKernel, Around, "the system call, before 4.17"},
		{"SyS_gettimeofday", inKernel, Around, "the system call, before 4.17"},

		{"__vdso_getcpu", inVDSO, NoClock, "tells the CPU"},
		{"__vdso_getrandom", inVDSO, NoClock, "makes random numbers"},
		{"getcpu", inVDSO, NoClock, "tells the CPU"},
		{"getrandom", inVDSO, NoClock, "makes random numbers"},
		{"__vdso_sgx_enter_enclave", inVDSO, NoClock, "enters an enclave"},
		{"__kernel_rt_sigreturn", inVDSO, NoClock, "ends a signal handler"},
		{"__kernel_sigreturn", inVDSO, NoClock, "ends a signal handler"},
		{"__kernel_vsyscall", inVDSO, NoClock, "enters the kernel, for any system call of a 32-bit program"},
		{"__vdso_clock_gettime*", inVDSO, Inlined, vdsoReads},
		{"__vdso_gettimeofday", inVDSO, Inlined, vdsoReads},
		{"__vdso_time", inVDSO, Inlined, "tells the second of the last tick"},
		{"__kernel_clock_gettime", inVDSO, Inlined, vdsoReads},
		{"__kernel_gettimeofday", inVDSO, Inlined, vdsoReads},
		{"*", inVDSO, Inlined, "code of the vDSO that has no name or a new one: nearly all of the vDSO is there to read clocks"},
		{"getcpu", inVsyscall, NoClock, "tells the CPU"},
		{"*", inVsyscall, Around, "gettimeofday and time of programs built for kernels before the vDSO, by way of a trap"},

		{"clock_gettime", inUser, Around, "the C library's function, which calls the vDSO"},
		{"clock_gettime64", inUser, Around, "the C library's function, which calls the vDSO"},
		{"__clock_gettime", inUser, Around, "the C library's function, which calls the vDSO"},
		{"__clock_gettime64", inUser, Around, "the C library's function, which calls the vDSO"},
		{"gettimeofday", inUser, Around, "the C library's function, which calls the vDSO"},
		{"__gettimeofday", inUser, Around, "the C library's function, which calls the vDSO"},
		{"__gettimeofday64", inUser, Around, "the C library's function, which calls the vDSO"},
		{"timespec_get", inLibC, Around, "the C library's function, which calls the vDSO"},
		{"ftime", inLibC, Around, "the C library's function, which calls the vDSO"},
		{"time", inLibC, Around, "the C library's function, which calls the vDSO"},
		{"time.now", inUser, Around, "Go's time.Now, which switches stacks and calls the vDSO"},
		{"time.Now", inUser, Around, "Go's time.Now"},
		{"time.Since", inUser, Around, "Go's time.Since"},
		{"time.Until", inUser, Around, "Go's time.Until"},
		{"time.runtimeNano", inUser, Around, "Go's monotonic clock"},
		{"time.runtimeNow", inUser, Around, "Go's clock"},
		{"runtime.nanotime*", inUser, Around, "Go's monotonic clock, also of its scheduler"},
		{"runtime.walltime*", inUser, Around, "Go's wall clock"},
		{"_ZNSt6chrono3_V212system_clock3nowEv", inUser, Around, "C++: std::chrono::system_clock::now"},
		{"_ZNSt6chrono3_V212steady_clock3nowEv", inUser, Around, "C++: std::chrono::steady_clock::now"},
		{"_ZNSt3__16chrono12system_clock3nowEv", inUser, Around, "C++ (LLVM): std::chrono::system_clock::now"},
		{"_ZNSt3__16chrono12steady_clock3nowEv", inUser, Around, "C++ (LLVM): std::chrono::steady_clock::now"},
		{"_ZN3std4time7Instant3now*", inUser, Around, "Rust: Instant::now"},
		{"_ZN3std4time10SystemTime3now*", inUser, Around, "Rust: SystemTime::now"},
		{"_ZN2os13javaTimeNanosEv", inUser, Around, "Java: System.nanoTime"},
		{"_ZN2os14javaTimeMillisEv", inUser, Around, "Java: System.currentTimeMillis"},
		{"PyTime_*", inUser, Around, "Python's clocks"},
		{"_PyTime_Get*", inUser, Around, "Python's clocks"},
	}
}

// clockIndex finds the clock symbol of a frame fast.
type clockIndex struct {
	exact    map[[2]string]int // place and name
	families []int
	list     []ClockSymbol
}

func newClockIndex() clockIndex {
	x := clockIndex{exact: map[[2]string]int{}, list: ClockSymbols()}
	for i, c := range x.list {
		if strings.HasSuffix(c.Name, "*") {
			x.families = append(x.families, i)
		} else {
			x.exact[[2]string{c.Where, c.Name}] = i
		}
	}
	return x
}

// of returns the clock symbol that a frame counts as, nil where it reads no clock.
func (x clockIndex) of(f Frame) *ClockSymbol {
	name := bareName(f.Symbol)
	places := placesOf(f)
	best := len(x.list)
	for _, place := range places {
		if i, ok := x.exact[[2]string{place, name}]; ok && f.Why == "" {
			best = min(best, i)
		}
		for _, i := range x.families {
			c := &x.list[i]
			// Code without a name can belong to the family of all only.
			if c.Where == place && strings.HasPrefix(name, c.Name[:len(c.Name)-1]) && (f.Why == "" || c.Name == "*") {
				best = min(best, i)
				break
			}
		}
	}
	if best == len(x.list) || x.list[best].Part == NoClock {
		return nil
	}
	return &x.list[best]
}

func placesOf(f Frame) []string {
	switch {
	case f.Kernel:
		return []string{inKernel}
	case f.Object == "[vdso]":
		return []string{inVDSO}
	case f.Object == "[vsyscall]":
		return []string{inVsyscall}
	case strings.HasPrefix(f.Object, "["):
		return nil
	case strings.HasPrefix(f.Object, "libc.") || strings.HasPrefix(f.Object, "libc-") || strings.HasPrefix(f.Object, "ld-musl"):
		return []string{inUser, inLibC}
	}
	return []string{inUser}
}

// bareName takes off what compilers and linkers add to a function's name.
func bareName(name string) string {
	name, _, _ = strings.Cut(name, "@")
	for _, mark := range []string{".constprop.", ".isra.", ".part.", ".cold", ".llvm.", ".abi0", ".lto_priv."} {
		if before, _, cut := strings.Cut(name, mark); cut {
			name = before
		}
	}
	return name
}

// interrupts tells the kernel's functions through which an interrupt comes. What runs in one
// was not asked for by the code that it interrupted.
func interrupts(f Frame) bool {
	if !f.Kernel {
		return false
	}
	switch name := bareName(f.Symbol); {
	case strings.HasPrefix(name, "asm_sysvec_"), strings.HasPrefix(name, "asm_common_interrupt"), strings.HasPrefix(name, "asm_exc_"),
		strings.HasPrefix(name, "asm_fred_"), strings.HasPrefix(name, "apic_timer_interrupt"):
		return true
	case strings.HasPrefix(name, "el0") || strings.HasPrefix(name, "el1"): // arm64
		return strings.Contains(name, "irq") || strings.Contains(name, "fiq")
	}
	return false
}
