package watchdog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
)

// cpuSet are online CPUs with gaps between them, ascending.
type cpuSet []int

func (s cpuSet) Count() int { return len(s) }
func (s cpuSet) First() int { return s[0] }
func (s cpuSet) Next(cpu int) int {
	for _, c := range s {
		if c > cpu {
			return c
		}
	}
	return s[0]
}

// draws returns the given numbers one after the other, and notes from how many each was drawn.
func draws(of *[]int, numbers ...int) func(int) int {
	return func(n int) int {
		*of = append(*of, n)
		next := numbers[0]
		numbers = numbers[1:]
		return next
	}
}

func TestWhichCPUsTheCheckAsks(t *testing.T) {
	gaps := cpuSet{0, 1, 2, 3, 8, 9}
	for _, tt := range []struct {
		name    string
		era     Era
		release string
		cpu     int
		online  CPUs
		plan    VerifyPlan
		draws   []int
		started bool
		checked []int
		ranges  []int // from how many each number was drawn
	}{
		{"none is wanted", E9, "6.9", 0, AllCPUs(4), VerifyPlan{Given: true}, nil, false, nil, nil},
		{"one: the lowest other CPU, without a draw", E9, "6.9", 2, AllCPUs(4), VerifyPlan{Given: true, CPUs: 1}, nil, true, []int{0}, nil},
		{"one, from the lowest CPU", E9, "6.9", 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: 1}, nil, true, []int{1}, nil},
		{"three: two are drawn", E9, "6.9", 1, AllCPUs(8), VerifyPlan{Given: true, CPUs: 3}, []int{5, 7}, true, []int{0, 5, 7}, []int{8, 8}},
		{"a CPU that is drawn twice is asked once", E9, "6.9", 1, AllCPUs(8), VerifyPlan{Given: true, CPUs: 4}, []int{5, 5, 0}, true, []int{0, 5}, []int{8, 8, 8}},
		{"the asking CPU is not asked", E9, "6.9", 1, AllCPUs(8), VerifyPlan{Given: true, CPUs: 3}, []int{1, 4}, true, []int{0, 4}, []int{8, 8}},
		{"ids are drawn from the possible ones, and the next online CPU is taken", E9, "6.9", 0, gaps, VerifyPlan{Given: true, CPUs: 3, IDs: 12}, []int{5, 2}, true, []int{1, 2, 8}, []int{12, 12}},
		{"behind the last one comes the first", E9, "6.9", 9, gaps, VerifyPlan{Given: true, CPUs: 3, IDs: 12}, []int{10, 4}, true, []int{0, 8}, []int{12, 12}},
		{"minus one: all", E9, "6.9", 2, AllCPUs(4), VerifyPlan{Given: true, CPUs: -1}, nil, true, []int{0, 1, 3}, nil},
		{"every negative number: all", E9, "6.9", 8, gaps, VerifyPlan{Given: true, CPUs: -7}, nil, true, []int{0, 1, 2, 3, 9}, nil},
		{"not given: eight, as the era has it", E9, "6.9", 0, AllCPUs(64), VerifyPlan{CPUs: -1}, []int{9, 10, 11, 12, 13, 14, 15}, true, []int{1, 9, 10, 11, 12, 13, 14, 15}, []int{64, 64, 64, 64, 64, 64, 64}},
		{"as many as are online: drawn all the same, before 6.16", E9, "6.9", 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: 4}, []int{2, 2, 0}, true, []int{1, 2}, []int{4, 4, 4}},
		{"as many as are online: all, in 6.16", E10, "6.16", 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: 4}, nil, true, []int{1, 2, 3}, nil},
		{"more than are online: all, in 6.12.35", E10, "6.12.35", 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: 8}, nil, true, []int{1, 2, 3}, nil},
		{"... in 6.1.142", LTS61192, "6.1.142", 0, AllCPUs(4), VerifyPlan{}, nil, true, []int{1, 2, 3}, nil},
		{"... and not in 6.1.141", LTS61192, "6.1.141", 0, AllCPUs(2), VerifyPlan{Given: true, CPUs: 2}, []int{0}, true, []int{1}, []int{2}},
		{"one less than are online is drawn in 6.16", E10, "6.16", 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: 3}, []int{3, 3}, true, []int{1, 3}, []int{4, 4}},
		{"6.16 draws evenly from the online CPUs", E10, "6.16", 0, gaps, VerifyPlan{Given: true, CPUs: 3, IDs: 12}, []int{4, 5}, true, []int{1, 8, 9}, []int{6, 6}},
		{"... 6.12.35 too", E10, "6.12.35", 0, gaps, VerifyPlan{Given: true, CPUs: 2, IDs: 12}, []int{4}, true, []int{1, 8}, []int{6}},
		{"... 6.1.142 too", LTS61192, "6.1.142", 0, gaps, VerifyPlan{Given: true, CPUs: 2, IDs: 12}, []int{4}, true, []int{1, 8}, []int{6}},
		{"... and 6.15 not yet", E10, "6.15", 0, gaps, VerifyPlan{Given: true, CPUs: 2, IDs: 12}, []int{4}, true, []int{1, 8}, []int{12}},
		{"none is wanted in 6.16", E10, "6.16", 0, AllCPUs(4), VerifyPlan{Given: true}, nil, false, nil, nil},
		{"a single CPU has nobody to ask", E9, "6.9", 0, AllCPUs(1), VerifyPlan{}, []int{0, 0, 0, 0, 0, 0, 0}, true, nil, []int{1, 1, 1, 1, 1, 1, 1}},
		{"... nor has one that wants all", E9, "6.9", 0, AllCPUs(1), VerifyPlan{Given: true, CPUs: -1}, nil, true, nil, nil},
		{"5.10 asks all, whatever a parameter says", LTS510223, "5.10.223", 1, AllCPUs(4), VerifyPlan{Given: true, CPUs: 1}, nil, true, []int{0, 2, 3}, nil},
		{"without numbers nobody is drawn", E9, "6.9", 0, AllCPUs(64), VerifyPlan{}, nil, true, []int{1}, nil},
		{"7.1 has no such check", E12, "7.1", 0, AllCPUs(4), VerifyPlan{}, nil, false, nil, nil},
		{"neither had 5.13", E4, "5.13", 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: -1}, nil, false, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := ProfileAt(tt.era, release(tt.release))
			w, err := New(setupFor(t, p, "tsc"))
			if err != nil {
				t.Fatal(err)
			}
			var ranges []int
			if tt.draws != nil {
				tt.plan.Random = draws(&ranges, tt.draws...)
			}
			m := newScripted(t)
			v := w.VerifyFrom(0, tt.cpu, tt.online, tt.plan, m)
			if v.Started != tt.started || !slices.Equal(v.Checked, tt.checked) {
				t.Errorf("started %v, asked %v; want %v, %v", v.Started, v.Checked, tt.started, tt.checked)
			}
			if !slices.Equal(ranges, tt.ranges) {
				t.Errorf("drew from %v, want %v", ranges, tt.ranges)
			}
		})
	}
}

func TestOnlyTheCurrentClockWithTheFlagIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(*Setup)
		started bool
	}{
		{"tsc is current", func(*Setup) {}, true},
		{"another clock is current", func(s *Setup) { s.Current = "hpet" }, false},
		{"tsc-early lacks the flag", func(s *Setup) { s.Watched[0].VerifyPerCPU = false }, false},
	} {
		setup := setupOf(t, E9, "tsc")
		tt.change(&setup)
		w, err := New(setup)
		if err != nil {
			t.Fatal(err)
		}
		if v := w.VerifyFrom(0, 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: -1}, newScripted(t)); v.Started != tt.started {
			t.Errorf("%s: started %v", tt.name, v.Started)
		}
	}
}

// TestWhatTheCheckFinds: which CPUs are ahead and which behind, and how long
// asking took (1 us, cut to whole nanoseconds of its conversion). A counter of less than 64 bits never shows either.
func TestWhatTheCheckFinds(t *testing.T) {
	setup := setupOf(t, E9, "tsc")
	for _, narrow := range []bool{false, true} {
		if narrow {
			setup.Watched[0].Mask = clocksource.Mask56
		}
		w, err := New(setup)
		if err != nil {
			t.Fatal(err)
		}
		m := newScripted(t)
		m.remote[1], m.remote[3] = ^clocksource.Cycles(0)-1_000_000, 1_000_000
		v := w.VerifyFrom(0, 0, AllCPUs(4), VerifyPlan{Given: true, CPUs: -1}, m)
		want := Verification{Started: true, Checked: []int{1, 2, 3}, Behind: []int{1}, Ahead: []int{3}, Min: 999, Max: 999}
		if narrow {
			want.Behind, want.Ahead = nil, nil
		}
		if diff := cmp.Diff(want, v); diff != "" {
			t.Errorf("narrow %v (-want +got):\n%s", narrow, diff)
		}
	}
}
