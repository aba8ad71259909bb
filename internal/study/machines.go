package main

import (
	"fmt"
	"strings"

	"github.com/cswatch/cswatch/sim"
)

// rfc is the machine of the request for comments, with some lines replaced.
func (s *study) rfc(replace ...string) sim.Model {
	text, err := sim.BuiltinText("e3-1240v5")
	if err != nil {
		s.errs = append(s.errs, err)
		return sim.Model{}
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, r := range replace {
			if k, _, _ := strings.Cut(strings.TrimSpace(r), " "); k == key {
				line = r + "\n"
			}
		}
		out = append(out, line)
	}
	m, err := sim.Parse(strings.NewReader(strings.Join(out, "")))
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return m
}

// delayed is the machine with episodes of another delay, in microseconds.
func (s *study) delayed(us int) sim.Model {
	return s.rfc(fmt.Sprintf(" extra normal %dus %dus", us, max(us/100, 1)))
}

// serialised is the machine with episodes in which the TSC is slow to read and the
// reference is not: reads that wait for what other sockets do.
func (s *study) serialised(us int) sim.Model {
	return s.rfc("process episodes slow-clock", fmt.Sprintf(" extra normal %dus %dus", us, max(us/100, 1)))
}

// sound is a machine on which nothing disturbs a check: what is found there is real.
const sound = `machine sound
cpus 8
nodes 2
tsc 3500 MHz calibrated
reference hpet 24 MHz
read uniform 1us 1.4us
from 1s
window 61s
`

func (s *study) sound() sim.Model {
	m, err := sim.Parse(strings.NewReader(sound))
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return m
}
