package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// writeArchive makes an archive and opens it again.
func writeArchive(t *testing.T, src fs.FS, opt CollectOptions) (raw []byte, rep Report, root *Root) {
	t.Helper()
	var buf bytes.Buffer
	rep, err := Write(&buf, src, opt)
	if err != nil {
		t.Fatal(err)
	}
	root, err = OpenRoot(writeFile(t, "host.tar.gz", buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if root.Kind() != machine.KindCollect {
		t.Errorf("kind %q, want %q", root.Kind(), machine.KindCollect)
	}
	return buf.Bytes(), rep, root
}

// sameMachine ignores what is about the place and not about the machine, and
// for what could not be read how to get it.
var sameMachine = cmp.Options{
	cmpopts.IgnoreFields(machine.Snapshot{}, "Root", "Kind", "Live", "Redacted"),
	cmpopts.IgnoreFields(machine.Unreadable{}, "HowTo"),
}

func TestAnArchiveReadsAsItsMachine(t *testing.T) {
	for _, file := range fixtureFiles(t) {
		f := loadFixture(t, file)
		if f.opt.Kind != machine.KindLive {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			want, err := Collect(f.fs(t), f.opt)
			if err != nil {
				t.Fatal(err)
			}
			_, _, root := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt, NoRedact: true})
			got, err := root.Collect()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, sameMachine); diff != "" {
				t.Errorf("not redacted, -live +archive:\n%s", diff)
			}

			_, rep, root := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt})
			if got, err = root.Collect(); err != nil {
				t.Fatal(err)
			}
			if got.Host != "" || !got.Redacted {
				t.Errorf("host %q, redacted %t; want no host and true", got.Host, got.Redacted)
			}
			redactable := cmp.Options{sameMachine, cmpopts.IgnoreFields(machine.Snapshot{}, "Host", "CommandLine"), cmpopts.IgnoreFields(machine.Kernel{}, "Banner")}
			if diff := cmp.Diff(want, got, redactable); diff != "" {
				t.Errorf("redacted, -live +archive:\n%s", diff)
			}
			for _, taken := range rep.Taken {
				if !isFact(taken.Name) {
					t.Errorf("%s is in the archive and not on the list", taken.Name)
				}
			}
		})
	}
}

func TestThisMachinesArchiveReadsAsThisMachine(t *testing.T) {
	r, err := OpenRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	opt := LiveOptions()
	st, err := opt.Adjtimex()
	if err != nil {
		t.Skip(err)
	}
	opt.Adjtimex = func() (ClockState, error) { return st, nil } // the same for both
	want, err := Collect(r.FS(), opt)
	if err != nil {
		t.Fatal(err)
	}
	_, _, root := writeArchive(t, r.FS(), CollectOptions{Options: opt, NoRedact: true})
	got, err := root.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, sameMachine, cmpopts.IgnoreFields(machine.Snapshot{}, "UptimeSeconds")); diff != "" {
		t.Errorf("-live +archive:\n%s", diff)
	}
}

func TestArchivesOfTheSameFactsHaveTheSameBytes(t *testing.T) {
	f := loadFixture(t, "testdata/machines/bare-metal-intel-2-sockets-rhel9.txtar")
	first, _, _ := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt, KernelLog: strings.NewReader("a\nb\n")})
	second, _, _ := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt, KernelLog: strings.NewReader("a\nb\n")})
	if !bytes.Equal(first, second) {
		t.Error("two archives differ")
	}
	zr, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name <= last || !h.ModTime.Equal(time.Unix(0, 0)) || h.Uid != 0 || h.Typeflag == tar.TypeReg && h.Mode != 0o644 {
			t.Errorf("entry %+v behind %q: want sorted names, one time, mode 0644", h, last)
		}
		last = h.Name
	}
}

func TestAnArchiveTellsNothingOfItsOwner(t *testing.T) {
	f := loadFixture(t, "testdata/machines/fallen-to-hpet-ubuntu.txtar")
	kmsg := strings.Join([]string{
		"[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz-5.15.0-25-generic root=UUID=6e0c5a3e-16a4-4b2a-9f0f-0f1f7c4a1a11 password=hunter2 tsc=watchdog",
		"[    3.1] e1000e 0000:00:1f.6 eth0: (PCI Express:2.5GT/s:Width x1) 3c:ec:ef:01:02:03",
		"[    9.9] systemd[1]: Hostname set to <web-7>.",
		"[   30.0] traps: java[411] trap at /home/jane/app/run.sh ip 192.168.17.4",
		"[   60.1] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:",
		"[   60.2] clocksource:                       'tsc' cs_nsec: 496005999 cs_now: 16fd1e0d2a8c0 cs_last: 16fd1bb2a8c10 mask: ffffffffffffffff",
	}, "\n") + "\n"
	raw, rep, root := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt, KernelLog: strings.NewReader(kmsg)})
	text := untar(t, raw)
	for _, secret := range []string{"web-7", "6e0c5a3e", "hunter2", "3c:ec:ef", "jane", "192.168.17.4"} {
		if strings.Contains(text, secret) {
			t.Errorf("the archive holds %q", secret)
		}
	}
	for _, fact := range []string{"tsc=watchdog", "cs_now: 16fd1e0d2a8c0 cs_last: 16fd1bb2a8c10 mask: ffffffffffffffff", "on CPU3", "0000:00:1f.6", "password=<redacted>"} {
		if !strings.Contains(text, fact) {
			t.Errorf("the archive lost %q", fact)
		}
	}
	if rep.Redacted < 6 {
		t.Errorf("%d places redacted, want 6 or more", rep.Redacted)
	}
	if diff := cmp.Diff([]string{"cswatch/kmsg"}, root.Logs()); diff != "" {
		t.Errorf("logs, -want +got:\n%s", diff)
	}
}

func untar(t *testing.T, raw []byte) string {
	t.Helper()
	zr, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheManifestSaysWhatWasLeftAndWhy(t *testing.T) {
	f := loadFixture(t, "testdata/machines/fallen-to-hpet-ubuntu.txtar")
	_, rep, _ := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt, NoKernelLog: "read /dev/kmsg: permission denied"})
	reasons := make(map[string]string)
	for _, l := range rep.Left {
		reasons[l.Name] = l.Reason
	}
	for name, want := range map[string]string{
		"proc/timer_list":          machine.ReasonPermission,
		"proc/sysinfo":             machine.ReasonNotThere,
		"proc/sys/kernel/hostname": machine.ReasonRedacted,
		"cswatch/kmsg":             "read /dev/kmsg: permission denied",
	} {
		if reasons[name] != want {
			t.Errorf("%s: reason %q, want %q", name, reasons[name], want)
		}
	}
}

func TestAKernelLogThatBreaksOffIsKeptSoFar(t *testing.T) {
	f := loadFixture(t, "testdata/machines/no-sys-at-all.txtar")
	broken := errors.New("device gone")
	log := io.MultiReader(strings.NewReader("first line\nsecond"), iotest.ErrReader(broken))
	raw, rep, _ := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt, KernelLog: log})
	if !errors.Is(rep.LogError, broken) {
		t.Errorf("log error %v, want %v", rep.LogError, broken)
	}
	if text := untar(t, raw); !strings.Contains(text, "first line\nsecond\n") {
		t.Error("the lines before the error are not in the archive")
	}
}

func TestAnArchiveOfAnArchiveIsRefused(t *testing.T) {
	f := loadFixture(t, "testdata/machines/sosreport-rhel8.txtar")
	if _, err := Write(io.Discard, f.fs(t), CollectOptions{Options: f.opt}); err == nil || !strings.Contains(err.Error(), "already one") {
		t.Errorf("error %v", err)
	}
}

func TestADamagedManifestIsAnError(t *testing.T) {
	for name, text := range map[string]string{"cut": `{"schema": "cswatch.coll`, "of another schema": `{"schema": "cswatch.collect/v9"}`} {
		m := newMemFS()
		m.put(manifestName, &memNode{data: []byte(text)})
		if _, err := Collect(m, Options{Kind: machine.KindCollect}); err == nil || !strings.Contains(err.Error(), "manifest") {
			t.Errorf("a manifest that is %s: error %v", name, err)
		}
	}
}

func TestHeadAndTailOfALongLogAreKept(t *testing.T) {
	var in strings.Builder
	for i := range 1000 {
		in.WriteString(strings.Repeat("x", 20))
		in.WriteString([]string{" even", " odd"}[i%2])
		in.WriteByte('\n')
	}
	in.WriteString("the very last line")
	h := headTail{filter: func(s string, _ initBlock) string { return strings.ToUpper(s) }, headSize: 300, tailSize: 400}
	if err := h.readFrom(strings.NewReader(in.String())); err != nil {
		t.Fatal(err)
	}
	out := string(h.bytes())
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if !strings.HasSuffix(out, "\nTHE VERY LAST LINE\n") || !strings.HasPrefix(out, "XXXXXXXXXXXXXXXXXXXX EVEN\n") {
		t.Errorf("head or tail is missing:\n%s", out)
	}
	kept, said := len(lines)-1, ""
	for _, l := range lines {
		if strings.HasPrefix(l, "cswatch(collect): ") {
			said = l
		}
	}
	if want := "cswatch(collect): " + strconv.Itoa(1001-kept) + " lines of the kernel log were left out here"; said != want {
		t.Errorf("marker %q, want %q", said, want)
	}
	if len(out) > 300+400+len(said)+1 {
		t.Errorf("%d bytes, want at most head, tail and marker", len(out))
	}
	if h.dropped == 0 {
		t.Error("no dropped bytes are counted")
	}
}

func TestALineWithoutEndIsCut(t *testing.T) {
	h := headTail{filter: func(s string, _ initBlock) string { return s }, headSize: maxLogHead, tailSize: maxLogTail}
	if err := h.readFrom(io.MultiReader(strings.NewReader(strings.Repeat("y", 10*maxLogLine)), strings.NewReader("\nnext\n"))); err != nil {
		t.Fatal(err)
	}
	out := string(h.bytes())
	if len(out) > maxLogLine+10 || !strings.HasSuffix(out, "\nnext\n") {
		t.Errorf("%d bytes; want one cut line and the next", len(out))
	}
	if h.dropped < 9*maxLogLine-1 {
		t.Errorf("dropped %d bytes, want the rest of the line", h.dropped)
	}
}

func TestAFilterThatLengthensStaysWithinTheTail(t *testing.T) {
	h := headTail{filter: func(s string, _ initBlock) string { return s + strings.Repeat("+", 100) }, headSize: 10, tailSize: 1000}
	if err := h.readFrom(strings.NewReader(strings.Repeat("a line\n", 500))); err != nil {
		t.Fatal(err)
	}
	out := h.bytes()
	_, tail, _ := bytes.Cut(out, []byte("left out here\n"))
	if len(tail) > 1000 || len(tail) < 500 {
		t.Errorf("tail has %d bytes, want up to 1000 and not much less", len(tail))
	}
}
