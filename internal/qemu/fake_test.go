package qemu

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/load"
)

// fakeFlag makes this test program play QEMU. The argument after it is what to do:
// steps, separated by semicolons. The variable does the same where arguments are not ours.
const (
	fakeFlag     = "-fake-qemu"
	fakeVariable = "CSWATCH_TEST_FAKE_QEMU"
	runnerFlag   = "-fake-runner"
)

func TestMain(m *testing.M) {
	if i := slices.Index(os.Args, fakeFlag); i > 0 && i+1 < len(os.Args) {
		os.Exit(fakeQEMU(os.Args[i+1]))
	}
	if steps := os.Getenv(fakeVariable); steps != "" && slices.Contains(os.Args, "-kernel") {
		os.Exit(fakeQEMU(steps))
	}
	if len(os.Args) == 4 && os.Args[1] == runnerFlag {
		os.Exit(fakeRunner(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// fakeRunner starts a QEMU that never ends, says its process id, and waits to be killed.
func fakeRunner(kernel, guestProgram string) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	m, err := Config{QEMU: self, Guest: guestProgram}.Start(context.Background(), Spec{Kernel: kernel, Extra: []string{fakeFlag, "hello;hang"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(m.proc.cmd.Process.Pid)
	time.Sleep(time.Hour)
	return 0
}

// fakeQEMU carries out the steps on the same files as QEMU: the console on its
// standard output, the records on file descriptor 3.
func fakeQEMU(steps string) int {
	records := os.NewFile(recordsFD, "records")
	send := func(r guest.Record) {
		line, err := guest.AppendRecord(nil, r)
		if err != nil {
			panic(err)
		}
		if _, err := records.Write(line); err != nil {
			os.Exit(99)
		}
	}
	clock := guest.Clocksource{Current: "tsc", Available: []string{"tsc", "hpet"}}
	for step := range strings.SplitSeq(steps, ";") {
		what, arg, _ := strings.Cut(step, " ")
		switch what {
		case "hello":
			send(guest.Record{Type: guest.TypeHello, UptimeNS: 1e9, Hello: &guest.Hello{Schema: guest.Schema, Release: "5.10.0", CPUs: 2, Clocksource: clock}})
		case "kmsg":
			send(guest.Record{Type: guest.TypeKmsg, UptimeNS: 2e9, Kmsg: arg})
		case "flood":
			for range 40 {
				send(guest.Record{Type: guest.TypeOutput, Output: &guest.Output{Stream: "stdout", Text: strings.Repeat("x", 1<<20/4)}})
			}
		case "load":
			send(guest.Record{Type: guest.TypeLoad, Load: &load.Work{Kind: load.Net, DrivenNS: 2e9, Bytes: 5}})
		case "file": // PATH OFFSET TEXT [last|cut]
			fields := append(strings.Fields(arg), "")
			p := guest.FilePart{Path: fields[0], Data: []byte(fields[2]), Last: fields[3] != "", Cut: fields[3] == "cut"}
			fmt.Sscan(fields[1], &p.Offset)
			send(guest.Record{Type: guest.TypeFile, File: &p})
		case "big": // PATH: a file of the longest
			for at := int64(0); at < guest.MaxFile; at += guest.FileChunk {
				send(guest.Record{Type: guest.TypeFile, File: &guest.FilePart{
					Path: arg, Offset: at, Data: make([]byte, guest.FileChunk), Last: at == guest.MaxFile-guest.FileChunk,
				}})
			}
		case "out":
			send(guest.Record{Type: guest.TypeOutput, Output: &guest.Output{Stream: "stdout", Text: arg}})
		case "trouble":
			send(guest.Record{Type: guest.TypeTrouble, Trouble: arg})
		case "end":
			send(guest.Record{Type: guest.TypeEnd, UptimeNS: 3e9, End: &guest.End{Reason: guest.EndWindow, DweltNS: 2e9, Clocksource: clock}})
		case "noise":
			fmt.Fprintln(records, "\x1b[2J noise")
		case "console":
			fmt.Println(arg)
		case "part": // of a line
			fmt.Print(arg)
		case "fill":
			fmt.Print(strings.Repeat("a line of the console\n", 2*consoleKept/22))
		case "stderr":
			fmt.Fprintln(os.Stderr, arg)
		case "child": // another program that holds our pipes, as QEMU's exec: has
			self, err := os.Executable()
			if err != nil {
				panic(err)
			}
			p, err := os.StartProcess(self, []string{self, fakeFlag, "hang"}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr, records}})
			if err != nil {
				panic(err)
			}
			fmt.Printf("child %d\n", p.Pid)
		case "state": // read that from which we go on, and write it where the guest cannot
			in := os.NewFile(stateFD, "state")
			b, err := io.ReadAll(in)
			if err != nil {
				panic(err)
			}
			if err := os.WriteFile(arg, b, 0o600); err != nil {
				panic(err)
			}
		case "rest": // of a record that was cut
			fmt.Fprintln(records, `nd":"window"}}`)
		case "save": // serve QMP, and send the file as our state when we are asked for it
			fakeQMP(os.Args[slices.Index(os.Args, "-qmp")+1], arg)
		case "hang":
			time.Sleep(time.Hour)
		case "files": // what stands in the command line is there
			for _, flag := range []string{"-kernel", "-initrd"} {
				i := slices.Index(os.Args, flag)
				st, err := os.Stat(os.Args[i+1])
				if err != nil {
					return 98
				}
				fmt.Printf("%s %d bytes\n", flag, st.Size())
			}
		case "exit":
			var code int
			fmt.Sscan(arg, &code)
			return code
		default:
			panic(step)
		}
	}
	return 2*guest.ExitValue + 1
}

// fakeQMP serves one connection, and ends with it. The state that it sends when it
// is asked for it is the content of a file, or it says that it failed.
func fakeQMP(address, state string) {
	path, _, _ := strings.Cut(strings.TrimPrefix(address, "unix:"), ",")
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, `{"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 22}}}}`)
	status := "completed"
	for in := bufio.NewScanner(conn); in.Scan(); {
		var c struct {
			Execute   string `json:"execute"`
			Arguments struct {
				URI string `json:"uri"`
			} `json:"arguments"`
			ID int `json:"id"`
		}
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			panic(err)
		}
		answer := `{}`
		switch c.Execute {
		case "migrate":
			b, err := os.ReadFile(state)
			if err != nil {
				status = "failed"
				break
			}
			to, err := net.Dial("unix", strings.TrimPrefix(c.Arguments.URI, "unix:"))
			if err != nil {
				panic(err)
			}
			if _, err := to.Write(b); err != nil {
				status = "failed"
			}
			to.Close()
		case "query-migrate":
			answer = fmt.Sprintf(`{"status": %q, "error-desc": "Broken pipe"}`, status)
		}
		fmt.Fprintf(conn, "{\"return\": %s, \"id\": %d}\n", answer, c.ID)
	}
}

// kernelFile makes a vmlinux of a few bytes that QEMU would start, if it were code.
func kernelFile(t *testing.T, pvh bool) string {
	t.Helper()
	const header, segment = 64, 56
	note := []byte("\x04\x00\x00\x00\x04\x00\x00\x00\x12\x00\x00\x00Xen\x00\x00\x00\x00\x01")
	if !pvh {
		note[8] = 1
	}
	le := binary.LittleEndian
	b := make([]byte, header+2*segment)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[18:], 62)
	le.PutUint64(b[32:], header)
	le.PutUint16(b[54:], segment)
	le.PutUint16(b[56:], 2)
	for i, kind := range []uint32{1, 4} {
		le.PutUint32(b[header+i*segment:], kind)
		le.PutUint64(b[header+i*segment+8:], uint64(len(b)))
		le.PutUint64(b[header+i*segment+32:], uint64(len(note)))
	}
	b = append(b, note...)
	path := filepath.Join(t.TempDir(), "vmlinux")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeConfig is a machine on which this test program is QEMU, and where a boot
// leaves no file behind.
func fakeConfig(t *testing.T) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "guest")
	if err := os.WriteFile(program, []byte("the guest program"), 0o700); err != nil {
		t.Fatal(err)
	}
	tmp, err := os.MkdirTemp("", "cswatch-fake-") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	t.Cleanup(func() {
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("the boot left %v behind, error %v", left, err)
		}
		if err := os.RemoveAll(tmp); err != nil {
			t.Error(err)
		}
	})
	return Config{QEMU: self, Guest: program, Cache: t.TempDir()}
}

func fakeSpec(t *testing.T, steps string) Spec {
	t.Helper()
	return Spec{Kernel: kernelFile(t, true), Limit: time.Minute, Extra: []string{fakeFlag, steps}}
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// gone waits until a process has ended.
func gone(pid int) bool {
	for range 500 {
		if syscall.Kill(pid, 0) != nil || zombie(pid) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// zombie reports whether a process has ended, and only its parent has not
// noticed, as in a container whose process 1 does not wait.
func zombie(pid int) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	_, rest, _ := strings.Cut(line, ") ")
	return strings.HasPrefix(rest, "Z")
}

// asJSON is a value as it would be stored.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
