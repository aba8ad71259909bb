package klog

// anchors are texts of which every line that the message table knows contains
// at least one, so that all other lines can be passed over cheaply. Each is
// taken from one word, or from words that no hard wrap is likely to part. A
// test holds them against the table.
func anchors() []string {
	return []string{
		// clocksource core and watchdog
		"locksource", "Marking", "wd_nsec", "wd_now", "' wd_", "' cs_", "cs_nsec", "cs_now", "wd2_n",
		"read-back", "retried", "is current", "No current", "Long readout", "watchdog_max", "coarse-", "ahead of", "behind CPU",
		"check durations", " interval:", "(cycles)", "remote CPU", "read timed", "deprecated",
		"Cycle offset", "Adjusting", "high resolution", "one-shot", "lost ticks", "Losing", "time source",
		// TSC
		"Measured", "synchroni", "TSC warp", "TSC ADJUST", "TSC found", "TSC freq", "calibrat", "Detected",
		"CPUID[", "No reference", "tsc_setup", "CONFIG_X86_TSC", "sched_clock", "async resets",
		// other clocks
		"comparators", "HPET", "PM-Timer", "kvm-clock",
		// the machine
		"Linux version", "ommand line", "ypervisor", "paravirtualized", "Hyper-V", "Xen version", "vmware:", "z/VM", "under KVM",
		"DMI: ", "Machine model", "natively", "smpboot: CPU0", "CPU0: Intel", "CPU0: AMD", "Loongson", "physical CPU", "Brought up",
		// trouble elsewhere
		"wdtest", "read_hpet", "lockup", "LOCKUP", " stall", "starved for", "blocked for more", "hung_task", "interrupt took", "Hangcheck",
		"RT throttling", "rtc interrupts", "CE memory", "UE memory", "Machine Check", "Hardware e", "Hardware E", "NVRM: Xid", "0xa5a5", "wake NIC",
		"Microcode SW", "AER: Uncorr", "downloading firm", "GPU HANG", "vboxdrv", "controller is down",
		"suspend e", "hibernation e", "system sleep state", "Syncing filesystems", "Finishing wakeup", "resume of devices",
		"non-boot CPUs", "hotplugged", "hot-added", "CoreFreq", "unrecognized MSR", "undervolt", "ThrottleStop", "zenstates", "machine fork",
		// look-alikes
		"NMI watchdog", "TSC deadline", "TSC scaling", "TSC mode", "watchdog_lock", "iTCO_wdt", "softdog", "did not stop",
		// time daemons
		"exceeds", "clock wrong", "stepped by", "time reset", "clock jumped", "Time jumped",
	}
}

// filter finds any of many texts in a line, looking at about one byte in
// three: the algorithm of Wu and Manber with blocks of two bytes.
type filter struct {
	shift   [1 << 16]uint8 // by how much the window may move on when it ends in these two bytes
	bucket  [1 << 16]uint8 // where shift is 0: index into buckets
	buckets [][]string     // the texts whose window ends in these two bytes
	window  int            // length of the shortest text
}

// knownAnchors is the filter that every reader uses. Nothing writes to it.
var knownAnchors = newFilter(anchors())

func newFilter(texts []string) *filter {
	f := &filter{window: len(texts[0])}
	for _, t := range texts {
		f.window = min(f.window, len(t))
	}
	for i := range f.shift {
		f.shift[i] = uint8(f.window - 1)
	}
	for _, t := range texts {
		for end := 2; end <= f.window; end++ {
			b := block(t[end-2], t[end-1])
			f.shift[b] = min(f.shift[b], uint8(f.window-end))
		}
		b := block(t[f.window-2], t[f.window-1])
		if f.bucket[b] == 0 {
			f.buckets = append(f.buckets, nil)
			f.bucket[b] = uint8(len(f.buckets))
		}
		i := f.bucket[b] - 1
		f.buckets[i] = append(f.buckets[i], t)
	}
	return f
}

func block(a, b byte) int { return int(a)<<8 | int(b) }

// match reports whether the line contains one of the texts.
func (f *filter) match(line []byte) bool {
	for end := f.window - 1; end < len(line); {
		b := block(line[end-1], line[end])
		if s := f.shift[b]; s > 0 {
			end += int(s)
			continue
		}
		start := end - f.window + 1
		for _, t := range f.buckets[f.bucket[b]-1] {
			if len(line)-start >= len(t) && string(line[start:start+len(t)]) == t {
				return true
			}
		}
		end++
	}
	return false
}
