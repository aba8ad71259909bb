package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// Collect reads the facts of one machine. A fact that cannot be read is left
// empty and, where a verdict would want it, listed in Unreadable; that is no
// error. The error wraps ErrNoMachine where the tree holds no fact at all.
func Collect(fsys fs.FS, opt Options) (*machine.Snapshot, error) {
	return collect(fsys, opt, nil)
}

// sighting is one look at one name, for Write.
type sighting struct {
	name string
	data []byte // of a file that was read
	dir  bool
	err  error
	// reason is err in the words of a snapshot.
	reason string
}

// collector carries one collection.
type collector struct {
	fsys fs.FS
	opt  Options
	saw  func(sighting) // nil: nobody wants to know
	snap *machine.Snapshot
	mani *manifest // of an archive of cswatch collect, else nil
	cpu  cpuinfo

	lscpuFields map[string]string // of a sosreport

	found, denied int // files read and files refused
}

func collect(fsys fs.FS, opt Options, saw func(sighting)) (*machine.Snapshot, error) {
	if fsys == nil {
		return nil, errors.New("collect a snapshot: no file system was given")
	}
	c := &collector{fsys: fsys, opt: opt, saw: saw, snap: &machine.Snapshot{
		Schema:  machine.Schema,
		Root:    opt.root(),
		Kind:    opt.kind(),
		Live:    opt.kind() == machine.KindLive,
		Sources: make(map[string]string),
	}}
	if opt.kind() == machine.KindCollect {
		if err := c.readManifest(); err != nil {
			return nil, err
		}
	}
	c.collectContainer()
	c.collectKernel()
	c.collectCommandLine()
	c.collectCPU()
	c.collectClocksource()
	c.collectPlatform()
	c.collectTime()
	c.collectUptime()
	if c.found == 0 && c.denied == 0 {
		return nil, fmt.Errorf("collect a snapshot of %s: %w: want a folder or tarball with proc, sys or sos_commands", opt.root(), ErrNoMachine)
	}
	return c.snap, nil
}

// read returns a file up to its limit, or the reason why not. The second result
// says that the file goes on after that.
func (c *collector) read(name string) (data []byte, cut bool, err error) {
	limit := limitOf(name)
	data, err = readLimited(c.fsys, name, int64(limit)+1)
	if len(data) > limit {
		data, cut = data[:limit], true
	}
	c.note(sighting{name: name, data: data, err: err})
	return data, cut, err
}

func (c *collector) note(s sighting) {
	switch {
	case s.err == nil:
		c.found++
	case errors.Is(s.err, fs.ErrPermission):
		c.denied++
	}
	c.tell(s)
}

func (c *collector) tell(s sighting) {
	if c.saw == nil {
		return
	}
	if s.err != nil {
		s.reason = c.reason(s.name, s.err)
	}
	c.saw(s)
}

func readLimited(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// text returns a file's content without the blanks around it, and whether there was any.
// Device tree strings end with a NUL.
func (c *collector) text(name string) (string, bool) {
	data, _, err := c.read(name)
	if err != nil {
		return "", false
	}
	s := strings.Trim(string(data), " \t\r\n\x00")
	if s == redactedMark {
		return "", false
	}
	return cleanText(s), s != ""
}

// need is text for a file whose absence is worth a word.
func (c *collector) need(name, howTo string) (string, bool) {
	data, _, err := c.read(name)
	if err != nil {
		c.unreadable(name, err, howTo)
		return "", false
	}
	s := strings.Trim(string(data), " \t\r\n\x00")
	return cleanText(s), s != ""
}

// exists says whether a name is there. "No" needs a tree that would hold it:
// the running machine or a whole folder, or an archive that says it looked.
func (c *collector) exists(name string) machine.Answer {
	info, err := fs.Stat(c.fsys, name)
	c.tell(sighting{name: name, err: err, dir: err == nil && info.IsDir()})
	if err == nil {
		return machine.Yes
	}
	if errors.Is(err, fs.ErrNotExist) && c.absent(name) == machine.ReasonNotThere {
		return machine.No
	}
	return machine.Unknown
}

// list returns the names in a folder, and whether it could be read.
func (c *collector) list(name string) ([]string, error) {
	f, err := c.fsys.Open(name)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "list", Path: name, Err: errors.New("not a folder")}
		}
		f.Close()
	}
	c.tell(sighting{name: name, err: err, dir: err == nil})
	if err != nil {
		return nil, err
	}
	return listDir(c.fsys, name, maxDirEntries), nil
}

// absent says what it means that a name does not exist in this tree.
func (c *collector) absent(name string) string {
	switch c.opt.kind() {
	case machine.KindLive:
		return machine.ReasonNotThere
	case machine.KindCollect:
		if reason, ok := c.mani.left(name); ok {
			return reason
		}
		return machine.ReasonNotInArchive
	case machine.KindFolder:
		// A copy may hold a part: without the folder above, nothing was there to look at.
		if above := path.Dir(name); above != "." {
			if _, err := fs.Stat(c.fsys, above); err == nil {
				return machine.ReasonNotThere
			}
		}
		return machine.ReasonNotInArchive
	}
	return machine.ReasonNotInArchive
}

// reason puts an error into the words of a snapshot.
func (c *collector) reason(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return machine.ReasonPermission
	case errors.Is(err, fs.ErrNotExist):
		return c.absent(name)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

// unreadable lists a fact that could not be read. howTo is for a machine on
// which it exists; an archive is told how to become complete.
func (c *collector) unreadable(name string, err error, howTo string) {
	c.missing(name, c.reason(name, err), howTo)
}

func (c *collector) missing(name, reason, howTo string) {
	switch reason {
	case machine.ReasonNotInArchive:
		howTo = "make the archive on that machine with: cswatch collect -o FILE.tar.gz"
	case machine.ReasonPermission:
		howTo = "run cswatch as root on that machine"
	case machine.ReasonRedacted:
		howTo = "make the archive with cswatch collect without redaction, if it may be told"
	}
	c.snap.Unreadable = append(c.snap.Unreadable, machine.Unreadable{What: "/" + name, Reason: reason, HowTo: howTo})
}

// source notes where a fact comes from. A name of a file gets its slash.
func (c *collector) source(fact, from string) {
	if !strings.Contains(from, " ") {
		from = "/" + from
	}
	c.snap.Sources[fact] = from
}

// cleanText makes hostile text printable: control characters and invalid UTF-8 become "?".
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && r != '\uFFFD' {
			return r
		}
		return '?'
	}, s)
}

// fields of "key : value" lines, as /proc/cpuinfo, lscpu and others write them.
// The callback returns false to stop.
func eachField(text string, sep string, do func(key, value string) bool) {
	for line := range strings.SplitSeq(text, "\n") {
		key, value, ok := strings.Cut(line, sep)
		if !ok {
			continue
		}
		if !do(strings.TrimSpace(key), strings.TrimSpace(value)) {
			return
		}
	}
}
