package report

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

const second = clocksource.NanosPerSecond

// replayed is a replay of 120 ticks through three watchdogs: one condemns for
// latency, one for skew on doubtful data, and one passes most ticks over.
func replayed(clocks ...string) *Replay {
	r := &Replay{Inputs: ReplayInputs{File: "boot.trace", Eras: []string{"E5", "6.3", "E12"}, Retries: []int{3}}}
	h := &r.Recording.Header
	h.Schema, h.Source, h.Recorder, h.Machine, h.Kernel = trace.Schema, trace.Live, "cswatch v1.2.3", "db01", "6.1.0-57-amd64, 6.1.192"
	h.Online, h.Reference.Name, h.ReadBacks, h.Interval, h.Pattern = trace.FirstCPUs(8), "hpet", 8, second/2, watchdog.ReadFour
	for _, name := range clocks {
		h.Watched = append(h.Watched, trace.Clock{Name: name})
	}
	r.Recording.Form, r.Recording.Ticks, r.Recording.Ended = trace.Binary, 120, true
	r.Recording.First, r.Recording.Last = 10*second, 10*second+119*second/2
	watch := func(e watchdog.Era, release string, retries int, by string) *ReplayColumn {
		c := NewReplayColumn(Watch{Era: e, Release: release, Retries: retries, Reference: "hpet", Clocks: clocks}, by)
		r.Columns = append(r.Columns, c)
		return c
	}
	e5, e7, e12 := watch(watchdog.E5, "", 3, RetriesGiven), watch(watchdog.E7, "6.3.0", 3, RetriesGiven), watch(watchdog.E12, "", 2, RetriesDefault)
	for n := range uint64(120) {
		for i := range clocks {
			v := watchdog.Verdict{Tick: n + 1, Time: 10*second + clocksource.Nanos(n)*second/2, Clock: i, Kind: watchdog.Agreed, Attempts: 1, Allowed: 4}
			if n == 0 {
				v.Kind = watchdog.Initialised
			}
			first := trace.Result{Verdict: v, Seq: n + 1, Exact: true}
			second, third := first, first
			switch {
			case n == 57:
				first.Kind, first.Attempts, first.Delay, first.ReadLimit = watchdog.CondemnedDelay, 4, 60_666, 50_000
			case n > 57:
				first.Kind, first.Attempts = watchdog.AlreadyCondemned, 0
			}
			if n == 30 {
				second.Kind = watchdog.Skipped
			}
			if n >= 90 {
				third.Exact, third.Doubts, third.Why = false, trace.DoubtCPU, "the check would have run on CPU 0, and the read-backs are of CPU 1"
				if n > 90 {
					third.Doubts, third.Why = trace.DoubtEarlier, "follows the approximate answer of tick 91: of CPU 1"
				}
			}
			if n == 100 {
				third.Kind, third.Compared, third.Skew, third.SkewLimit = watchdog.CondemnedSkew, true, -312_500, 246_700
			} else if n > 100 {
				third.Kind = watchdog.AlreadyCondemned
			}
			e5.Add(n+1, []trace.Result{first}, "")
			e12.Add(n+1, []trace.Result{third}, "")
			if n > 30 {
				e7.Add(n+1, nil, "the next check is due later")
			} else {
				e7.Add(n+1, []trace.Result{second}, "")
			}
		}
	}
	return r
}

func TestAReplayIsShownAsItWas(t *testing.T) {
	damaged := replayed("tsc", "jiffies")
	damaged.Recording.Damage, damaged.Recording.Ended = "the recording is cut off at byte 900", false
	golden(t, "replay", &txtar.Archive{Files: []txtar.File{
		section(t, "text", func(w io.Writer) error { return ReplayText(w, replayed("tsc"), TextOptions{Width: DefaultWidth}) }),
		section(t, "two clocks, damaged, ASCII, 44 columns", func(w io.Writer) error {
			return ReplayText(w, damaged, TextOptions{Width: 44, ASCII: true})
		}),
		section(t, "json", func(w io.Writer) error { return ReplayJSON(w, replayed("tsc")) }),
	}})
}

func TestAVerificationIsShownAsItWas(t *testing.T) {
	whole := replayed("tsc")
	whole.Recording.ReadBacks, whole.Recording.Exchanges, whole.Recording.Late = 1912, 105, [4]uint64{1900, 3, 4, 5}
	v := &Verification{File: "-", Whole: true, Recording: whole.Recording, Eras: whole.Columns}
	bad := *v
	bad.File, bad.Whole, bad.Recording.Damage, bad.Recording.Gaps, bad.Recording.Form = "boot.trace", false, "the checksum is 1, want 2", 2, trace.JSONLines
	bad.Recording.Header.Exchanges, bad.Recording.Header.Notes = true, []string{"interrupts were on"}
	golden(t, "verification", &txtar.Archive{Files: []txtar.File{
		section(t, "text", func(w io.Writer) error { return VerificationText(w, v, TextOptions{Width: DefaultWidth}) }),
		section(t, "damaged, 60 columns", func(w io.Writer) error { return VerificationText(w, &bad, TextOptions{Width: 60}) }),
		section(t, "json", func(w io.Writer) error { return VerificationJSON(w, v) }),
	}})
}

func TestAReplayKeepsToTheWidth(t *testing.T) {
	for _, width := range []int{36, 60, 80, 100} {
		text := output(t, func(w io.Writer) error { return ReplayText(w, replayed("tsc", "jiffies"), TextOptions{Width: width}) })
		for line := range strings.Lines(text) {
			if n := columns(strings.TrimSuffix(line, "\n")); n > max(width, leastText+factColumn) {
				t.Errorf("at %d columns a line has %d: %q", width, n, line)
			}
		}
	}
}

func TestEachColumnOfAReplayIsInOneBlock(t *testing.T) {
	for _, width := range []int{36, 50, 60, 0} {
		text := output(t, func(w io.Writer) error { return ReplayText(w, replayed("tsc"), TextOptions{Width: width}) })
		var eras []string
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "era "); ok {
				eras = append(eras, strings.Fields(rest)...)
			}
		}
		if diff := cmp.Diff([]string{"E5", "E7", "E12"}, eras); diff != "" {
			t.Errorf("at %d columns (-want +got):\n%s", width, diff)
		}
	}
}

func TestNothingInARecordingReachesATerminal(t *testing.T) {
	r := replayed(evil, "tsc")
	h := &r.Recording.Header
	h.Recorder, h.Machine, h.Kernel, h.Reference.Name, h.Notes = evil, evil, evil, evil, []string{evil}
	h.Source, h.Simulation = trace.Simulated, &trace.Simulation{Model: evil}
	r.Inputs.File, r.Recording.Damage = evil, evil
	r.Columns[0].Release, r.Columns[1].WhyPassed = evil, evil
	r.Columns[2].Clocks[0].Doubts[0].Why = evil
	v := &Verification{File: evil, Recording: r.Recording, Eras: r.Columns}
	for _, opt := range []TextOptions{{}, {Width: 40}, {Width: 80, ASCII: true}} {
		harmless(t, "the replay", output(t, func(w io.Writer) error { return ReplayText(w, r, opt) }))
		harmless(t, "the verification", output(t, func(w io.Writer) error { return VerificationText(w, v, opt) }))
	}
	harmless(t, "the replay as JSON", output(t, func(w io.Writer) error { return ReplayJSON(w, r) }))
	harmless(t, "a tick", output(t, func(w io.Writer) error {
		return NewTickWriter(w).Tick(r.Columns[0].Clocks[0].Condemned)
	}))
}

func TestANameLikeAKernelMessageIsNotTakenForOne(t *testing.T) {
	name := "clocksource: timekeeping watchdog on CPU3: hpet read-back delay of 60666ns, attempt 4, marking unstable"
	r := replayed("[    1.000000] " + name)
	r.Inputs.File = "[    1.000000] " + name
	text := output(t, func(w io.Writer) error { return ReplayText(w, r, TextOptions{}) })
	if got := events(t, text); len(got) != 0 {
		t.Errorf("read as a log the page says %v:\n%s", got, text)
	}
	if !strings.Contains(text, "cswatch(replay): ") || strings.Contains(text, "cswatch(doctor)") {
		t.Errorf("the command's name is not in the prefix:\n%s", text)
	}
	v := &Verification{File: r.Inputs.File, Recording: r.Recording}
	text = output(t, func(w io.Writer) error { return VerificationText(w, v, TextOptions{}) })
	if got := events(t, text); len(got) != 0 || !strings.Contains(text, "cswatch(trace): ") {
		t.Errorf("read as a log the page says %v:\n%s", got, text)
	}
	d := watched()
	d.Reference.Reason = strings.Repeat("clocksource: Switched to clocksource hpet ", 4)
	text = output(t, func(w io.Writer) error { return WatchHead(w, d, TextOptions{Width: 47}) })
	if got := events(t, text); len(got) != 0 {
		t.Errorf("read as a log the head of a watch says %v:\n%s", got, text)
	}
}

func TestSharesAreRoundedAwayFromAllAndNothing(t *testing.T) {
	cases := []struct {
		part, whole uint64
		want        string
	}{
		{0, 0, ""}, {0, 5, "0 %"}, {5, 5, "100 %"}, {1, 3, "33.3 %"}, {1, 100_000, "0.1 %"}, {99_999, 100_000, "99.9 %"},
	}
	for _, c := range cases {
		if got := share(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d is %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestRunsOfWatchdogsAreJoined(t *testing.T) {
	names := []string{"E0", "E1", "E2", "E3", "E4", "LTS-5.10.50", "LTS-6.1.78", "LTS-6.1.192",
		"E5 with 2 retries", "E5 with 3 retries", "E5 with 4 retries"}
	cases := []struct {
		at   []int
		want string
	}{
		{nil, ""},
		{[]int{2}, "E2"},
		{[]int{1, 2}, "E1 and E2"},
		{[]int{0, 1, 2, 4}, "E0 to E2 and E4"},
		{[]int{0, 2, 3, 4, 5, 6, 7}, "E0, E2 to E4 and LTS-5.10.50 to LTS-6.1.192"},
		{[]int{3, 4, 5}, "E3, E4 and LTS-5.10.50"},
		{[]int{7, 8, 9, 10}, "LTS-6.1.192, E5 with 2 retries, E5 with 3 retries and E5 with 4 retries"},
	}
	for _, c := range cases {
		if got := runs(names, c.at); got != c.want {
			t.Errorf("%v: %q, want %q", c.at, got, c.want)
		}
	}
}

func TestMagnitudesRoundIntoTheNextUnit(t *testing.T) {
	cases := map[clocksource.Nanos]string{
		0: "0 ns", 9_999: "9999 ns", 10_000: "10.0 µs", -160_666: "-160.7 µs", 9_999_949: "9999.9 µs", 9_999_950: "10.0 ms",
		9_999_950_000: "10.0 s", -1 << 63: "-9223372036.9 s",
	}
	for ns, want := range cases {
		if got := known(some(ns)); got != want {
			t.Errorf("%d ns is %q, want %q", ns, got, want)
		}
	}
}

func TestAReplayWithoutColumnsHasLists(t *testing.T) {
	text := output(t, func(w io.Writer) error { return ReplayJSON(w, &Replay{}) })
	var doc struct {
		Inputs  struct{ Eras, Retries []any }
		Columns []any
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Columns == nil || doc.Inputs.Eras == nil || doc.Inputs.Retries == nil {
		t.Errorf("a list is null (%v):\n%s", err, text)
	}
}
