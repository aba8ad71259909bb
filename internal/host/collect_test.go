package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cswatch/cswatch/machine"
)

func TestSnapshotOfEachMachine(t *testing.T) {
	for _, file := range fixtureFiles(t) {
		f := loadFixture(t, file)
		t.Run(f.name, func(t *testing.T) {
			snap, err := Collect(f.fs(t), f.opt)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, strings.TrimSuffix(file, ".txtar")+".json", snap)
		})
	}
}

// spyFS notes every name that is asked for.
type spyFS struct {
	fs.FS
	asked map[string]bool
}

func (s spyFS) Open(name string) (fs.File, error) { s.asked[name] = true; return s.FS.Open(name) }
func (s spyFS) Stat(name string) (fs.FileInfo, error) {
	s.asked[name] = true
	return fs.Stat(s.FS, name)
}

func TestCollectAsksForAllowedNamesOnly(t *testing.T) {
	for _, file := range fixtureFiles(t) {
		f := loadFixture(t, file)
		spy := spyFS{f.fs(t), make(map[string]bool)}
		if _, err := Collect(spy, f.opt); err != nil {
			t.Fatal(err)
		}
		for name := range spy.asked {
			// The names of processes are looked at for a time daemon, and folders for whether they are there.
			comm := strings.HasPrefix(name, "proc/") && strings.HasSuffix(name, "/comm")
			if useOf(name)&(asFact|asFolder) == 0 && !comm {
				t.Errorf("%s: Collect asked for %q, which is not on the list", f.name, name)
			}
		}
	}
}

func TestUnreadableTellsTheThreeReasonsApart(t *testing.T) {
	const current = clocksourceDir + "/current_clocksource"
	proc := func(m *memFS) { m.put("proc/version", &memNode{data: []byte("Linux version 6.1.0\n")}) }
	for _, tt := range []struct {
		name   string
		kind   string
		deny   []string
		reason string
		howTo  string
	}{
		{"the running machine does not have it", machine.KindLive, nil, machine.ReasonNotThere, "on the host itself"},
		{"the running machine refuses it", machine.KindLive, []string{current}, machine.ReasonPermission, "as root"},
		{"a sosreport lacks it", machine.KindSOS, nil, machine.ReasonNotInArchive, "cswatch collect"},
		{"a copy without /sys lacks it", machine.KindFolder, nil, machine.ReasonNotInArchive, "cswatch collect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemFS()
			proc(m)
			snap, err := Collect(denyFS{m, tt.deny}, Options{Kind: tt.kind})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(snap.Unreadable, func(u machine.Unreadable) bool { return u.What == "/"+current })
			if i < 0 {
				t.Fatalf("%s is not listed as unreadable: %+v", current, snap.Unreadable)
			}
			if u := snap.Unreadable[i]; u.Reason != tt.reason || !strings.Contains(u.HowTo, tt.howTo) {
				t.Errorf("reason %q, how to %q; want %q and %q in it", u.Reason, u.HowTo, tt.reason, tt.howTo)
			}
		})
	}
}

func TestNothingOfAMachineIsAnError(t *testing.T) {
	m := newMemFS()
	m.put("readme.txt", &memNode{data: []byte("hello")})
	if _, err := Collect(m, Options{}); !errors.Is(err, ErrNoMachine) {
		t.Errorf("error %v, want ErrNoMachine", err)
	}
	if _, err := Collect(nil, Options{}); err == nil {
		t.Error("no file system: no error")
	}
}

func TestAbsentParametersAreAFactWhereModulesAreListed(t *testing.T) {
	m := newMemFS()
	m.put("sys/module/printk/parameters/time", &memNode{data: []byte("Y\n")})
	m.put("proc/version", &memNode{data: []byte("Linux version 5.10.0\n")})
	snap, err := Collect(m, Options{Kind: machine.KindLive})
	if err != nil {
		t.Fatal(err)
	}
	if p := snap.Clocksource.Parameters; p == nil || len(p) != 0 {
		t.Errorf("parameters %#v, want an empty map that is not nil", p)
	}
	n := newMemFS()
	n.put("proc/version", &memNode{data: []byte("Linux version 5.10.0\n")})
	if snap, err = Collect(n, Options{Kind: machine.KindLive}); err != nil || snap.Clocksource.Parameters != nil {
		t.Errorf("without /sys/module: parameters %#v (error %v), want nil", snap.Clocksource.Parameters, err)
	}
}

func TestParametersAreBounded(t *testing.T) {
	m := newMemFS()
	for i := range 2 * maxParameters {
		m.put(fmt.Sprintf("%s/p%03d", parametersDir, i), &memNode{data: []byte(strings.Repeat("x", 2*maxParameter))})
	}
	snap, err := Collect(m, Options{Kind: machine.KindLive})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(snap.Clocksource.Parameters); n != maxParameters {
		t.Errorf("%d parameters, want %d", n, maxParameters)
	}
	if n := len(snap.Clocksource.Parameters["p000"]); n != maxParameter {
		t.Errorf("%d bytes of one, want %d", n, maxParameter)
	}
}

func TestAdjtimexThatFailsIsListed(t *testing.T) {
	m := newMemFS()
	m.put("proc/version", &memNode{data: []byte("Linux version 5.10.0\n")})
	opt := Options{Kind: machine.KindLive, Adjtimex: func() (ClockState, error) { return ClockState{}, errors.New("blocked by seccomp") }}
	snap, err := Collect(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	if snap.Time.Synchronised != machine.Unknown {
		t.Errorf("synchronised %s, want unknown", snap.Time.Synchronised)
	}
	if !slices.ContainsFunc(snap.Unreadable, func(u machine.Unreadable) bool {
		return u.What == "adjtimex" && strings.Contains(u.Reason, "seccomp")
	}) {
		t.Errorf("adjtimex is not listed: %+v", snap.Unreadable)
	}
}

func TestACutCPUInfoDoesNotCountPackages(t *testing.T) {
	m := newMemFS()
	line := "processor\t: 0\nphysical id\t: 0\nflags\t\t: tsc lm\n\n"
	m.put("proc/cpuinfo", &memNode{data: []byte(strings.Repeat(line, maxFact/len(line)+2))})
	m.put(cpuDir+"/cpu0/topology/physical_package_id", &memNode{data: []byte("0\n")})
	m.put(cpuDir+"/cpu1/topology/physical_package_id", &memNode{data: []byte("1\n")})
	snap, err := Collect(m, Options{Kind: machine.KindLive})
	if err != nil {
		t.Fatal(err)
	}
	if snap.CPU.Packages != 2 || snap.CPU.Online != 0 {
		t.Errorf("packages %d, online %d; want 2 from the topology, and 0 because the file goes on", snap.CPU.Packages, snap.CPU.Online)
	}
}

func TestHostileTextBecomesPrintable(t *testing.T) {
	m := newMemFS()
	m.put("proc/version", &memNode{data: []byte("Linux version 6.1\x1b[31m\xff (x@y)\n")})
	snap, err := Collect(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(snap.Kernel.Banner) || strings.Contains(snap.Kernel.Banner, "\x1b") || !strings.Contains(snap.Kernel.Banner, "6.1?[31m?") {
		t.Errorf("banner %q", snap.Kernel.Banner)
	}
}
