package bench

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// vdsoFunction returns the offset of a function within the image of a vDSO, a shared
// library of 64 bits and little endian that the kernel maps into each process. It
// goes by the dynamic table alone, as the kernel keeps the section headers in some
// releases and not in others.
func vdsoFunction(image []byte, name string) (offset uint64, err error) {
	v := vdsoImage{image: image}
	address, err := v.symbol(name)
	if err != nil {
		return 0, fmt.Errorf("look for %s in the vDSO: %w", name, err)
	}
	if address == 0 || address >= uint64(len(image)) {
		return 0, fmt.Errorf("look for %s in the vDSO: it is said to lie at %#x of %#x bytes", name, address, len(image))
	}
	return address, nil
}

var errCutImage = errors.New("the image ends too early")

// vdsoImage reads an image. Addresses in it count from its beginning: the kernel
// links the vDSO for address 0, or says in the first segment for which.
type vdsoImage struct {
	image []byte
	base  uint64
}

func (v *vdsoImage) at(address, size uint64) ([]byte, error) {
	offset := address - v.base
	if offset > uint64(len(v.image)) || size > uint64(len(v.image))-offset {
		return nil, errCutImage
	}
	return v.image[offset : offset+size], nil
}

// read decodes the structure at an address.
func (v *vdsoImage) read(address uint64, into any) error {
	b, err := v.at(address, uint64(binary.Size(into)))
	if err != nil {
		return err
	}
	return binary.Read(bytes.NewReader(b), binary.LittleEndian, into)
}

// segments returns the span of the loaded image in bytes and the address of the dynamic table.
func (v *vdsoImage) segments() (span, dynamic uint64, err error) {
	var h elf.Header64
	if err := v.read(0, &h); err != nil {
		return 0, 0, err
	}
	if string(h.Ident[:4]) != elf.ELFMAG || elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(h.Ident[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return 0, 0, errors.New("not an ELF image of 64 bits, little endian")
	}
	loaded := false
	for i := range uint64(h.Phnum) {
		var p elf.Prog64
		if err := v.read(h.Phoff+i*uint64(h.Phentsize), &p); err != nil {
			return 0, 0, err
		}
		switch elf.ProgType(p.Type) {
		case elf.PT_LOAD:
			if !loaded {
				loaded, v.base, span = true, p.Vaddr-p.Off, p.Off+p.Memsz
			}
		case elf.PT_DYNAMIC:
			dynamic = p.Vaddr
		}
		if loaded && v.base != 0 {
			return 0, 0, fmt.Errorf("it is linked for the address %#x, which no kernel of the last ten years does", v.base)
		}
	}
	if !loaded || dynamic == 0 {
		return 0, 0, errors.New("it has no segment to load, or no dynamic table")
	}
	return span, dynamic, nil
}

// symbol returns the address of a function that the image defines.
func (v *vdsoImage) symbol(name string) (uint64, error) {
	_, dynamic, err := v.segments()
	if err != nil {
		return 0, err
	}
	table := map[elf.DynTag]uint64{}
	for address := dynamic; ; address += 16 {
		var d elf.Dyn64
		if err := v.read(address, &d); err != nil {
			return 0, err
		}
		if elf.DynTag(d.Tag) == elf.DT_NULL {
			break
		}
		table[elf.DynTag(d.Tag)] = d.Val
	}
	// Nothing says how many symbols there are but hash tables, of which there are two
	// kinds. The names lie behind the symbols in every vDSO, so the table ends there at the latest.
	symbols, names := table[elf.DT_SYMTAB], table[elf.DT_STRTAB]
	if symbols == 0 || names <= symbols {
		return 0, errors.New("it has no symbols in front of their names")
	}
	wanted := append([]byte(name), 0)
	for address := symbols; address+elf.Sym64Size <= names; address += elf.Sym64Size {
		var s elf.Sym64
		if err := v.read(address, &s); err != nil {
			return 0, err
		}
		found, err := v.at(names+uint64(s.Name), uint64(len(wanted)))
		if err != nil || !bytes.Equal(found, wanted) {
			continue // not a symbol, or another one
		}
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && elf.SectionIndex(s.Shndx) != elf.SHN_UNDEF {
			return s.Value, nil
		}
	}
	return 0, errors.New("there is no such function")
}
