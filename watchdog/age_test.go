package watchdog

import (
	"slices"
	"testing"
)

func TestTheOrderByAgeHoldsEveryEraOnce(t *testing.T) {
	ordered := ByAge()
	if len(ordered) != len(Eras()) {
		t.Errorf("%d eras by age, %d in all", len(ordered), len(Eras()))
	}
	for _, e := range Eras() {
		if !slices.Contains(ordered, e) {
			t.Errorf("%s has no age", e)
		}
	}
	// Mainline eras keep their order whatever stands between them.
	mainline := slices.DeleteFunc(slices.Clone(ordered), func(e Era) bool { return e.variant() })
	if !slices.Equal(mainline, Eras()[:len(mainline)]) {
		t.Errorf("mainline eras by age: %v", mainline)
	}
}

// TestAnEraIsAsOldAsTheNewestChangeItHas holds the order against what the
// profiles do: nothing has a change of an era that is newer than it.
func TestAnEraIsAsOldAsTheNewestChangeItHas(t *testing.T) {
	newest := func(p Profile) Era {
		switch {
		case p.Skew.Shift > 0:
			return E12
		case p.ReadLimit.Clock > 0:
			return E10
		case p.AutoRetries:
			return E9
		case p.LongInterval > 0:
			return E8
		case p.OnSkip == ActSuspend:
			return E7
		case p.SkipLimit.Set():
			return E6
		case p.OnSlow != ActNothing:
			return E5
		}
		return E4
	}
	for _, p := range Profiles() {
		if !p.Era.variant() {
			continue
		}
		change := newest(p)
		before := Eras()[slices.Index(Eras(), change)-1]
		if p.Era.Compare(change) >= 0 || p.Era.Compare(before) <= 0 {
			t.Errorf("%s has a change of %s as its newest: it belongs between %s and %s", p.Era, change, before, change)
		}
	}
}

func TestTheNewestOfRealCandidates(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   Identity
		want Era
	}{
		{"RHEL 8 may have taken in E7", Identity{Release: "4.18.0-553.el8_10.x86_64"}, E7},
		{"RHEL 9 may have taken in E11", Identity{Release: "5.14.0-427.13.1.el9_4.x86_64"}, E11},
		{"SLES 15 SP5 may have taken in E9", Identity{Release: "5.14.21-150500.55.83-default"}, E9},
		{"Ubuntu's uname alone may hide 5.15.224", Identity{Release: "5.15.0-91-generic"}, LTS515224},
		{"Ubuntu's signature names a 5.15 before the automatic count", Identity{Signature: "Ubuntu 5.15.0-91.101-generic 5.15.131", Release: "5.15.0-91-generic"}, LTS6178},
		{"Debian 12 by its uname alone", Identity{Release: "6.1.0-57-amd64"}, LTS61192},
		{"Debian 12 by its banner", Identity{Release: "6.1.0-57-amd64", Version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)"}, LTS61192},
		{"Debian 11 by its uname alone", Identity{Release: "5.10.0-32-amd64"}, LTS510223},
		{"7.1 is the rewrite", Identity{Release: "7.1.2"}, E12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := Detect(tt.id).Candidates
			if got, ok := Newest(found); !ok || got.Era != tt.want {
				t.Errorf("of %s the newest is %s, want %s", list(found), got.Era, tt.want)
			}
		})
	}
	if _, ok := Newest(nil); ok {
		t.Error("there is a newest of no candidates")
	}
}
