package hw

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/google/go-cmp/cmp"
)

// looseTeam is a team whose threads run anywhere, except that those CPUs cannot be had.
func looseTeam(gone map[int]error) *Team {
	pin := func(cpu int) error { return gone[cpu] }
	return newTeam(pin, func(cpu int) (func(), error) { return func() {}, gone[cpu] })
}

func TestTeamRunsJobsAndEnds(t *testing.T) {
	team := looseTeam(nil)
	var ran atomic.Int32
	for range 3 {
		for cpu := range 4 {
			if err := team.Do(t.Context(), cpu, func() { ran.Add(1) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran.Load() != 12 {
		t.Errorf("%d jobs ran, want 3 on each of 4 CPUs", ran.Load())
	}
	team.Close()
	team.Close()
	if err := team.Do(t.Context(), 0, func() {}); err == nil {
		t.Error("a closed team took a job")
	}
}

func TestTeamSaysWhatItCannotDo(t *testing.T) {
	offline := errors.New("it is offline")
	team := looseTeam(map[int]error{9: offline})
	defer team.Close()
	if err := team.Do(t.Context(), 9, func() { t.Error("ran on a CPU that is offline") }); !errors.Is(err, offline) {
		t.Errorf("error %v, want that of binding the thread", err)
	}

	started, release := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- team.Do(ctx, 1, func() { close(started); <-release }) }()
	<-started
	if err := team.Do(t.Context(), 1, func() {}); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	close(release)
}

func TestExchangeAlternates(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("only one thread of this program may run at a time")
	}
	team := looseTeam(nil) // threads on any CPU alternate as well
	defer team.Close()
	// Others use this machine: an exchange may be disturbed, not all of a hundred.
	for range 100 {
		e, err := team.Exchange(0, 1, clocksource.Nanos(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if !e.Completed {
			continue
		}
		if e.TimedOut || e.Busy || len(e.Control) != sideReads || len(e.Remote) != sideReads {
			t.Fatalf("completed and yet %+v", e)
		}
		stamps, n := e.Stamps()
		if n != exchangeReads || stamps[0] != e.Control[0] || stamps[1] != e.Remote[0] || stamps[9] != e.Remote[4] {
			t.Fatalf("stamps %v of %+v", stamps, e)
		}
		// The first two are taken side by side, all others one after another.
		if after := stamps[1:]; e.Backwards() == 0 && !slices.IsSorted(after[1:]) {
			t.Fatalf("stamps out of order: %v", stamps)
		}
		return
	}
	t.Error("none of a hundred exchanges was completed")
}

func TestExchangeOfOneCPUIsNotPossible(t *testing.T) {
	team := looseTeam(nil)
	defer team.Close()
	var n *NotHere
	if _, err := team.Exchange(3, 3, 0); !errors.As(err, &n) {
		t.Errorf("error %v, want a NotHere", err)
	}
	before := runtime.GOMAXPROCS(1)
	_, err := team.Exchange(0, 1, 0)
	runtime.GOMAXPROCS(before)
	if !errors.As(err, &n) {
		t.Errorf("error %v with one thread at a time, want a NotHere", err)
	}
}

func TestExchangeWithACPUThatIsGone(t *testing.T) {
	if !hasAssembly || runtime.GOMAXPROCS(0) < 2 {
		t.Skip("no exchange is possible here")
	}
	gone := errors.New("it is offline")
	for _, dead := range []int{0, 1} {
		team := looseTeam(map[int]error{dead: gone})
		// On a busy machine the thread that finds out may be late, which counts as busy.
		e, err := team.Exchange(0, 1, 0)
		for tries := 0; err == nil && e.Busy && tries < 1000; tries++ {
			time.Sleep(time.Millisecond)
			e, err = team.Exchange(0, 1, 0)
		}
		if !errors.Is(err, gone) {
			t.Errorf("CPU %d is gone: %+v, error %v", dead, e, err)
		}
		team.Close()
	}
}

func TestExchangeWithABusyCPU(t *testing.T) {
	if !hasAssembly || runtime.GOMAXPROCS(0) < 2 {
		t.Skip("no exchange is possible here")
	}
	team := looseTeam(nil)
	defer team.Close()
	started, release := make(chan struct{}), make(chan struct{})
	if _, err := team.submit(1, func(error) error { close(started); <-release; return nil }); err != nil {
		t.Fatal(err)
	}
	<-started
	e, err := team.Exchange(0, 1, 0)
	close(release)
	if err != nil || !e.Busy || e.Completed || e.TimedOut {
		t.Errorf("%+v, %v; want busy", e, err)
	}
}

func TestASideThatWaitsTooLongEndsTheExchange(t *testing.T) {
	p := &pingPong{base: time.Now(), timeout: 20 * time.Microsecond}
	p.side(0) // and no other side
	if p.failed.Load() == 0 || p.stamps[0].n != 1 || p.stamps[0].waited < p.timeout {
		t.Errorf("failed %d after %d reads and %v", p.failed.Load(), p.stamps[0].n, p.stamps[0].waited)
	}
	p.side(1) // the other side comes too late, and does not wait for itself
	var e Exchange
	e.take(p, 0)
	if e.Completed || !e.TimedOut || len(e.Control) != 1 || len(e.Remote) > 2 {
		t.Errorf("%+v, want a time-out", e)
	}
}

func TestTheTwoSidesOfAnExchangeMeetOrGiveUp(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("only one thread of this program may run at a time")
	}
	t.Run("nobody comes", func(t *testing.T) {
		p := &pingPong{base: time.Now()}
		if p.meet() {
			t.Error("the control side met nobody")
		}
		if p.await() {
			t.Error("a remote side that came too late was let in")
		}
	})
	t.Run("nobody looks", func(t *testing.T) {
		p := &pingPong{base: time.Now()}
		if p.await() {
			t.Error("the remote side was seen by nobody")
		}
		if p.meet() {
			t.Error("the control side met one that had gone")
		}
	})
	t.Run("the remote side comes late", func(t *testing.T) {
		for range 100 { // on a busy machine one of them may give up
			p := &pingPong{base: time.Now()}
			seen := make(chan bool, 1)
			go func() {
				time.Sleep(time.Millisecond)
				seen <- p.await()
			}()
			met, was := p.meet(), <-seen
			if met != was {
				t.Fatalf("the control side met the other: %v, which was seen: %v", met, was)
			}
			if met {
				return
			}
		}
		t.Error("the two sides met in none of a hundred tries")
	})
}

func TestARemoteReadLiesBetweenTheOwnOnes(t *testing.T) {
	if !hasAssembly {
		t.Skip("no counter can be read here")
	}
	gone := errors.New("it is offline")
	team := looseTeam(map[int]error{7: gone})
	defer team.Close()
	// The order holds however long each step takes, for CPUs whose counters agree as those of any machine that runs tests do.
	before, there, after, err := team.ReadRemote(0, 1)
	if err != nil || before == 0 || there < before || after < there {
		t.Errorf("%d, %d, %d, error %v", before, there, after, err)
	}
	if before, there, after, err := team.ReadRemote(0, 7); !errors.Is(err, gone) || there != before || after < before {
		t.Errorf("a CPU that is gone: %d, %d, %d, error %v", before, there, after, err)
	}
	if _, _, _, err := team.ReadRemote(7, 0); !errors.Is(err, gone) {
		t.Errorf("from a CPU that is gone: error %v", err)
	}
}

func TestTheTwoSidesAgreeWhetherTheyMet(t *testing.T) {
	// Comings and goings that overlap: a side that comes while the other leaves, one that sleeps
	// when the other comes, one that comes when the other is about to give up.
	met := 0
	for i := range 60 {
		p := &pingPong{base: time.Now()}
		seen := make(chan bool, 1)
		go func() {
			time.Sleep(time.Duration(i) * meetTime / 50)
			seen <- p.await()
		}()
		control := p.meet()
		if remote := <-seen; control != remote {
			t.Fatalf("%d: the control side says %v, the remote one %v", i, control, remote)
		}
		if control {
			met++
		}
		if w := p.meeting.word.Load(); (w&bothHere == bothHere) != control || (w&isOff != 0) == control {
			t.Fatalf("%d: the word is %#x after %v", i, w, control)
		}
	}
	t.Logf("%d of 60 met", met)
}

func TestAMeetingThatIsCancelledWakesWhoSleeps(t *testing.T) {
	for _, side := range []uint32{0, 1} {
		p := &pingPong{base: time.Now()}
		met := make(chan bool, 1)
		go func() { met <- p.meeting.meet(side, func() time.Duration { return 0 }) }() // a clock that never gives up
		p.meeting.cancel()
		if <-met {
			t.Errorf("side %d met nobody", side)
		}
	}
	p := &pingPong{base: time.Now()}
	p.meeting.word.Store(bothHere)
	p.meeting.cancel()
	if !p.meet() {
		t.Error("a meeting that was made was cancelled")
	}
}

func TestBackwardsFindsCountersThatDisagree(t *testing.T) {
	for _, tt := range []struct {
		name            string
		control, remote []clocksource.Cycles
		want            clocksource.Cycles
	}{
		{"counters that agree", []clocksource.Cycles{100, 120, 140, 160, 180}, []clocksource.Cycles{105, 130, 150, 170, 190}, 0},
		{"the two first reads follow nothing", []clocksource.Cycles{100, 120}, []clocksource.Cycles{50, 130}, 0},
		{"the remote counter is behind", []clocksource.Cycles{100, 120, 140, 160, 180}, []clocksource.Cycles{75, 100, 120, 140, 160}, 20},
		{"the remote counter is ahead", []clocksource.Cycles{100, 120, 140, 160, 180}, []clocksource.Cycles{1105, 1130, 1150, 1170, 1190}, 990},
		{"a wrap is no step back", []clocksource.Cycles{^clocksource.Cycles(9), 5}, []clocksource.Cycles{^clocksource.Cycles(4), 10}, 0},
		{"an exchange that was cut", []clocksource.Cycles{100, 120}, []clocksource.Cycles{130}, 10},
		{"nothing", nil, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Exchange{Control: tt.control, Remote: tt.remote}
			if got := e.Backwards(); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestStampsOfACutExchangeAreInOrder(t *testing.T) {
	for _, tt := range []struct {
		name            string
		control, remote []clocksource.Cycles
		want            []clocksource.Cycles
	}{
		{"all", []clocksource.Cycles{1, 3, 5, 7, 9}, []clocksource.Cycles{2, 4, 6, 8, 10}, []clocksource.Cycles{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"the remote side stopped", []clocksource.Cycles{1, 3, 5}, []clocksource.Cycles{2, 4}, []clocksource.Cycles{1, 2, 3, 4, 5}},
		{"the remote side never came", []clocksource.Cycles{1}, nil, []clocksource.Cycles{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Exchange{Control: tt.control, Remote: tt.remote}
			stamps, n := e.Stamps()
			if d := cmp.Diff(tt.want, stamps[:n]); d != "" {
				t.Error(d)
			}
		})
	}
}
