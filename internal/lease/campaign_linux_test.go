package lease

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A campaign of kills of a real program on a real machine, which must be one that may lose its clocksource: a guest.
var (
	killed = flag.String("kill", "", "program whose switching runs are killed on this machine, again and again")
	kills  = flag.Int("kills", 50, "how often")
	seed   = flag.Uint64("kill-seed", 1, "names the moments")
)

// kill is what came of one, as a line on standard output.
type kill struct {
	After   int64  `json:"after_ns"` // from the program's start
	Current string `json:"current"`  // just before it
	Back    int64  `json:"back_ns"`  // until the old clocksource was current; -1: not within a minute
	Ended   bool   `json:"ended"`    // the program had ended by itself
}

// TestKillARealProgramAtRandomMoments runs where -kill names a program, in a guest. It
// prints what it saw, which whoever started the guest judges.
func TestKillARealProgramAtRandomMoments(t *testing.T) {
	if *killed == "" {
		t.Skip("no program was named with -kill")
	}
	f := folder(sysfs)
	old, err := f.current()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	run := func() *exec.Cmd {
		c := exec.Command(*killed, "bench", "clock", "--switch", "--part", "costs", "--duration", "300ms")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		c.Stderr = os.Stderr
		return c
	}
	// How long it takes when it is left alone, so that kills come at any moment of it.
	start := time.Now()
	if err := run().Run(); err != nil {
		t.Fatal("left alone:", err)
	}
	whole := time.Since(start)
	// A guest may have begun with the clocksource of its first seconds.
	offered, err := f.available()
	if err != nil {
		t.Fatal(err)
	}
	old = Successor(old, offered)
	fmt.Printf("{\"whole_ns\":%d,\"old\":%q}\n", whole.Nanoseconds(), old)
	for range *kills {
		c := run()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		k := kill{After: random.Int64N(whole.Nanoseconds()), Back: -1}
		time.Sleep(time.Duration(k.After))
		k.Current, _ = f.current()
		k.Ended = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) != nil
		at := time.Now()
		for time.Since(at) < time.Minute {
			if now, err := f.current(); err == nil && now == old {
				k.Back = time.Since(at).Nanoseconds()
				break
			}
			time.Sleep(time.Millisecond)
		}
		_ = c.Wait()
		freed(t, Config{State: "/run/cswatch"})
		// Only now nothing is under way that could still switch.
		if now, err := f.current(); err != nil || now != old {
			k.Back = -1
		}
		line, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s\n", line)
	}
}
