package perf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// tinyELF is an ELF file for x86-64 with one segment, mapped from offset 0 at
// address 0x400000, code at 0x401000 and, where there are symbols, a table of them.
func tinyELF(symbols []elf.Sym64, names string) []byte {
	const code, codeOffset = 0x401000, 0x1000
	text := bytes.Repeat([]byte{0x90}, 0x100)
	le := binary.LittleEndian
	var table bytes.Buffer
	binary.Write(&table, le, elf.Sym64{})
	binary.Write(&table, le, symbols)
	sectionNames := "\x00.text\x00.symtab\x00.strtab\x00.shstrtab\x00"
	name := func(s string) uint32 { return uint32(strings.Index(sectionNames, s+"\x00")) }

	file := make([]byte, codeOffset)
	file = append(file, text...)
	place := func(b []byte) uint64 {
		at := uint64(len(file))
		file = append(file, b...)
		for len(file)%8 != 0 {
			file = append(file, 0)
		}
		return at
	}
	symbolsAt, namesAt, sectionNamesAt := place(table.Bytes()), place([]byte(names)), place([]byte(sectionNames))
	sections := []elf.Section64{
		{},
		{Name: name(".text"), Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: code, Off: codeOffset, Size: uint64(len(text))},
		{Name: name(".symtab"), Type: uint32(elf.SHT_SYMTAB), Off: symbolsAt, Size: uint64(table.Len()), Link: 3, Entsize: 24},
		{Name: name(".strtab"), Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names))},
		{Name: name(".shstrtab"), Type: uint32(elf.SHT_STRTAB), Off: sectionNamesAt, Size: uint64(len(sectionNames))},
	}
	if symbols == nil {
		sections[2].Type = uint32(elf.SHT_PROGBITS)
	}
	var tail bytes.Buffer
	binary.Write(&tail, le, sections)
	sectionsAt := place(tail.Bytes())
	head := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: code, Phoff: 64, Shoff: sectionsAt,
		Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 4,
	}
	copy(head.Ident[:], "\x7fELF\x02\x01\x01")
	var start bytes.Buffer
	binary.Write(&start, le, head)
	binary.Write(&start, le, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: 5, Vaddr: 0x400000, Filesz: codeOffset + uint64(len(text)), Memsz: codeOffset + uint64(len(text))})
	copy(file, start.Bytes())
	return file
}

const tinyNames = "\x00clock_gettime\x00__clock_gettime\x00label\x00data\x00$x\x00undefined\x00"

func tinySymbol(name string, bind elf.SymBind, kind elf.SymType, section uint16, value, size uint64) elf.Sym64 {
	return elf.Sym64{Name: uint32(strings.Index(tinyNames, "\x00"+name+"\x00") + 1), Info: byte(bind)<<4 | byte(kind), Shndx: section, Value: value, Size: size}
}

func tinySymbols() []elf.Sym64 {
	return []elf.Sym64{
		tinySymbol("__clock_gettime", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x401000, 0x20),
		tinySymbol("clock_gettime", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x401000, 0x20),
		tinySymbol("label", elf.STB_LOCAL, elf.STT_NOTYPE, 1, 0x401080, 0),
		tinySymbol("data", elf.STB_GLOBAL, elf.STT_OBJECT, 1, 0x401040, 0x10),
		tinySymbol("$x", elf.STB_LOCAL, elf.STT_NOTYPE, 1, 0x401050, 0),
		tinySymbol("undefined", elf.STB_GLOBAL, elf.STT_FUNC, 0, 0x401060, 0x10),
	}
}

func TestOffsetsInAFileAreNamedBySymbols(t *testing.T) {
	p, err := readProgram(bytes.NewReader(tinyELF(tinySymbols(), tinyNames)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what   string
		offset uint64
		name   string
		why    string
	}{
		{"the first byte", 0x1000, "clock_gettime", ""},
		{"the last byte", 0x101f, "clock_gettime", ""},
		{"behind it", 0x1020, "", "no symbol of the file's table covers"},
		{"data, which is no function", 0x1040, "", "no symbol of the file's table covers"},
		{"a mark of the assembler", 0x1050, "", "no symbol of the file's table covers"},
		{"what another file has", 0x1060, "", "no symbol of the file's table covers"},
		{"a label without a size", 0x1090, "label", ""},
		{"the end of the section", 0x10ff, "label", ""},
		{"behind the segment", 0x1100, "", "maps nothing from this offset"},
	} {
		name, why := p.at(tt.offset)
		if name != tt.name || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%s: %q, %q; want %q, %q", tt.what, name, why, tt.name, tt.why)
		}
	}
}

func TestAFileWithoutNamesSaysSo(t *testing.T) {
	p, err := readProgram(bytes.NewReader(tinyELF(nil, tinyNames)))
	if err != nil {
		t.Fatal(err)
	}
	if name, why := p.at(0x1000); name != "" || !strings.Contains(why, "stripped of all names") {
		t.Errorf("%q, %q", name, why)
	}
	if _, err := readProgram(strings.NewReader("#!/bin/sh\n")); err == nil {
		t.Error("a script is read as a program")
	}
}

const tinyProgram = `package main

//go:noinline
func hotFunction(n int) (x int) {
	for i := range n {
		x ^= i * 7
	}
	return x
}

func main() { println(hotFunction(3)) }
`

// buildGo builds the tiny program.
func buildGo(t *testing.T, flags ...string) string {
	t.Helper()
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not there to build a program with")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(tinyProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "tiny")
	c := exec.Command(gotool, append(append([]string{"build", "-o", out}, flags...), filepath.Join(dir, "main.go"))...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOFLAGS=", "GOWORK=off")
	c.Dir = dir
	if b, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	return out
}

func TestGoProgramsHaveNamesAlsoWithoutASymbolTable(t *testing.T) {
	whole := buildGo(t)
	names := namesOf(t, whole)
	for _, tt := range []struct {
		name  string
		flags []string
	}{
		{"stripped", []string{"-ldflags=-s -w"}},
		{"stripped, to be loaded anywhere", []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{"whole, to be loaded anywhere", []string{"-buildmode=pie"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := namesOf(t, buildGo(t, tt.flags...)); !got["main.hotFunction"] || !got["runtime.nanotime1"] && names["runtime.nanotime1"] {
				t.Errorf("%d names, without main.hotFunction or runtime.nanotime1", len(got))
			}
		})
	}
	if !names["main.hotFunction"] {
		t.Errorf("%d names without main.hotFunction", len(names))
	}
	// The stripped program has no symbol table, so that it is the Go table that has been read, and it must place
	// the function where the symbol table places it. The code of both programs is the same.
	stripped := buildGo(t, "-ldflags=-s -w")
	f, err := elf.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	p := openProgram(t, stripped)
	for _, s := range list {
		if s.Name != "main.hotFunction" {
			continue
		}
		for _, address := range []uint64{s.Value, s.Value + s.Size - 1} {
			if got, ok := p.find(address); !ok || got.name != s.Name {
				t.Errorf("%#x is %q in the stripped program", address, got.name)
			}
		}
	}
}

func openProgram(t *testing.T, path string) *program {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := readProgram(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// namesOf returns the functions that are found at their own first address, by way of the file offset.
func namesOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	p := openProgram(t, path)
	names := map[string]bool{}
	for _, s := range p.list {
		for _, l := range p.loads {
			if s.start >= l.address && s.start-l.address < l.size {
				name, _ := p.at(s.start - l.address + l.offset)
				names[name] = true
			}
		}
	}
	return names
}

func TestACacheReadsAFileAgainOnlyWhenItHasChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny")
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := NewCache()
	read := func() {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := c.program(path, f); err != nil {
			t.Fatal(err)
		}
	}
	write(tinyELF(tinySymbols(), tinyNames))
	read()
	read()
	if c.reads != 1 {
		t.Errorf("read %d times, want once", c.reads)
	}
	write(append(tinyELF(tinySymbols(), tinyNames), 0)) // another size, whatever the clock of the file system is worth
	read()
	if c.reads != 2 {
		t.Errorf("read %d times after a change, want twice", c.reads)
	}
	c.limit = 1
	read()
	write(append(tinyELF(tinySymbols(), tinyNames), 0, 0))
	read()
	if len(c.entries) != 0 || c.bytes != 0 {
		t.Errorf("%d entries of %d bytes are kept over the limit", len(c.entries), c.bytes)
	}
}

// An error comes without a program, what is found covers the offset, and nothing
// is kept that the file does not hold.
func FuzzReadProgram(f *testing.F) {
	f.Add(tinyELF(tinySymbols(), tinyNames), uint64(0x1000))
	f.Add(tinyELF(nil, tinyNames), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, offset uint64) {
		p, err := readProgram(bytes.NewReader(data))
		if (p == nil) == (err == nil) {
			t.Fatalf("program %v, error %v", p, err)
		}
		if p == nil {
			return
		}
		if len(p.list) > len(data)/4 {
			t.Fatalf("%d symbols in %d bytes", len(p.list), len(data))
		}
		if name, why := p.at(offset); (name == "") == (why == "") {
			t.Fatalf("name %q, reason %q", name, why)
		}
	})
}
