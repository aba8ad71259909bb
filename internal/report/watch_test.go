package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// watched is a watch of an HPET machine after some ticks.
func watched() *LiveWatch {
	return &LiveWatch{
		Inputs: WatchInputs{Era: "5.15", Reference: "auto", Duration: 60, Interrupts: true},
		Watch:  Watch{Era: watchdog.E5, Release: "5.15.0", Retries: 3, Reference: "hpet", Clocks: []string{"tsc"}},
		EraWhy: "as asked", TSCWatched: machine.Yes, TSCWatchedWhy: "the CPU lacks tsc_adjust, so that the TSC is not exempt",
		Reference: live.Reference{
			Name: "hpet", Hz: 25_000_000, Independent: machine.Yes, Reason: "a counter of its own in the chipset",
			Passed: []live.Passed{}, Counter: "tsc", CounterHz: 2_893_299_000, CounterFrom: "CPUID 0x15",
			CPUs: trace.FirstCPUs(8), Interval: watchdog.CheckInterval, TimerHZ: 250, TimerHZFrom: "/proc/config.gz",
		},
		Summary: live.Summary{
			Ticks: 119, Checks: 119, Elapsed: 59_000_000_000, LateTicks: 2, MaxLate: 180_000_000,
			Verdicts:  map[watchdog.Kind]uint64{watchdog.Initialised: 1, watchdog.Agreed: 118},
			ReadBacks: 123, LateReads: live.LateReads{Preempted: 1, Interrupted: 1, Unexplained: 2},
			Delays:    live.Delays{Count: 122, Min: 1_480, Median: 2_100, P99: 60_666, Max: 60_666, Limit: 50_000, Buckets: []live.Bucket{}},
			Skew:      live.Skew{Compared: 118, Least: -0.4, Greatest: 3.25, Mean: 0.125, Largest: 1_625, Nearest: 0.0081},
			Exchanges: live.ExchangeCount{Made: 104, Completed: 101, TimedOut: 2, Busy: 1},
		},
		Ended: "duration",
	}
}

// slowTick is the tick at which reading the HPET takes 60 666 ns four times in a row.
func slowTick() *live.Tick {
	t := &live.Tick{Number: 120, CPU: 7, Verdicts: []watchdog.Verdict{{
		Era: watchdog.E5, Tick: 120, CPU: 7, Kind: watchdog.CondemnedDelay, Attempts: 4, Allowed: 4, Delay: 60_666, ReadLimit: 50_000,
	}}, Exchange: &live.Exchange{Control: 0, Remote: 3, Completed: true, Waited: 700}}
	for i := range 4 {
		s := live.Sample{CPU: 7, Delay: 60_666, Late: trace.Unexplained}
		if i == 0 {
			s.Late = trace.Preempted
		}
		t.Samples = append(t.Samples, s)
	}
	return t
}

func condemned() *LiveWatch {
	d := watched()
	d.Condemned = &slowTick().Verdicts[0]
	d.Ended = "condemned"
	d.AddLine("clocksource: timekeeping watchdog on CPU7: hpet read-back delay of 60666ns, attempt 4, marking unstable")
	return d
}

func TestEachFormOfAWatchIsAsItWas(t *testing.T) {
	hopeless := watched()
	hopeless.Reference.Name, hopeless.Reference.Independent = "monotonic_raw", machine.No
	hopeless.Reference.Reason = "the kernel computes monotonic_raw from its current clocksource, tsc"
	hopeless.Reference.Passed = []live.Passed{{Name: "hpet", Reason: "/dev/hpet does not exist", Remedy: "run as root"}}
	backwards := watched()
	backwards.Exchanges.Backwards, backwards.Exchanges.Most = 3, 1200
	plainText := TextOptions{Width: DefaultWidth}
	lines := func(d *LiveWatch) func(io.Writer) error {
		return func(w io.Writer) error {
			tw := NewTickWriter(w)
			for _, l := range d.LiveTicks(slowTick()) {
				if err := tw.LiveTick(&l); err != nil {
					return err
				}
			}
			return WatchSummary(tw, d)
		}
	}
	golden(t, "watch", &txtar.Archive{Files: []txtar.File{
		section(t, "head", func(w io.Writer) error { return WatchHead(w, watched(), plainText) }),
		section(t, "good", func(w io.Writer) error { return WatchText(w, watched(), plainText) }),
		section(t, "condemned, ASCII", func(w io.Writer) error { return WatchText(w, condemned(), TextOptions{Width: 80, ASCII: true}) }),
		section(t, "head, not independent", func(w io.Writer) error { return WatchHead(w, hopeless, plainText) }),
		section(t, "not independent", func(w io.Writer) error { return WatchText(w, hopeless, plainText) }),
		section(t, "two CPUs disagree", func(w io.Writer) error { return WatchText(w, backwards, plainText) }),
		section(t, "news", func(w io.Writer) error { return WatchNews(w, condemned(), slowTick(), plainText) }),
		section(t, "JSON Lines", lines(condemned())),
	}})
}

func TestOrdinaryTicksAreNoNews(t *testing.T) {
	agreed := &live.Tick{Number: 2, Verdicts: []watchdog.Verdict{{Kind: watchdog.Agreed, Attempts: 1, Compared: true}}}
	cases := []struct {
		name string
		tick *live.Tick
		news string
	}{
		{"a good check", agreed, ""},
		{"the first pair", &live.Tick{Number: 1, Verdicts: []watchdog.Verdict{{Kind: watchdog.Initialised}}}, ""},
		{"a tick in a pause", &live.Tick{Number: 9, Idle: "the era pauses after a skip"}, ""},
		{"a pair that is taken anew", &live.Tick{Number: 5, Verdicts: []watchdog.Verdict{{Kind: watchdog.Initialised}}}, "initialised"},
		{"a sleep", &live.Tick{Number: 5, Resets: 1}, "slept"},
		{"a late read-back", &live.Tick{Number: 5, Samples: []live.Sample{{Late: trace.Interrupted}}}, "1 late read-back, interrupted"},
		{"CPUs that disagree", &live.Tick{Number: 5, Exchange: &live.Exchange{Remote: 3, Backwards: 44}}, "backwards between CPU 0 and CPU 3, by 44 cycles"},
	}
	for _, c := range cases {
		var b bytes.Buffer
		if err := WatchNews(&b, watched(), c.tick, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.news) || (c.news == "") != (b.Len() == 0) {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.news)
		}
	}
}

func TestTheAnswerOfAWatchNeverSaysOKWithoutAWitness(t *testing.T) {
	cases := []struct {
		name   string
		change func(*LiveWatch)
		word   WatchAnswer
	}{
		{"an independent reference", func(*LiveWatch) {}, AnswerOK},
		{"a reference that may be independent", func(d *LiveWatch) { d.Reference.Independent = machine.Unknown }, AnswerUndecided},
		{"a reference that is not", func(d *LiveWatch) { d.Reference.Independent = machine.No }, AnswerNoVerdict},
		{"nothing was compared", func(d *LiveWatch) { d.Skew.Compared = 0 }, AnswerUndecided},
		{"nothing was checked", func(d *LiveWatch) { d.Checks, d.Skew.Compared = 0, 0 }, AnswerNothing},
		{"two CPUs disagree, whatever the era says", func(d *LiveWatch) { d.Exchanges.Backwards = 1 }, AnswerBad},
	}
	for _, c := range cases {
		d := watched()
		c.change(d)
		if word, _, text := d.answer(); word != c.word || text == "" {
			t.Errorf("%s: %s: %s, want %s", c.name, word, text, c.word)
		}
	}
}

func TestTheAnswerClaimsNothingThatWasNotDone(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*LiveWatch)
		want   string
	}{
		{"everything but the rate", func(*LiveWatch) {}, "tells nothing of its rate; the latency of reads was checked; 101 comparisons between CPUs showed no fault"},
		{"one CPU", func(d *LiveWatch) {
			d.Exchanges, d.Reference.CPUs = live.ExchangeCount{}, trace.FirstCPUs(1)
		}, "the latency of reads was checked; with one CPU there was none to compare it with"},
		{"no answer of another CPU", func(d *LiveWatch) {
			d.Exchanges = live.ExchangeCount{Made: 3, TimedOut: 1, Busy: 2}
		}, "the latency of reads was checked; none of 3 comparisons between CPUs was answered"},
		{"no comparison of CPUs", func(d *LiveWatch) { d.Exchanges = live.ExchangeCount{Failed: 3} }, "no two CPUs were compared"},
		{"an era without a limit", func(d *LiveWatch) { d.Era = watchdog.E4 }, "101 comparisons between CPUs showed no fault; this era does not check the latency of reads"},
	} {
		d := watched()
		d.Reference.Independent = machine.No
		c.change(d)
		if _, _, text := d.answer(); !strings.HasSuffix(text, c.want) {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

func TestTheAnswerStandsInTheDocument(t *testing.T) {
	for _, c := range []struct {
		change func(*LiveWatch)
		want   WatchAnswer
		shown  string
	}{
		{func(*LiveWatch) {}, AnswerOK, "OK: "},
		{func(d *LiveWatch) { d.Reference.Independent = machine.No }, AnswerNoVerdict, "NO VERDICT: "},
		{func(d *LiveWatch) { d.Exchanges.Backwards = 1 }, AnswerBad, "BAD: "},
	} {
		d := watched()
		c.change(d)
		var b, text bytes.Buffer
		if err := errors.Join(WatchSummary(NewTickWriter(&b), d), WatchText(&text, d, TextOptions{})); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Summary struct {
				Answer  WatchAnswer    `json:"answer"`
				Why     string         `json:"answer_why"`
				Watched machine.Answer `json:"tsc_watched"`
			} `json:"summary"`
		}
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if s := doc.Summary; s.Answer != c.want || s.Why == "" || s.Watched != machine.Yes {
			t.Errorf("summary %+v, want %s", s, c.want)
		}
		if !strings.Contains(text.String(), c.shown) || !strings.Contains(text.String(), "a kernel of this era watches the TSC here: the CPU lacks tsc_adjust") {
			t.Errorf("text lacks %q or whether the TSC is watched:\n%s", c.shown, text.String())
		}
	}
}

func TestTheDocumentOfAWatchIsOneLineOfJSON(t *testing.T) {
	var b bytes.Buffer
	d := condemned()
	for range 3 * maxKernelLines {
		d.AddLine("x")
	}
	if err := WatchSummary(NewTickWriter(&b), d); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Summary struct {
			Schema    string            `json:"schema"`
			Era       string            `json:"era"`
			Reference map[string]any    `json:"reference"`
			Verdicts  map[string]uint64 `json:"verdicts"`
			Condemned *struct {
				Kind  string `json:"kind"`
				Delay int    `json:"readback_delay_ns"`
			} `json:"condemned"`
			Lines   []string `json:"lines"`
			Dropped int      `json:"lines_dropped"`
		} `json:"summary"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Fatalf("%v in %s", err, b.String())
	}
	s := doc.Summary
	if s.Schema != WatchSchema || s.Era != "E5" || s.Reference["independent"] != "yes" || s.Verdicts["agreed"] != 118 {
		t.Errorf("summary %+v", s)
	}
	if s.Condemned == nil || s.Condemned.Kind != "condemned-delay" || s.Condemned.Delay != 60_666 {
		t.Errorf("condemned %+v", s.Condemned)
	}
	if len(s.Lines) != maxKernelLines || s.Dropped != 2*maxKernelLines+1 {
		t.Errorf("%d lines and %d dropped", len(s.Lines), s.Dropped)
	}
}

// terminal is what a terminal shows that knows two sequences: up and clear below.
type terminal struct {
	lines []string
	row   int
	wide  int
}

func (s *terminal) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			s.lines, text = s.lines[:s.row], text[3:]
		case strings.HasPrefix(text, "\x1b["):
			n, i := 0, 2
			for ; text[i] >= '0' && text[i] <= '9'; i++ {
				n = 10*n + int(text[i]-'0')
			}
			if text[i] == 'A' {
				s.row -= n
			} else if text[i] != 'm' {
				return 0, errors.New("unknown sequence")
			}
			text = strings.TrimPrefix(text[i+1:], "\r")
			if s.row < 0 {
				return 0, errors.New("above the screen")
			}
		default:
			line, rest, _ := strings.Cut(text, "\n")
			visible := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(line)
			s.wide = max(s.wide, columns(visible))
			s.lines, text = append(s.lines[:s.row], visible), rest
			s.row++
		}
	}
	return len(p), nil
}

func TestTheScreenDrawsItselfInPlace(t *testing.T) {
	term := &terminal{lines: []string{"above"}, row: 1}
	screen := NewWatchScreen(term, TextOptions{Width: 60, Color: true})
	d := watched()
	for n := range uint64(30) {
		tick := slowTick()
		tick.Number = n + 1
		if err := screen.Draw(d, tick); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(term.lines, "\n")
	if len(term.lines) > 24 || term.lines[0] != "above" || strings.Count(text, "tsc against hpet") != 1 {
		t.Errorf("the screen shows\n%s", text)
	}
	if term.wide >= 60 {
		t.Errorf("a line is %d columns wide, and would wrap at 60", term.wide)
	}
	if !strings.Contains(text, "tick 30, CPU 7") || strings.Contains(text, "tick 2, CPU") {
		t.Errorf("the newest news are missing, or the oldest are still there:\n%s", text)
	}
	idle := &live.Tick{Number: 31, CPU: 1, Idle: "the era pauses after a skip"}
	if err := screen.Draw(d, idle); err != nil || !strings.Contains(strings.Join(term.lines, "\n"), "no check: the era pauses") {
		t.Errorf("an idle tick is not shown, error %v", err)
	}
	if err := screen.Clear(); err != nil || len(term.lines) != 1 {
		t.Errorf("after clearing: %q, error %v", term.lines, err)
	}
}

func TestALateReadBackStandsInItsLine(t *testing.T) {
	lines := watched().LiveTicks(slowTick())
	if len(lines) != 1 || lines[0].Tick.Tick != 120 || len(lines[0].Late) != 4 || lines[0].Late[0].Cause != trace.Preempted {
		t.Fatalf("lines %+v", lines)
	}
	for want, e := range map[string]*live.Exchange{
		"completed": {Completed: true}, "busy": {Busy: true}, "timed-out": {TimedOut: true}, "backwards": {Completed: true, Backwards: clocksource.Cycles(1)},
	} {
		tick := slowTick()
		tick.Exchange = e
		if got := watched().LiveTicks(tick)[0].Exchange.Result; got != want {
			t.Errorf("exchange %+v: %s, want %s", e, got, want)
		}
	}
}
