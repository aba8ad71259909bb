package watchdog

import "testing"

func TestResumeTakesNewPairs(t *testing.T) {
	for _, p := range Profiles() {
		r := newRun(t, setupFor(t, p, "tsc"), 2)
		r.tick(0)
		r.tick(0)
		r.s.Resume()
		r.m.offset = 1 << 50 // the counter restarted
		if v := r.tick(0); v.Kind != Initialised {
			t.Errorf("%s: after resume %s, want initialised", p.Era, v.Kind)
		}
		if r.s.ResetPending != 0 {
			t.Errorf("%s: %d resets pending after a complete walk", p.Era, r.s.ResetPending)
		}
		if v := r.tick(0); v.Kind != Agreed {
			t.Errorf("%s: then %s, want agreed", p.Era, v.Kind)
		}
	}
}

// TestTwoResumesBetweenTicks: from 3.0 on each of them costs a tick; before,
// a bit says that there was one.
func TestTwoResumesBetweenTicks(t *testing.T) {
	all := Profiles()
	for _, e := range Designs() {
		all = append(all, mustProfile(t, e))
	}
	for _, p := range all {
		want := []Kind{Initialised, Initialised, Agreed}
		if p.Era == E0 || p.Era == E1 {
			want = []Kind{Initialised, Agreed, Agreed}
		}
		r := newRun(t, setupFor(t, p, "tsc"), 2)
		r.tick(0)
		r.tick(0)
		r.s.Resume()
		r.s.Resume()
		r.m.offset = 1 << 50
		for i, kind := range want {
			if v := r.tick(0); v.Kind != kind {
				t.Errorf("%s: tick %d after two resumes is %s, want %s", p.Era, i+1, v.Kind, kind)
			}
		}
		if r.s.ResetPending != 0 {
			t.Errorf("%s: %d resets pending at the end", p.Era, r.s.ResetPending)
		}
	}
}
