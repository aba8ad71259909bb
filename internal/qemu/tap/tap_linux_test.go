package tap

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fixed holds for the same time wherever it may.
type fixed time.Duration

func (f fixed) Next() time.Duration { return time.Duration(f) }
func (f fixed) String() string      { return time.Duration(f).String() }

// open is QEMU's end of the pipe.
func open(t *testing.T, tap *Tap) *os.File {
	t.Helper()
	args := tap.Args()
	for i, a := range args {
		if a == "-D" {
			f, err := os.OpenFile(args[i+1], os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
	}
	t.Fatalf("no -D among %q", args)
	return nil
}

func aTap(t *testing.T, hold *Hold, emit func(Read)) *Tap {
	t.Helper()
	tap, err := New(t.TempDir(), hold, emit)
	if err != nil {
		t.Fatal(err)
	}
	return tap
}

func TestEveryReadComesOutOnceHoweverTheLinesAreCut(t *testing.T) {
	for _, hold := range []*Hold{nil, {Address: 0x1000, Model: fixed(time.Microsecond)}} {
		t.Run(fmt.Sprintf("hold %v", hold != nil), func(t *testing.T) {
			var got []uint64
			tap := aTap(t, hold, func(r Read) { got = append(got, r.Value) })
			tap.Arm()
			w := open(t, tap)
			var text strings.Builder
			const n = 500
			for i := range n {
				fmt.Fprintf(&text, "Trace 0: 0x7f [0/0/0] \nRAX=0\n1@1.%06d:memory_region_ops_read cpu 0 mr 0x1 addr 0xfed000f0 value %#x size 4 name 'hpet'\n", i, i)
			}
			for rest := text.String(); len(rest) > 0; {
				piece := rest[:min(len(rest), 37)]
				if _, err := w.WriteString(piece); err != nil {
					t.Fatal(err)
				}
				rest = rest[len(piece):]
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := tap.Close(); err != nil {
				t.Fatal(err)
			}
			if len(got) != n {
				t.Fatalf("%d reads, want %d", len(got), n)
			}
			for i, v := range got {
				if v != uint64(i) {
					t.Fatalf("read %d is %d", i, v)
				}
			}
		})
	}
}

// A writer that fills the page stands until the tap reads on, and only once the tap is armed.
func TestAnArmedTapHoldsTheWriter(t *testing.T) {
	const held = 20 * time.Millisecond
	tap := aTap(t, &Hold{Address: 0x1000, Model: fixed(held)}, func(Read) {})
	w := open(t, tap)
	dump := "Trace 0: 0x7f [0/0/0] \n" + strings.Repeat("RAX=0000000000000000 RBX=0000000000000000\n", 150) // more than a page
	write := func() time.Duration {
		began := time.Now()
		for line := range strings.Lines(dump) {
			if _, err := w.WriteString(line); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	write()
	await := func(want int) {
		for size := 0; size != want; time.Sleep(time.Millisecond) {
			var err error
			if size, err = unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	tap.Arm()
	await(pageSize)
	if took := write(); took < held {
		t.Errorf("a dump took %v, want %v at least", took, held)
	}
	tap.Disarm()
	await(roomy)
	write()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	counts, err := tap.Close()
	if err != nil || counts.Held == 0 {
		t.Errorf("counts %+v, error %v", counts, err)
	}
}

func TestThePipeIsGoneAfterwards(t *testing.T) {
	dir := t.TempDir()
	tap, err := New(dir, nil, func(Read) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir, nil, func(Read) {}); err == nil || !strings.Contains(err.Error(), "make the pipe") {
		t.Errorf("a second tap in the folder: error %v", err)
	}
	if _, err := tap.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
