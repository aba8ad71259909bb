package perf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mapping(pid int32, start, length, offset uint64, name string) Mapping {
	return Mapping{Stamp: Stamp{PID: pid, TID: pid}, Start: start, Length: length, Offset: offset, Device: 1, Inode: 2, Name: name}
}

// at tells the object and the address in it, as a text.
func (s *space) at(pid int32, ip uint64) (string, uint64) {
	p, _ := s.find(pid, ip)
	return s.objects[p.object].shown(), p.address
}

func TestAddressesAreFoundInTheMappingThatWasThereLast(t *testing.T) {
	s := newSpace()
	for _, m := range []Mapping{
		mapping(1, 0x1000, 0x4000, 0, "/bin/a"),
		mapping(1, 0x8000, 0x1000, 0x7000, "/lib/b"),
		mapping(1, 0x2000, 0x1000, 0x100000, "/lib/c"), // in the middle of a
		mapping(1, 0x9000, 0x1000, 0x9, "//anon"),
		mapping(1, 0xa000, 0x2000, 0, "[vdso]"),
		mapping(1, 0xfffffffffffff000, 0x1000, 0, "[vsyscall]"), // ends at 2^64: left out
	} {
		s.learn(m)
	}
	for _, tt := range []struct {
		ip     uint64
		object string
		offset uint64
	}{
		{0x0fff, "[unknown]", 0},
		{0x1000, "a", 0},
		{0x1fff, "a", 0xfff},
		{0x2000, "c", 0x100000},
		{0x3000, "a", 0x2000},
		{0x4fff, "a", 0x3fff},
		{0x5000, "[unknown]", 0},
		{0x8010, "b", 0x7010},
		{0x9010, "[anon]", 0},
		{0xa123, "[vdso]", 0x123},
		{0xfffffffffffff010, "[unknown]", 0},
	} {
		if object, offset := s.at(1, tt.ip); object != tt.object || offset != tt.offset {
			t.Errorf("%#x: %s+%#x, want %s+%#x", tt.ip, object, offset, tt.object, tt.offset)
		}
	}
	if object, _ := s.at(2, 0x1000); object != "[unknown]" {
		t.Errorf("an unknown process has %s at its address", object)
	}
	s.learn(mapping(1, 0, 0x20000, 0, "/bin/everything"))
	if object, offset := s.at(1, 0x2000); object != "everything" || offset != 0x2000 || len(s.maps[1].list) != 1 {
		t.Errorf("a mapping over all: %s+%#x of %d mappings", object, offset, len(s.maps[1].list))
	}
}

func TestProcessesInheritAndReplaceTheirMappings(t *testing.T) {
	s := newSpace()
	stamp := func(pid, tid int32) Stamp { return Stamp{PID: pid, TID: tid} }
	s.learn(Naming{stamp(1, 1), "shell", false})
	s.learn(mapping(1, 0x1000, 0x1000, 0, "/bin/sh"))
	s.learn(Birth{stamp(2, 2), 1, 1})
	s.learn(mapping(2, 0x3000, 0x1000, 0, "/lib/child"))
	if object, _ := s.at(2, 0x1000); object != "sh" {
		t.Errorf("the child has %s, want what its parent has", object)
	}
	if object, _ := s.at(1, 0x3000); object != "[unknown]" {
		t.Errorf("the parent has %s of its child's", object)
	}
	s.learn(mapping(1, 0x5000, 0x1000, 0, "/lib/parent"))
	if object, _ := s.at(2, 0x5000); object != "[unknown]" {
		t.Errorf("the child has %s that its parent mapped later", object)
	}
	if got := s.command(2, 2); got != "shell" {
		t.Errorf("the child is called %s", got)
	}
	s.learn(Naming{stamp(2, 2), "ls", true})
	s.learn(mapping(2, 0x1000, 0x1000, 0, "/bin/ls"))
	if object, _ := s.at(2, 0x1000); object != "ls" || s.command(2, 2) != "ls" {
		t.Errorf("after exec: %s in %s", s.command(2, 2), object)
	}
	if object, _ := s.at(2, 0x3000); object != "[unknown]" {
		t.Errorf("after exec there still is %s", object)
	}
	s.learn(Birth{stamp(2, 3), 2, 2})
	s.learn(Naming{stamp(2, 3), "worker", false})
	s.learn(Exit{stamp(2, 3)})
	for _, tt := range []struct {
		pid, tid int32
		want     string
	}{{2, 3, "worker"}, {2, 4, "ls"}, {0, 0, "swapper"}, {-1, -1, "[ended]"}, {77, 78, "[unknown]"}} {
		if got := s.command(tt.pid, tt.tid); got != tt.want {
			t.Errorf("thread %d of process %d is called %s, want %s", tt.tid, tt.pid, got, tt.want)
		}
	}
}

func TestEndedThreadsAreForgottenInTheEnd(t *testing.T) {
	s := newSpace()
	for i := int32(1); i <= 3*maxDead; i++ {
		s.learn(Naming{Stamp{PID: i, TID: i}, "short", false})
		s.learn(mapping(i, 0x1000, 0x1000, 0, "/bin/true"))
		s.learn(Exit{Stamp{PID: i, TID: i}})
	}
	if len(s.threads) > maxDead+1 || len(s.maps) > maxDead+1 {
		t.Errorf("%d threads and %d processes are remembered, want at most %d", len(s.threads), len(s.maps), maxDead)
	}
	if len(s.objects) != len(lasting)+1 {
		t.Errorf("%d objects for one file", len(s.objects)-len(lasting))
	}
}

func TestACompilerThatMapsWithoutEndIsBounded(t *testing.T) {
	s := newSpace()
	for i := range uint64(maxMappingsEach + 100) {
		s.learn(mapping(1, 0x1000*(2*i+1), 0x1000, 0, "//anon"))
	}
	if n := len(s.maps[1].list); n > maxMappingsEach || s.dropped < 100 {
		t.Errorf("%d mappings, %d dropped", n, s.dropped)
	}
}

func TestFilesAndMemoryAreTold(t *testing.T) {
	for name, want := range map[string]kind{
		"/usr/bin/x":                kindFile,
		"/usr/bin/x (deleted)":      kindFile,
		"/memfd:program (deleted)":  kindFile,
		"//anon":                    kindAnon,
		"":                          kindAnon,
		"[heap]":                    kindAnon,
		"[stack]":                   kindAnon,
		"/dev/zero (deleted)":       kindAnon,
		"/SYSV00000000 (deleted)":   kindAnon,
		"/anon_hugepage (deleted)":  kindAnon,
		"[anon:dalvik-jit-code]":    kindAnon,
		"[vdso]":                    kindVDSO,
		"[vsyscall]":                kindVsyscall,
		"relative or anything else": kindAnon,
	} {
		if got := objectOf(Mapping{Name: name}).kind; got != want {
			t.Errorf("%q is of kind %d, want %d", name, got, want)
		}
	}
	if got := (object{kind: kindFile, name: "/usr/lib/libc.so.6 (deleted)"}).shown(); got != "libc.so.6" {
		t.Errorf("shown as %q", got)
	}
}

const someMaps = `55acd2bdc000-55acd2bde000 r--p 00000000 fe:00 247026                     /usr/bin/cat
55acd2bde000-55acd2be3000 r-xp 00002000 fe:00 247026                     /usr/bin/with  two spaces
7ffd9e5c1000-7ffd9e5c3000 r-xp 00000000 00:00 0                          [vdso]
7f1000000000-7f1000001000 rwxp 00000000 00:00 0 
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`

func TestTheExecutableMappingsOfAProcessAreRead(t *testing.T) {
	got, err := parseMaps(strings.NewReader(someMaps))
	want := []Mapping{
		{Start: 0x55acd2bde000, Length: 0x5000, Offset: 0x2000, Device: 0xfe << 32, Inode: 247026, Name: "/usr/bin/with  two spaces"},
		{Start: 0x7ffd9e5c1000, Length: 0x2000, Name: "[vdso]"},
		{Start: 0x7f1000000000, Length: 0x1000},
		{Start: 0xffffffffff600000, Length: 0x1000, Name: "[vsyscall]"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, mappings (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"x", "1000-0fff r-xp 0 0:0 0", "1000-2000 r-x 0 0:0 0", "1000-2000 r-xp z 0:0 0", "1000-2000 r-xp 0 0 0", "1000-2000 r-xp 0 0:0"} {
		if _, err := parseMaps(strings.NewReader(bad + "\n")); err == nil {
			t.Errorf("%q is read without an error", bad)
		}
	}
}

// Whatever is read lies within the address space, and no line has more than one mapping.
func FuzzParseMaps(f *testing.F) {
	f.Add(someMaps)
	f.Fuzz(func(t *testing.T, text string) {
		maps, err := parseMaps(strings.NewReader(text))
		if len(maps) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d mappings", len(maps))
		}
		s := newSpace()
		for _, m := range maps {
			if m.Length == 0 || m.Start+m.Length < m.Start && m.Start+m.Length != 0 {
				t.Fatalf("%#x bytes at %#x, error %v", m.Length, m.Start, err)
			}
			s.learn(m)
		}
		if s.maps[0] == nil {
			return
		}
		end := uint64(0)
		for _, m := range s.maps[0].list {
			if m.start < end || m.end <= m.start {
				t.Fatalf("%#x to %#x after %#x: mappings overlap", m.start, m.end, end)
			}
			end = m.end
		}
	})
}
