package load

// Work is how much a load did.
type Work struct {
	Kind Kind `json:"kind"`
	// DrivenNS is the time from the start of the load to its end.
	DrivenNS int64 `json:"driven_ns"`
	// LoopingCPUs and ReadingCPUs count the CPUs that ran a busy loop and those that read the HPET.
	LoopingCPUs int    `json:"looping_cpus"`
	ReadingCPUs int    `json:"reading_cpus"`
	Loops       uint64 `json:"loops"` // turns of the busy loops
	Reads       uint64 `json:"reads"` // of the HPET's counter
	Bytes       uint64 `json:"bytes"` // that arrived over loopback
}

// Idle names the parts of the load's kind that did nothing, nil if there are none.
func (w Work) Idle() []string {
	var idle []string
	if (w.Kind == CPU || w.Kind == Both) && w.Loops == 0 {
		idle = append(idle, "no CPU ran a busy loop")
	}
	if w.Kind.ReadsHPET() && w.Reads == 0 {
		idle = append(idle, "no CPU read the HPET")
	}
	if w.Kind == Net && w.Bytes == 0 {
		idle = append(idle, "no byte arrived over loopback")
	}
	return idle
}
