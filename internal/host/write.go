package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/machine"
)

// CollectOptions shape an archive. The zero value redacts and takes no kernel log.
type CollectOptions struct {
	Options
	// KernelLog is read to its end and kept to 8 MiB: 4 from its head, 4 from its tail.
	KernelLog io.Reader
	// NoKernelLog says why KernelLog is nil, for the manifest.
	NoKernelLog string
	// NoRedact keeps names and addresses as they are.
	NoRedact bool
	// Cost is what a clock read costs here, if it was measured.
	Cost *machine.Cost
	// Version is cswatch's own, for the manifest.
	Version string
	// TakenAt is put into the manifest; the zero time is left out, so that two
	// archives of the same facts have the same bytes.
	TakenAt time.Time
}

// Report says what Write put into an archive.
type Report struct {
	Taken    []Taken
	Left     []Left // what was looked for and is not in the archive, and why
	Redacted int    // places that were made unreadable
	LogBytes int64  // of the kernel log in the archive
	LogLost  int64  // bytes of it that had no place
	// LogError is why reading the kernel log stopped early; nil if it did not.
	// What was read before is in the archive.
	LogError error
}

// Write makes a gzip-compressed tarball of exactly what Collect reads of a tree, and
// the kernel log. The same facts make the same bytes. It reads the whole of the
// facts into memory first, so that the archive is of one moment.
func Write(w io.Writer, src fs.FS, opt CollectOptions) (Report, error) {
	b := newBundle(opt)
	switch opt.kind() {
	case machine.KindLive, machine.KindFolder:
	default:
		return Report{}, fmt.Errorf("make an archive: %s is already one (%s): hand it on as it is", opt.root(), opt.kind())
	}
	snap, err := collect(src, opt.Options, b.see)
	if err != nil {
		return Report{}, fmt.Errorf("make an archive: %w", err)
	}
	b.red = newRedactor(snap.Host)
	b.finishFacts()
	for _, u := range snap.Unreadable {
		if u.What == "adjtimex" {
			b.left[u.What] = u.Reason
		}
	}
	b.addLog()
	if err := b.addManifest(snap); err != nil {
		return Report{}, err
	}
	if err := b.write(w); err != nil {
		return Report{}, fmt.Errorf("write the archive: %w", err)
	}
	return b.report, nil
}

// bundle is an archive in the making.
type bundle struct {
	opt    CollectOptions
	red    *redactor
	files  map[string][]byte
	dirs   map[string]bool
	left   map[string]string
	report Report
}

func newBundle(opt CollectOptions) *bundle {
	return &bundle{
		opt: opt, files: make(map[string][]byte), dirs: make(map[string]bool), left: make(map[string]string),
	}
}

// see keeps what the collector came across.
func (b *bundle) see(s sighting) {
	switch {
	case s.name == manifestName || s.name == kmsgName:
		// An archive of an archive gets its own.
	case s.err != nil:
		b.left[s.name] = s.reason
	case s.dir:
		b.dirs[s.name] = true
	default:
		if _, read := b.files[s.name]; !read || s.data != nil {
			b.files[s.name] = s.data
		}
	}
}

// finishFacts reduces and redacts the files.
func (b *bundle) finishFacts() {
	for name, data := range b.files {
		data = reduce(name, data)
		if b.opt.NoRedact {
			b.files[name] = data
			b.report.Taken = append(b.report.Taken, Taken{Name: name, Bytes: int64(len(data))})
			continue
		}
		if name == "proc/sys/kernel/hostname" {
			delete(b.files, name)
			b.left[name] = machine.ReasonRedacted
			continue
		}
		before := b.red.count
		data = b.redact(name, data)
		b.files[name] = data
		b.report.Taken = append(b.report.Taken, Taken{Name: name, Bytes: int64(len(data)), Redacted: b.red.count - before})
	}
}

// reduce keeps of some files only the part that is read: a list of timers names
// programs, and a table of firmware holds more than its maker.
func reduce(name string, data []byte) []byte {
	switch name {
	case "proc/timer_list":
		for line := range bytes.Lines(data) {
			if bytes.Contains(line, []byte(".hres_active")) {
				return bytes.Clone(line)
			}
		}
		return nil
	case "etc/os-release", "usr/lib/os-release":
		var keep []byte
		for line := range bytes.Lines(data) {
			if bytes.HasPrefix(line, []byte("ID=")) || bytes.HasPrefix(line, []byte("VERSION_ID=")) || bytes.HasPrefix(line, []byte("PRETTY_NAME=")) {
				keep = append(keep, line...)
			}
		}
		return keep
	case "sys/firmware/acpi/tables/FACP":
		return data[:min(len(data), 36)] // the header
	}
	return data
}

// redact knows what each file can tell. A general filter would find the host's
// name in words that only look like it.
func (b *bundle) redact(name string, data []byte) []byte {
	switch name {
	case "proc/cmdline":
		line, n := redactCommandLine(string(data))
		b.red.count += n
		return append(b.red.text([]byte(line)), '\n')
	case "proc/version":
		return []byte(b.red.banner(string(data)))
	case "proc/cpuinfo", "proc/sysinfo":
		return []byte(b.red.serials(string(data)))
	case "proc/self/cgroup", "run/systemd/container", "run/.containerenv":
		return b.red.text(data)
	}
	return data // numbers, and names of kernels, clocks and products
}

func (b *bundle) addLog() {
	if b.opt.KernelLog == nil {
		reason := b.opt.NoKernelLog
		if reason == "" {
			reason = "not asked for"
		}
		b.left[kmsgName] = reason
		return
	}
	before := b.red.count
	filter := b.red.logLine
	if b.opt.NoRedact {
		filter = func(s string, _ initBlock) string { return s }
	}
	h := headTail{filter: filter, headSize: maxLogHead, tailSize: maxLogTail}
	b.report.LogError = h.readFrom(b.opt.KernelLog)
	data := h.bytes()
	b.files[kmsgName] = data
	b.report.LogBytes, b.report.LogLost = int64(len(data)), h.dropped
	b.report.Taken = append(b.report.Taken, Taken{Name: kmsgName, Bytes: int64(len(data)), Redacted: b.red.count - before})
}

func (b *bundle) addManifest(snap *machine.Snapshot) error {
	for name, reason := range b.left {
		b.report.Left = append(b.report.Left, Left{name, reason})
	}
	slices.SortFunc(b.report.Left, func(x, y Left) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(b.report.Taken, func(x, y Taken) int { return strings.Compare(x.Name, y.Name) })
	b.report.Redacted = b.red.count
	m := manifest{
		Schema: ManifestSchema, Version: b.opt.Version, Redacted: !b.opt.NoRedact,
		Taken: b.report.Taken, Left: b.report.Left,
		Facts: facts{Arch: snap.Arch, Daemon: snap.Time.Daemon, Cost: b.opt.Cost},
	}
	if !b.opt.TakenAt.IsZero() {
		m.TakenAt = b.opt.TakenAt.UTC().Format(time.RFC3339)
	}
	if t := snap.Time; t.Source == "adjtimex" && t.FrequencyPPM != nil && t.OffsetNS != nil && t.MaxErrorNS != nil {
		m.Facts.Adjtimex = &ClockState{
			Synchronised: t.Synchronised == machine.Yes, FrequencyPPM: *t.FrequencyPPM, OffsetNS: *t.OffsetNS, MaxErrorNS: *t.MaxErrorNS,
		}
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write the archive's manifest: %w", err)
	}
	b.files[manifestName] = append(data, '\n')
	return nil
}

// write writes the tarball: sorted, with one time and one mode for all.
func (b *bundle) write(w io.Writer) error {
	zw := gzip.NewWriter(w) // its header has no time unless one is set
	tw := tar.NewWriter(zw)
	names := make([]string, 0, len(b.files)+len(b.dirs))
	for n := range b.files {
		names = append(names, n)
	}
	for n := range b.dirs {
		if _, isFile := b.files[n]; !isFile && n != "." {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		data, isFile := b.files[n]
		h := &tar.Header{
			Name: n, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg,
			ModTime: time.Unix(0, 0),
		}
		if !isFile {
			h.Name, h.Mode, h.Typeflag = path.Clean(n)+"/", 0o755, tar.TypeDir
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(data); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}
