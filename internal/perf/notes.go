package perf

import "fmt"

// notes says what makes a profile worth less than it looks.
func (t *tally) notes(p *Profile, c Config, kernelErr error) []Note {
	var notes []Note
	add := func(id, format string, args ...any) { notes = append(notes, Note{id, fmt.Sprintf(format, args...)}) }
	total := p.Total().Samples
	if len(p.Attempts) > 1 {
		add("fallback", "%s", Got(p.Attempts))
	}
	if p.UserOnly && !c.UserOnly {
		add("user-only", "the kernel's own code is not in the profile: sampling it was refused, so that what system calls cost, such as reading a slow clock, is missing")
	}
	if !p.Event.Hardware() {
		add("timer-event", "%s samples %s", p.Event, p.Event.Sentence())
	}
	if total == 0 {
		add("no-samples", "no sample was taken: nothing that was looked at ran")
	}
	if t.lost > 0 {
		add("lost", "the kernel had no room for %d records, most of them samples, beside %d samples that were read: take fewer samples a second, or no call chains", t.lost, total)
	}
	if t.throttled > 0 {
		add("throttled", "the kernel paused the sampling %d times, because it took too much time: busy moments are underrated (kernel.perf_event_max_sample_rate, kernel.perf_cpu_time_max_percent)", t.throttled)
	}
	if t.unread > 0 {
		add("unread", "%d records could not be read", t.unread)
	}
	if t.shortened > t.others {
		add("shortened", "%d samples have lost all but their innermost function, because more different call chains were seen than there is room for", t.shortened-t.others)
	}
	if t.others > 0 {
		add("crowded", "%d samples are counted as [others], because more different places were seen than there is room for", t.others)
	}
	if t.space.dropped > 0 {
		add("mappings-dropped", "%d mappings, files or threads were left out, because there were more than there is room for: some code has no name", t.space.dropped)
	}
	if kernelErr != nil && !p.UserOnly {
		add("no-kernel-names", "the kernel's functions have no names, so that clocks read there are not counted as such, and all that an idle CPU did counts as idleness: %v", kernelErr)
	}
	return notes
}
