package clocksource

// Known is what the drivers say of a clock.
type Known struct {
	Name   string        `json:"name"`
	Rating int           `json:"rating"`
	Other  []OtherRating `json:"other_ratings,omitempty"`
	Mask   Mask          `json:"-"`
	Flags  Flags         `json:"flags"` // of the newest releases; [Rules.Source] takes away what a release has not
	Hz     Hz            `json:"frequency_hz,omitzero"`
	Given  Conversion    `json:"-"` // mult and shift of a clock that is registered without a frequency
	Ticks  bool          `json:"ticks,omitzero"`
	Note   string        `json:"note,omitempty"`
	From   string        `json:"source"` // why the rating is believed
}

// OtherRating is a rating that a clock has in some cases.
type OtherRating struct {
	Rating int    `json:"rating"`
	When   string `json:"when"`
}

// Ranges of ratings, as drivers are advised to choose them. Higher ones than
// 499 exist.
const (
	RatingBoot    = 1   // 1 to 99: for booting and testing only
	RatingBase    = 100 // 100 to 199: works, if need be
	RatingGood    = 200 // 200 to 299: correct and usable
	RatingDesired = 300 // 300 to 399: fast and precise
	RatingPerfect = 400 // 400 to 499: the one to use where it is there
)

// KnownClocks returns the clocks whose ratings are known, grouped by where
// they are found: ticks, PC, guests, other architectures, tests. None of them
// but the TSC's is watched. Flags that depend on the machine are not set.
func KnownClocks() []Known {
	const read = "read in kernel sources"
	const read734 = "read in 7.3.4"
	const partly = "read in part; values marked so are from memory"
	return []Known{
		{Name: "jiffies", Rating: 1, Mask: Mask32, Ticks: true, Note: "counts timer interrupts; not continuous", From: read},
		{Name: "refined-jiffies", Rating: 2, Mask: Mask32, Ticks: true, Note: "the same with the exact length of a tick", From: read},

		{Name: "pit", Rating: 110, Mask: Mask32, Flags: IsContinuous, Hz: PITHz, Note: "only on nearly uniprocessor 32 bit systems, or without HPET and APIC (from memory)", From: read734},
		{Name: "acpi_pm", Rating: 200, Mask: Mask24, Flags: IsContinuous | Calibrated, Hz: 3_579_545,
			Other: []OtherRating{{120, "the chipset needs every read three times"}}, From: read},
		{Name: "hpet", Rating: 250, Mask: Mask32, Flags: IsContinuous | Calibrated, Note: "32 bits are used of a 64 bit one too", From: read},
		{Name: "tsc-early", Rating: 299, Mask: Mask64, Flags: IsContinuous | MustVerify, Note: "4.16 and later, until tsc is registered", From: "read in 5.4 to 7.3; absent in 4.15"},
		{Name: "tsc", Rating: 300, Mask: Mask64, Flags: IsContinuous | MustVerify, From: read},
		{Name: "sgi_rtc", Rating: 299, Mask: Mask56, Flags: IsContinuous, Other: []OtherRating{{400, "earlier releases (from memory)"}}, Note: "SGI UV; the width is from memory", From: read734},
		{Name: "numachip2", Rating: 295, Mask: Mask64, Flags: IsContinuous, Hz: 1_000_000_000, Note: "the rate is from memory", From: read734},
		{Name: "scx200_hrt", Rating: 250, Mask: Mask32, Flags: IsContinuous, Note: "Geode", From: read},

		{Name: "kvm-clock", Rating: 400, Mask: Mask64, Flags: IsContinuous, Hz: 1_000_000_000,
			Other: []OtherRating{{299, "the TSC is constant, nonstop and not yet marked unstable"}}, From: read734},
		{Name: "hyperv_clocksource_tsc_page", Rating: 500, Mask: Mask64, Flags: IsContinuous, Hz: 10_000_000,
			Other: []OtherRating{{250, "an invariant TSC is offered, or this is the root partition"}, {400, "the first releases (from memory)"}}, From: read734},
		{Name: "hyperv_clocksource_msr", Rating: 495, Mask: Mask64, Flags: IsContinuous, Hz: 10_000_000,
			Other: []OtherRating{{245, "an invariant TSC is offered, or this is the root partition"}, {400, "the first releases (from memory)"}}, From: read734},
		{Name: "xen", Rating: 400, Mask: Mask64, Flags: IsContinuous, Hz: 1_000_000_000,
			Other: []OtherRating{{299, "a good TSC is preferred"}, {275, "a good TSC is preferred"}}, From: read734},

		{Name: "arch_sys_counter", Rating: 400, Mask: Mask56, Flags: IsContinuous, Note: "ARM", From: read},
		{Name: "arm_global_timer", Rating: 300, Mask: Mask64, Flags: IsContinuous, Note: "ARM", From: read},
		{Name: "riscv_clocksource", Rating: 400, Mask: Mask64, Flags: IsContinuous, Other: []OtherRating{{300, "earlier releases (from memory)"}}, From: read734},
		{Name: "timebase", Rating: 400, Mask: Mask64, Flags: IsContinuous, Note: "PowerPC", From: read734},
		{Name: "tod", Rating: 400, Mask: Mask64, Flags: IsContinuous, Hz: 4_096_000_000, Given: Conversion{Mult: 1000, Shift: 12}, Note: "s390", From: read},
		{Name: "cr16", Rating: 300, Mask: Mask64, Flags: IsContinuous, Note: "PA-RISC; 32 bits on 32 bit kernels (from memory)", From: read},
		{Name: "Constant", Rating: 400, Mask: Mask64, Flags: IsContinuous, Note: "LoongArch", From: read},
		{Name: "stick", Rating: 100, Mask: Mask64, Flags: IsContinuous, Note: "SPARC", From: read},
		{Name: "tick", Rating: 100, Mask: Mask64, Flags: IsContinuous, Note: "SPARC", From: read},
		{Name: "MIPS", Rating: 200, Mask: Mask32, Flags: IsContinuous, Note: "200 and one more for each 10 MHz; see MIPSRating", From: partly},

		{Name: "wdtest-ktime", Rating: 10, Mask: Mask64, Flags: IsContinuous | Calibrated | MustVerify | WDTest, Hz: 1_000_000_000,
			Other: []OtherRating{{300, "5.14 to 7.0, where it has no test flag and is fit for oneshot mode"}}, Note: "the kernel's own watchdog test", From: read},
	}
}

// KnownClock returns the entry of the named clock.
func KnownClock(name string) (Known, bool) {
	for _, k := range KnownClocks() {
		if k.Name == name {
			return k, true
		}
	}
	return Known{}, false
}

// MIPSRating returns the rating of the counter of MIPS processors, which grows with its frequency.
func MIPSRating(f Hz) int { return 200 + int(min(f/10_000_000, 1_000_000)) }
