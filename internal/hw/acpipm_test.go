package hw

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// table reads a FADT from its hexadecimal dump.
func table(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// extended is a FADT of 220 bytes whose 64 bit address of the PM timer is in that space.
func extended(t testing.TB, space byte, address uint64) []byte {
	b := append(table(t, "fadt-pc.hex"), make([]byte, 220)...)[:220]
	b[fadtExtPMTimer] = space
	binary.LittleEndian.PutUint64(b[fadtExtPMTimerAddr:], address)
	return b
}

func TestPortOfThePMTimerIsReadFromTheTable(t *testing.T) {
	noTimer := table(t, "fadt-pc.hex")
	noTimer[fadtPMTimerLength] = 0
	for _, tt := range []struct {
		name   string
		table  []byte
		port   uint16
		absent bool   // the error is a *NotHere
		want   string // in the error
	}{
		{"QEMU's pc has it at 0x608", table(t, "fadt-pc.hex"), 0x608, false, ""},
		{"the 64 bit address comes before the 32 bit one", extended(t, spacePort, 0x1808), 0x1808, false, ""},
		{"a 64 bit address of 0 counts as none", extended(t, spacePort, 0), 0x608, false, ""},
		{"Firecracker declares hardware-reduced ACPI", table(t, "fadt-hardware-reduced.hex"), 0, true, "hardware-reduced"},
		{"a length of 0 is no timer", noTimer, 0, true, "names no PM timer"},
		{"a timer in memory is out of reach", extended(t, spaceMemory, 0xfed40000), 0, true, "into memory"},
		{"an address beyond the ports is no port", extended(t, spacePort, 0x10000), 0, false, "0x10000 is no I/O port"},
		{"another table is refused", []byte(strings.Repeat("APIC", 40)), 0, false, "not a FADT"},
		{"a table that was cut is refused", table(t, "fadt-pc.hex")[:80], 0, false, "not a FADT"},
		{"nothing is refused", nil, 0, false, "not a FADT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			port, err := pmTimerPort(tt.table)
			var n *NotHere
			if port != tt.port || (err == nil) != (tt.want == "") || errors.As(err, &n) != tt.absent {
				t.Fatalf("port %#x, error %v; want %#x, absent %v", port, err, tt.port, tt.absent)
			}
			if err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}

func FuzzPMTimerPort(f *testing.F) {
	f.Add(table(f, "fadt-pc.hex"))
	f.Add(table(f, "fadt-hardware-reduced.hex"))
	f.Add(extended(f, spacePort, 0x1808))
	f.Fuzz(func(t *testing.T, b []byte) {
		port, err := pmTimerPort(b)
		if (err == nil) == (port == 0) {
			t.Errorf("port %#x with error %v: want one of them", port, err)
		}
		if port > 0xfffc {
			t.Errorf("port %#x has no three ports behind it", port)
		}
	})
}

func TestPortOfThePMTimerIsFoundInIOPorts(t *testing.T) {
	real, err := os.ReadFile("testdata/ioports.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		port       uint16
	}{
		{"a PC names it", string(real), 0x608},
		{"without privilege all addresses are 0", "0000-0000 : ACPI PM_TMR\n", 0},
		{"another ACPI block is not it", "0600-0603 : ACPI PM1a_EVT_BLK\n", 0},
		{"what is no number is not it", "zzzz-ffff : ACPI PM_TMR\n", 0},
		{"the last ports cannot hold it", "ffff-ffff : ACPI PM_TMR\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if port, ok := pmTimerIOPorts(tt.text); port != tt.port || ok != (tt.port != 0) {
				t.Errorf("port %#x, %v; want %#x", port, ok, tt.port)
			}
		})
	}
}

func TestPMTimerIsLookedForInBothPlaces(t *testing.T) {
	if !hasPorts {
		t.Skip("this architecture has no I/O ports")
	}
	ioports, err := os.ReadFile("testdata/ioports.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		files  files
		port   uint16
		from   string
		unsure bool
		want   string
	}{
		{"the table is believed first", files{fadtPath: extended(t, spacePort, 0x1808), ioportsPath: ioports}, 0x1808, fadtPath, false, ""},
		{"without the table the kernel's list tells", files{ioportsPath: ioports}, 0x608, ioportsPath, false, ""},
		{"a table that says no is not overruled", files{fadtPath: table(t, "fadt-hardware-reduced.hex"), ioportsPath: ioports}, 0, "", false, "hardware-reduced"},
		{"a table that cannot be understood leaves the list", files{fadtPath: []byte("FACP"), ioportsPath: ioports}, 0x608, ioportsPath, false, ""},
		{"neither place says anything", files{ioportsPath: nil}, 0, "", true, "names no PM timer"},
		{"nothing can be read", files{}, 0, "", true, "run as root"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			port, from, err := findPMTimer(tt.files.read)
			if port != tt.port || from != tt.from || (err == nil) != (tt.want == "") {
				t.Fatalf("port %#x from %q, error %v; want %#x from %q", port, from, err, tt.port, tt.from)
			}
			var n *NotHere
			if err != nil && (!errors.As(err, &n) || n.Unsure != tt.unsure || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want unsure %v and %q", err, tt.unsure, tt.want)
			}
		})
	}
}

// files is a file system of whole files.
type files map[string][]byte

func (f files) read(name string) ([]byte, error) {
	if b, ok := f[name]; ok {
		return b, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
