package perf

import (
	"path"
	"strings"
)

// kind is what code lies in.
type kind uint8

const (
	kindKernel     kind = iota // the kernel and its modules: addresses
	kindFile                   // a file: offsets in it
	kindVDSO                   // the code that the kernel gives to every process: offsets in it
	kindVsyscall               // its predecessor at a fixed address: offsets in it
	kindAnon                   // memory without a file: compiled just in time
	kindUnmapped               // no mapping is known at the address
	kindHypervisor             // a hypervisor, above or below
	kindGuest                  // a virtual machine that runs here
	kindCrowded                // left out, for want of room
)

// object is something that code lies in. Comparable: equal ones are one.
type object struct {
	kind          kind
	name          string // the path of a file, as the process that mapped it sees it
	device, inode uint64
	length        uint64 // of a vDSO
}

// objectOf tells what a mapping maps.
func objectOf(m Mapping) object {
	switch {
	case m.Name == "[vdso]":
		return object{kind: kindVDSO, name: m.Name, length: m.Length}
	case m.Name == "[vsyscall]":
		return object{kind: kindVsyscall, name: m.Name}
	case strings.HasPrefix(m.Name, "/") && !strings.HasPrefix(m.Name, "//") && !madeUp(m.Name):
		return object{kind: kindFile, name: m.Name, device: m.Device, inode: m.Inode}
	}
	return object{kind: kindAnon, name: "[anon]"}
}

// madeUp tells the names of files that never were on a disk: shared anonymous
// memory, System V memory and huge pages. A memfd can hold a whole program, and is opened by way of /proc.
func madeUp(name string) bool {
	return name == "/dev/zero (deleted)" || name == "/dev/zero" ||
		strings.HasPrefix(name, "/SYSV") || strings.HasPrefix(name, "/anon_hugepage")
}

// shown is the name that a table shows: of a file that without its folder.
func (o object) shown() string {
	switch o.kind {
	case kindKernel:
		return "[kernel]"
	case kindFile:
		return path.Base(strings.TrimSuffix(o.name, " (deleted)"))
	case kindUnmapped:
		return "[unknown]"
	case kindHypervisor:
		return "[hypervisor]"
	case kindGuest:
		return "[guest]"
	case kindCrowded:
		return "[others]"
	}
	return o.name
}

// nameless says why code in an object of the kind never has a symbol, "" where it can have one.
func (k kind) nameless() string {
	switch k {
	case kindAnon:
		return "memory without a file, as compilers that run just in time use it: its names are known to that program alone"
	case kindUnmapped:
		return "no mapping is known at the address: the process ended before its mappings could be read, reading them was refused, or they were lost"
	case kindHypervisor:
		return "code of a hypervisor, whose names this kernel does not know"
	case kindGuest:
		return "code of a virtual machine that runs on this one: profile within it"
	case kindCrowded:
		return "more different places were seen than a profile has room for"
	}
	return ""
}

// place is an address within an object; 0 where the object has no names anyway.
type place struct {
	object  int32 // an index into the objects of the space
	address uint64
}
