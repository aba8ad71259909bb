package perf

import "fmt"

// names is what places are named by: the kernel's symbols, the vDSO's and the files'.
type names struct {
	kernel    *symbols
	kernelErr error
	vdso      *program
	vdsoErr   error
	vdsoSize  uint64 // of our own mapping
	// file gives the symbols of a file; the error says why there are none.
	file func(number int32, o object) (*program, error)
}

// frame names a place.
func (n *names) frame(objects []object, p place) Frame {
	o := objects[p.object]
	f := Frame{Object: o.shown(), Kernel: o.kind == kindKernel}
	if why := o.kind.nameless(); why != "" {
		f.Symbol, f.Why = f.Object, why
		return f
	}
	switch o.kind {
	case kindKernel:
		n.nameKernel(&f, p.address)
	case kindVDSO:
		switch {
		case n.vdso == nil:
			f.Why = "the vDSO of this process could not be read: " + reason(n.vdsoErr)
		case o.length != n.vdsoSize:
			f.Why = "another vDSO than this process has, as in a 32-bit program"
		default:
			f.Symbol, f.Why = n.vdso.at(p.address)
		}
	case kindVsyscall:
		f.Symbol, f.Why = vsyscall(p.address)
	case kindFile:
		program, err := n.file(p.object, o)
		if err != nil {
			f.Why = err.Error()
		} else {
			f.Symbol, f.Why = program.at(p.address)
		}
	}
	if f.Why != "" {
		f.Symbol = fmt.Sprintf("0x%x", p.address)
	}
	return f
}

func (n *names) nameKernel(f *Frame, address uint64) {
	if n.kernel == nil {
		f.Why = reason(n.kernelErr)
		return
	}
	s, ok := n.kernel.find(address)
	if !ok {
		f.Why = "no symbol in /proc/kallsyms covers the address"
		return
	}
	f.Symbol = s.name
	if s.object != "" {
		f.Object = s.object
	}
}

func reason(err error) string {
	if err == nil {
		return "its names were not read"
	}
	return err.Error()
}

// vsyscall names the three entries of the page, which lie at fixed offsets.
func vsyscall(offset uint64) (name, why string) {
	switch offset >> 10 {
	case 0:
		return "gettimeofday", ""
	case 1:
		return "time", ""
	case 2:
		return "getcpu", ""
	}
	return "", "the page has nothing at this offset"
}

// stacks names all that was counted.
func (n *names) stacks(t *tally) []Stack {
	named := map[place]Frame{}
	list := make([]Stack, 0, len(t.counts))
	for key, w := range t.counts {
		pid, command, cpu, places := decode(key)
		s := Stack{PID: pid, Command: t.commands[command], CPU: cpu, Frames: make([]Frame, len(places)), Weight: *w}
		for i, p := range places {
			f, known := named[p]
			if !known {
				f = n.frame(t.space.objects, p)
				named[p] = f
			}
			s.Frames[i] = f
		}
		list = append(list, s)
	}
	return mergeStacks(list)
}
