package load

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what a load does. The zero value is [None].
type Kind string

// The kinds.
const (
	None Kind = "none"
	CPU  Kind = "cpu"
	HPET Kind = "hpet"
	Both Kind = "both"
	Net  Kind = "net"
)

// Kinds returns the kinds, the quietest first.
func Kinds() []Kind { return []Kind{None, CPU, HPET, Both, Net} }

// Sentence says what a load of the kind does, "" for one that does not exist.
func (k Kind) Sentence() string {
	switch k {
	case None, "":
		return "nothing runs but what is there anyway"
	case CPU:
		return "every CPU runs a busy loop"
	case HPET:
		return "every CPU reads the main counter of the HPET in a loop"
	case Both:
		return "every second CPU runs a busy loop and the others read the HPET; a single CPU does both"
	case Net:
		return "a TCP stream runs over the loopback interface"
	}
	return ""
}

// Quiet reports a load that does nothing.
func (k Kind) Quiet() bool { return k == None || k == "" }

// ReadsHPET reports a load whose latency can cost a machine its TSC.
func (k Kind) ReadsHPET() bool { return k == HPET || k == Both }

// Parse reads the word for a kind.
func Parse(word string) (Kind, error) {
	if k := Kind(word); slices.Contains(Kinds(), k) {
		return k, nil
	}
	words := make([]string, len(Kinds()))
	for i, k := range Kinds() {
		words[i] = string(k)
	}
	return "", fmt.Errorf("read a kind of load: %q: want %s", word, strings.Join(words, ", "))
}

// shares returns which of the CPUs loop and which read the HPET.
func (k Kind) shares(cpus []int) (looping, reading []int) {
	switch {
	case k == CPU:
		return cpus, nil
	case k == HPET:
		return nil, cpus
	case k == Both && len(cpus) == 1:
		return cpus, cpus
	case k == Both:
		for i, cpu := range cpus {
			if i%2 == 0 {
				looping = append(looping, cpu)
			} else {
				reading = append(reading, cpu)
			}
		}
	}
	return looping, reading
}
