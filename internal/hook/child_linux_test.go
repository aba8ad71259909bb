package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// childWord is the first argument of the test binary where it is the command that is run.
const childWord = "the-command-of-a-hook"

// The test binary is the command that is run, too: its environment is what is tested, so its arguments say so.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childWord {
		child(os.Args[2], os.Args[3:])
	}
	os.Exit(m.Run())
}

// report is what a child finds.
type report struct {
	Args        []string
	Environment []string
	Folder      string
	Input       string
	Descriptors map[int]string
	Leader      bool // of its process group
}

// child is the command. What it has to do is its first word.
func child(does string, args []string) {
	switch does {
	case "report": // FILE [WORD]...
		write(args[0], mustJSON(look(args)))
	case "print": // BYTES: so many, to both outputs in turn
		n := must(strconv.Atoi(args[0]))
		for i := 0; n > 0; i++ {
			part := bytes.Repeat([]byte{byte('a' + i%26)}, min(n, 1000))
			n -= len(part)
			must([]*os.File{os.Stdout, os.Stderr}[i%2].Write(part))
		}
	case "exit": // CODE
		exit(must(strconv.Atoi(args[0])))
	case "obedient": // FIFO
		ready(args[0])
	case "stubborn": // FIFO: it, and a child of its, hold the FIFO and do not obey
		signal.Ignore(syscall.SIGTERM)
		hold := must(os.OpenFile(args[0], os.O_WRONLY, 0))
		descendant(nil, "stubborn-descendant", args[0])
		syscall.Pause()
		_ = hold.Close()
	case "stubborn-descendant":
		signal.Ignore(syscall.SIGTERM)
		ready(args[0])
	case "leaves": // FIFO: ends well, and leaves a child
		out := descendant(nil, "left-descendant", args[0])
		must(out.Read(make([]byte, 1)))
	case "left-descendant":
		tell(args[0])
		must(os.Stdout.Write([]byte{'.'}))
		syscall.Pause()
	case "escapes": // FIFO: ends well, and leaves one that left the group, with our output
		descendant(&syscall.SysProcAttr{Setsid: true}, "obedient", args[0])
	}
	exit(0)
}

// look says what the child sees.
func look(args []string) report {
	r := report{Args: args, Environment: os.Environ(), Descriptors: map[int]string{}, Leader: syscall.Getpgrp() == os.Getpid()}
	r.Folder = must(os.Readlink("/proc/self/cwd"))
	for _, e := range must(os.ReadDir("/proc/self/fd")) {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err == nil { // the one of the folder itself is closed
			r.Descriptors[must(strconv.Atoi(e.Name()))] = to
		}
	}
	r.Input = string(must(io.ReadAll(os.Stdin)))
	return r
}

// descendant starts one. Without attributes its output is returned, else it is ours.
func descendant(attributes *syscall.SysProcAttr, args ...string) io.Reader {
	c := exec.Command(must(os.Executable()), append([]string{childWord}, args...)...)
	c.SysProcAttr = attributes
	var out io.Reader
	if attributes == nil {
		out = must(c.StdoutPipe())
	} else {
		c.Stdout = os.Stdout
	}
	if err := c.Start(); err != nil {
		fail(err)
	}
	return out
}

// toldBy is the FIFO, as long as the process lives.
var toldBy *os.File

// tell tells the test the number of the process, once the test listens.
func tell(fifo string) {
	toldBy = must(os.OpenFile(fifo, os.O_WRONLY, 0))
	must(toldBy.WriteString(strconv.Itoa(os.Getpid()) + "\n"))
}

// ready does so, and waits for the end.
func ready(fifo string) {
	tell(fifo)
	syscall.Pause()
}

func write(name string, b []byte) {
	if err := os.WriteFile(name, b, 0o600); err != nil {
		fail(err)
	}
}

func mustJSON(v any) []byte { return must(json.Marshal(v)) }

func must[T any](v T, err error) T {
	if err != nil {
		fail(err)
	}
	return v
}

func fail(err error) {
	os.Stderr.WriteString(err.Error() + "\n")
	exit(99)
}

// exit ends without the second for which the race detector waits, since its environment is not ours to set.
func exit(code int) { _, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0) }
