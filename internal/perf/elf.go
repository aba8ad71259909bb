package perf

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds on one file's symbols.
const (
	maxSymbolEntries = 1 << 22
	maxSymbolNames   = 256 << 20
	maxGoTable       = 256 << 20
)

// program is what symbolising needs of an ELF file.
type program struct {
	*symbols
	loads []load
}

// load is a part of the file that is mapped.
type load struct{ offset, size, address uint64 }

// address turns an offset in the file into the address that its symbols use.
func (p *program) address(offset uint64) (uint64, bool) {
	for _, l := range p.loads {
		if offset >= l.offset && offset-l.offset < l.size {
			return l.address + (offset - l.offset), true
		}
	}
	return 0, false
}

// at names the code at an offset in the file. Without a name it says why.
func (p *program) at(offset uint64) (name, why string) {
	a, ok := p.address(offset)
	if !ok {
		return "", "the file maps nothing from this offset: it has changed since, or the mapping is of something else"
	}
	s, ok := p.find(a)
	if !ok {
		return "", p.lack
	}
	return s.name, ""
}

// readProgram reads the symbols of an ELF file of any class and byte order: those
// of .symtab, else those of .dynsym and of a Go program's table of functions.
func readProgram(r io.ReaderAt) (p *program, err error) {
	defer func() { // debug/elf and debug/gosym are made for files from compilers, and the file is anybody's
		if e := recover(); e != nil {
			p, err = nil, fmt.Errorf("read the symbols: the file is damaged: %v", e)
		}
	}()
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("read the symbols: %w", err)
	}
	defer f.Close()
	p = &program{}
	for _, s := range f.Progs {
		if s.Type == elf.PT_LOAD {
			p.loads = append(p.loads, load{s.Off, s.Filesz, s.Vaddr})
		}
	}
	full, err := symbolSection(f, elf.SHT_SYMTAB)
	if err != nil {
		return nil, err
	}
	if len(full) > 0 {
		p.symbols = newSymbols(append(full, stubs(f)...), maxFunction, nil)
		p.lack = "no symbol of the file's table covers the address"
		return p, nil
	}
	exported, err := symbolSection(f, elf.SHT_DYNSYM)
	if err != nil {
		return nil, err
	}
	functions, why, err := goFunctions(f)
	if err != nil {
		return nil, err
	}
	p.symbols = newSymbols(slices.Concat(exported, functions, stubs(f)), maxFunction, nil)
	switch {
	case why != "":
		p.lack = why
	case len(functions) > 0:
		p.lack = "the file is stripped, and no function of its Go table covers the address"
	case len(exported) > 0:
		p.lack = "the file is stripped to the names that it exports, and none of them covers the address: a build that is not stripped has names"
	default:
		p.lack = "the file is stripped of all names: a build that is not stripped has them"
	}
	return p, nil
}

// symbolSection reads the functions of the section of a type, of which a file has at most one. Like debug/elf's
// Symbols, but it holds no more than functions need, and stays within bounds.
func symbolSection(f *elf.File, kind elf.SectionType) ([]symbol, error) {
	var list []symbol
	for _, s := range f.Sections {
		if s.Type != kind {
			continue
		}
		entry := 24
		if f.Class == elf.ELFCLASS32 {
			entry = 16
		}
		if s.Flags&elf.SHF_COMPRESSED != 0 || int64(s.Link) >= int64(len(f.Sections)) {
			return nil, fmt.Errorf("read the symbols: section %s is compressed or without names", s.Name)
		}
		strings := f.Sections[s.Link]
		if s.FileSize/uint64(entry) > maxSymbolEntries || strings.FileSize > maxSymbolNames || strings.Flags&elf.SHF_COMPRESSED != 0 {
			return nil, fmt.Errorf("read the symbols: section %s has %d bytes and %d of names: want at most %d symbols and %d bytes, not compressed",
				s.Name, s.FileSize, strings.FileSize, maxSymbolEntries, maxSymbolNames)
		}
		names, err := contents(strings)
		if err != nil {
			return nil, fmt.Errorf("read the symbols: section %s: %w", strings.Name, err)
		}
		table, err := contents(s)
		if err != nil {
			return nil, fmt.Errorf("read the symbols: section %s: %w", s.Name, err)
		}
		for ; len(table) >= entry; table = table[entry:] {
			if sym, ok := functionOf(f, table[:entry], names); ok {
				list = append(list, sym)
			}
		}
		return list, nil
	}
	return nil, nil
}

// contents reads a section as it lies in the file. It grows with what is there, not with what a header claims.
func contents(s *elf.Section) ([]byte, error) {
	if s.Type == elf.SHT_NOBITS {
		return nil, errors.New("it is not in the file")
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(io.NewSectionReader(s.ReaderAt, 0, int64(s.FileSize)), maxSymbolNames))
	if err == nil && uint64(n) < s.FileSize {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// functionOf reads one entry of a symbol table: that of a function, or of a label of
// assembly code, which has no type.
func functionOf(f *elf.File, b []byte, names []byte) (symbol, bool) {
	order := f.ByteOrder
	var info byte
	var section uint16
	var value, size uint64
	name := order.Uint32(b)
	if f.Class == elf.ELFCLASS32 {
		value, size = uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:]))
		info, section = b[12], order.Uint16(b[14:])
	} else {
		info, section = b[4], order.Uint16(b[6:])
		value, size = order.Uint64(b[8:]), order.Uint64(b[16:])
	}
	kind := elf.ST_TYPE(info)
	label := kind == elf.STT_NOTYPE
	if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC && !label || elf.SectionIndex(section) == elf.SHN_UNDEF {
		return symbol{}, false
	}
	if label && (int(section) >= len(f.Sections) || f.Sections[section].Flags&elf.SHF_EXECINSTR == 0) {
		return symbol{}, false
	}
	if uint64(name) >= uint64(len(names)) {
		return symbol{}, false
	}
	text, _, _ := bytes.Cut(names[name:min(len(names), int(name)+maxName)], []byte{0})
	if len(text) == 0 || text[0] == '$' { // $x, $d: marks of ARM's assemblers between code and data
		return symbol{}, false
	}
	s := symbol{start: value, name: string(text)}
	if s.start+size > s.start {
		s.end = s.start + size
	} else if int(section) < len(f.Sections) {
		s.limit = f.Sections[section].Addr + f.Sections[section].Size
	}
	switch elf.ST_BIND(info) {
	case elf.STB_GLOBAL:
	case elf.STB_WEAK:
		s.rank = 1
	default:
		s.rank = 2
	}
	if label {
		s.rank += 3
	}
	return s, true
}

// stubs names the tables by which a program calls shared libraries, which have no symbols.
func stubs(f *elf.File) []symbol {
	var list []symbol
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".plt") && s.Flags&elf.SHF_EXECINSTR != 0 && s.Addr+s.Size > s.Addr {
			list = append(list, symbol{start: s.Addr, end: s.Addr + s.Size, name: "[plt]", rank: 9})
		}
	}
	return list
}

// maxName cuts names that only templates and attackers make so long.
const maxName = 1 << 10

// goFunctions reads the table of functions that every Go program has, also a
// stripped one. Where there is such a table that cannot be used, why says so.
func goFunctions(f *elf.File) (list []symbol, why string, err error) {
	section := f.Section(".gopclntab")
	if section == nil {
		section = f.Section(".data.rel.ro.gopclntab") // of a program that may be loaded anywhere
	}
	text := f.Section(".text")
	if section == nil || text == nil {
		return nil, "", nil
	}
	if section.FileSize > maxGoTable || section.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, "", fmt.Errorf("read the Go table of functions: %d bytes: want at most %d, not compressed", section.FileSize, maxGoTable)
	}
	data, err := contents(section)
	if err != nil {
		return nil, "", fmt.Errorf("read the Go table of functions: %w", err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, "", fmt.Errorf("read the Go table of functions: %w", err)
	}
	// The table counts from the start of Go's own code. That is the start of the section
	// unless a C linker put C code before it; then the function at the entry is not Go's.
	entry := table.PCToFunc(f.Entry)
	if entry == nil || !strings.HasPrefix(entry.Name, "_rt0_") {
		return nil, "the file is a stripped Go program with C code before its own, so that its table of functions cannot be used: a build that is not stripped has names", nil
	}
	for i := range table.Funcs {
		fn := &table.Funcs[i]
		if fn.End > fn.Entry && len(list) < maxSymbolEntries {
			list = append(list, symbol{start: fn.Entry, end: fn.End, name: strings.Clone(fn.Name)})
		}
	}
	return list, "", nil
}
