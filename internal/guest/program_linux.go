package guest

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// program is what the plan runs.
type program struct {
	cmd   *exec.Cmd
	ended chan int // gets the exit code, once
}

// startProgram starts the program; each line that it writes goes to say.
func startProgram(argv []string, say func(Record)) (*program, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/", "HOME=/", "TERM=dumb"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var readers sync.WaitGroup
	for name, pipe := range map[string]func() (io.ReadCloser, error){"stdout": cmd.StdoutPipe, "stderr": cmd.StderrPipe} {
		r, err := pipe()
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", strings.Join(argv, " "), err)
		}
		readers.Go(func() {
			readLines(r, func(text string) {
				say(Record{Type: TypeOutput, Output: &Output{Stream: name, Text: text}})
			})
		})
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", strings.Join(argv, " "), err)
	}
	p := &program{cmd: cmd, ended: make(chan int, 1)}
	go func() {
		readers.Wait()
		_ = cmd.Wait() // the exit code says it all; -1 stands for a signal
		p.ended <- cmd.ProcessState.ExitCode()
	}()
	return p, nil
}

// kill ends the program and all that it started, and returns its exit code.
func (p *program) kill() int {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	return <-p.ended
}

// outputLimit bounds a line of output.
const outputLimit = 64 << 10

// readLines calls f for every line of r, cut at outputLimit.
func readLines(r io.Reader, f func(string)) {
	in := bufio.NewReaderSize(r, outputLimit)
	for cut := false; ; {
		line, err := in.ReadSlice('\n')
		if !cut && (len(line) > 0 || err == nil) {
			f(strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD"))
		}
		cut = err == bufio.ErrBufferFull
		if err != nil && !cut {
			return
		}
	}
}
