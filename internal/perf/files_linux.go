package perf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFiles is how many mapped files are held open during a profile.
const maxFiles = 512

// files are the mapped files in which samples were taken: opened at the first sample,
// as long as the process lives, and read when the sampling is over.
type files struct {
	held map[int32]*os.File
	errs map[int32]error
}

func newFiles() *files { return &files{map[int32]*os.File{}, map[int32]error{}} }

// open opens the file of an object; false where another process may do better.
func (f *files) open(number int32, o object, pid int32, at mapped) bool {
	if o.kind != kindFile {
		return true
	}
	if len(f.held) >= maxFiles {
		f.errs[number] = fmt.Errorf("more than %d files had samples: its names were not read", maxFiles)
		return true
	}
	file, err := openMapped(pid, o, at)
	if err != nil {
		f.errs[number] = err
		return false
	}
	delete(f.errs, number)
	f.held[number] = file
	return true
}

func (f *files) close() {
	for _, file := range f.held {
		file.Close()
	}
	f.held = map[int32]*os.File{}
}

// errReplaced is the error of a path at which another file lies now.
var errReplaced = errors.New("the file was replaced since it was mapped")

// openMapped opens a file that a process has mapped: by its path as the process sees it,
// which may be in a container, or, where another file lies there now, by way of the mapping itself.
func openMapped(pid int32, o object, at mapped) (*os.File, error) {
	file, err := openWithin(fmt.Sprintf("/proc/%d/root", pid), strings.TrimSuffix(o.name, " (deleted)"))
	if err == nil {
		err = sameFile(file, o)
		if err == nil {
			return file, nil
		}
		file.Close()
	}
	link := fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, at.start, at.end) // needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE
	if file, e := openRegular(link); e == nil {
		return file, nil
	}
	// A process that has ended leaves its files behind: most are those that we see under the same path.
	if file, e := openRegular(o.name); e == nil && o.inode != 0 {
		if sameFile(file, o) == nil {
			return file, nil
		}
		file.Close()
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s of process %d cannot be opened: the file or the process is gone: %w", o.name, pid, err)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s of process %d cannot be opened: run as root, or give the program CAP_SYS_PTRACE: %w", o.name, pid, err)
	}
	return nil, fmt.Errorf("%s of process %d cannot be used: %w", o.name, pid, err)
}

// sameFile returns an error where the file is not the one that was mapped. Only the inode
// is compared: overlay file systems and btrfs show mappings another device than stat.
func sameFile(f *os.File, o object) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, inode := deviceAndInode(info); o.inode != 0 && inode != o.inode {
		return errReplaced
	}
	return nil
}

// openWithin opens a path within a process's root. A symbolic link there leads to
// within that root, never to a file of ours: what is in a container is anybody's.
func openWithin(root, path string) (*os.File, error) {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK, // a FIFO must not hold us up
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) { // before 5.6
		return openRegular(root + path)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root + path, Err: err}
	}
	return regular(os.NewFile(uintptr(fd), root+path))
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return regular(f)
}

func regular(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", f.Name())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// names reads what is needed to name what was sampled.
func (f *files) names(cache *Cache, t *tally) *names {
	n := &names{file: func(number int32, o object) (*program, error) {
		if err := f.errs[number]; err != nil {
			return nil, err
		}
		file := f.held[number]
		if file == nil {
			return nil, errors.New("the file was not opened")
		}
		return cache.program(o.name, file)
	}}
	n.kernel, n.kernelErr = readKernel()
	n.vdso, n.vdsoSize, n.vdsoErr = readVDSO()
	return n
}

func readKernel() (*symbols, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	defer f.Close()
	s, err := parseKallsyms(f)
	if errors.Is(err, errHidden) {
		sight := ReadSight()
		for _, r := range Restrictions(sight, Config{}) {
			if r.ID == "kptr-restrict" {
				return nil, fmt.Errorf("%s; to allow it, %s", strings.TrimSuffix(r.Why, effect), r.HowToAllow)
			}
		}
	}
	return s, err
}

// readVDSO reads the code that the kernel gave this process, which is the same for
// all of one word size.
func readVDSO() (*program, uint64, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, 0, err
	}
	defer maps.Close()
	list, err := parseMaps(maps)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range list {
		if m.Name != "[vdso]" || m.Length > 1<<20 {
			continue
		}
		image := make([]byte, m.Length)
		if err := readOwn(image, m.Start); err != nil {
			return nil, 0, err
		}
		p, err := readProgram(bytes.NewReader(image))
		return p, m.Length, err
	}
	return nil, 0, errors.New("this process has none")
}

// readOwn reads memory of this process. A program that was given capabilities may not open its
// own /proc/self/mem, and containers may forbid the other way.
func readOwn(to []byte, from uint64) error {
	mem, err := os.Open("/proc/self/mem")
	if err == nil {
		_, err = mem.ReadAt(to, int64(from))
		return errors.Join(err, mem.Close())
	}
	local := unix.Iovec{Base: &to[0]}
	local.SetLen(len(to))
	n, second := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(from), Len: len(to)}}, 0)
	if second != nil || n != len(to) {
		return errors.Join(err, second)
	}
	return nil
}

func deviceAndInode(info fs.FileInfo) (device, inode uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}
