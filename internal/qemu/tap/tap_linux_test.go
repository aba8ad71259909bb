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

// awaitSize waits until the pipe takes so many bytes.
func awaitSize(t *testing.T, w *os.File, want int) {
	t.Helper()
	for size := 0; size != want; time.Sleep(time.Millisecond) {
		var err error
		if size, err = unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0); err != nil {
			t.Fatal(err)
		}
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
	tap.Arm()
	awaitSize(t, w, pageSize)
	// What is left of the first dump may be held now. With another one behind it, whose end fits into the
	// pipe only when its beginning was let go, an empty pipe means that no hold is under way.
	write()
	awaitEmpty(t, w)
	if took := write(); took < held {
		t.Errorf("a dump took %v, want %v at least", took, held)
	}
	tap.Disarm()
	awaitSize(t, w, roomy)
	write()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	counts, err := tap.Close()
	if err != nil || counts.Held == 0 {
		t.Errorf("counts %+v, error %v", counts, err)
	}
}

// awaitEmpty waits until everything that was written to a pipe has been read.
func awaitEmpty(t *testing.T, w *os.File) {
	t.Helper()
	for range 10_000 {
		left, err := unix.IoctlGetInt(int(w.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the pipe is never read to its end")
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

// scripted draws what it is told, then nothing, and counts.
type scripted struct {
	delays []time.Duration
	asked  int
}

func (s *scripted) Next() time.Duration {
	s.asked++
	if s.asked > len(s.delays) {
		return 0
	}
	return s.delays[s.asked-1]
}

func (s *scripted) String() string { return "scripted" }

// guestWriter writes what QEMU does while a guest reads the counter: for each read a
// dump in several writes, the last of them of many lines, and a line for the read.
type guestWriter struct {
	t      *testing.T
	w      *os.File
	reads  int
	stamps []time.Time // when each read was there
}

func (g *guestWriter) read() {
	g.t.Helper()
	dump := []string{"Trace 0: 0x7f [0/0/0] \n", strings.Repeat("RAX=0000000000000000 RBX=0000000000000000\n", 34), strings.Repeat("FPR0=0000000000000000 0000 FPR1=0000000000000000 0000\n", 25)}
	g.reads++
	line := fmt.Sprintf("1@1.%06d:memory_region_ops_read cpu 0 mr 0x1 addr 0xfed000f0 value %#x size 4 name 'hpet'\n", g.reads, g.reads)
	for _, text := range dump {
		if _, err := g.w.WriteString(text); err != nil {
			g.t.Fatal(err)
		}
	}
	g.stamps = append(g.stamps, time.Now())
	if _, err := g.w.WriteString(line); err != nil {
		g.t.Fatal(err)
	}
}

// Each attempt has a draw of its own. One that is to be held is, before its second
// read; one that went by in the meantime is missed, and its draw with it.
func TestEachAttemptIsHeldAsItsOwnDrawSays(t *testing.T) {
	const d = 30 * time.Millisecond
	model := &scripted{delays: []time.Duration{0, d, 0, d, d, 0}}
	var got []uint64
	tap := aTap(t, &Hold{Address: 0x1000, Model: model, Attempt: 3}, func(r Read) { got = append(got, r.Value) })
	g := &guestWriter{t: t, w: open(t, tap)}
	tap.Arm()
	for range 6 { // checks of one attempt each
		for range 3 {
			g.read()
		}
		time.Sleep(pause + 20*time.Millisecond) // what separates checks
	}
	if err := g.w.Close(); err != nil {
		t.Fatal(err)
	}
	counts, err := tap.Close()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 18 {
		t.Fatalf("%d reads came out, want 18", len(got))
	}
	if counts.Held+counts.Missed != 3 || model.asked != 6+2 {
		t.Errorf("held %d, missed %d, the model was asked %d times; want 3 in all, and two draws ahead", counts.Held, counts.Missed, model.asked)
	}
	long := 0
	for i := 0; i < len(g.stamps); i += 3 {
		if g.stamps[i+1].Sub(g.stamps[i]) >= d-time.Millisecond {
			long++
		}
	}
	if long < counts.Held {
		t.Errorf("%d attempts took so long before their second read, %d were held", long, counts.Held)
	}
}

// In an episode the attempts of one check follow each other at once.
func TestAttemptsOfOneCheckAreHeldOneAfterAnother(t *testing.T) {
	const d, attempts = 5 * time.Millisecond, 8
	model := &scripted{}
	for range attempts {
		model.delays = append(model.delays, d)
	}
	tap := aTap(t, &Hold{Address: 0x1000, Model: model, Attempt: 3}, func(Read) {})
	g := &guestWriter{t: t, w: open(t, tap)}
	tap.Arm()
	awaitSize(t, g.w, pageSize)
	for range 3 * attempts {
		g.read()
	}
	if err := g.w.Close(); err != nil {
		t.Fatal(err)
	}
	counts, err := tap.Close()
	if err != nil {
		t.Fatal(err)
	}
	// Later ones may go by before the pipe takes one page again.
	if counts.Held == 0 || counts.Held+counts.Missed != attempts {
		t.Errorf("held %d, missed %d of %d", counts.Held, counts.Missed, attempts)
	}
	t.Logf("%+v", counts)
}
