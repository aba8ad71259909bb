package doctor

// severityOf is the weight of a finding. A kernel that fell back to a slow clock
// is a warning: the machine works and is slow. Critical is what makes time
// itself wrong. States and explanations are information.
func severityOf(id string) Severity {
	switch id {
	case "tsc-frequency-wrong", "option-hides-fault":
		return Critical
	case "check-skipped", "self-test", "not-a-clocksource-event", "normal-on-hypervisor", "verdict-without-effect", "slow-default-clock",
		"tsc-not-watched", "watchdog-disabled-by-option", "latency-can-condemn", "evidence-unreadable",
		"tsc-disabled-by-option", "no-vdso-path", "live-watch", "slow-read-backs":
		return Info
	}
	return Warning
}
