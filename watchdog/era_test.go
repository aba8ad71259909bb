package watchdog

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryEntryOfTheTableIsReadable(t *testing.T) {
	for _, s := range spans() {
		for _, end := range []string{s.from, s.to} {
			if _, err := ParseRelease(end); err != nil && end != "" {
				t.Errorf("span %+v: %v", s, err)
			}
		}
		from, to := bounds(s)
		if from.Compare(to) > 0 {
			t.Errorf("span %+v ends before it begins", s)
		}
		if !slices.Contains(Eras(), s.era) {
			t.Errorf("span %+v has no known era", s)
		}
	}
}

func TestEveryReleaseHasExactlyOneFirstAnswer(t *testing.T) {
	check := func(r Release) {
		t.Helper()
		firsts := 0
		for _, s := range spans() {
			from, to := bounds(s)
			if s.doubt == "" && r.Compare(from) >= 0 && r.Compare(to) <= 0 {
				firsts++
			}
		}
		if firsts != 1 {
			t.Errorf("%s has %d answers without doubt, want 1", r, firsts)
		}
	}
	for patch := 18; patch <= 39; patch++ {
		check(Release{Major: 2, Minor: 6, Patch: patch})
	}
	for major, last := range map[int]int{3: 19, 4: 20, 5: 19, 6: 19, 7: 9} {
		for minor := 0; minor <= last; minor++ {
			for patch := 0; patch <= 400; patch += 1 {
				check(Release{Major: major, Minor: minor, Patch: patch})
			}
		}
	}
}

func TestErasOfReleases(t *testing.T) {
	tests := []struct{ release, want string }{
		{"2.6.17", ""}, {"2.6.18", "E0"}, {"2.6.24", "E0"}, {"2.6.28", "E0 E1"}, {"2.6.31", "E1 E0"}, {"2.6.32.71", "E1"}, {"2.6.39", "E1"},
		{"3.0", "E2 E1"}, {"3.6", "E2"}, {"3.10.108", "E2"}, {"4.0.9", "E2"}, {"4.1", "E3 E2"}, {"4.4.302", "E3"},
		{"4.9", "E3 E4"}, {"4.12.14", "E3 E4"}, {"4.14.336", "E4 E3"}, {"4.15", "E4"}, {"4.19.100", "E4"}, {"4.19.249", "E4 LTS-5.10.50"},
		{"5.4.19", "E4"}, {"5.4.200", "E4 LTS-5.10.50"}, {"5.10.49", "E4"}, {"5.10.50", "LTS-5.10.50"}, {"5.10.93", "LTS-5.10.50"},
		{"5.10.94", "LTS-5.10.94"}, {"5.10.172", "LTS-5.10.94"}, {"5.10.173", "LTS-5.10.173"}, {"5.10.209", "LTS-5.10.173"},
		{"5.10.210", "LTS-5.10.223"}, {"5.10.223", "LTS-5.10.223"}, {"5.11", "E4"}, {"5.12.16", "E4"}, {"5.12.17", "E4 LTS-5.10.50"},
		{"5.13", "E4"}, {"5.13.2", "E4 LTS-5.10.50"}, {"5.14", "E5"}, {"5.14.21", "E5"}, {"5.15", "E5"}, {"5.15-rc3", "E5"}, {"5.15.16", "E5"},
		{"5.15.17", "LTS-5.15.17 E6 LTS-5.15-pause LTS-6.1.16 LTS-5.15-long LTS-6.1.78"}, {"5.15.160", "LTS-5.15.17 E6 LTS-5.15-pause LTS-6.1.16 LTS-5.15-long LTS-6.1.78 LTS-5.15.224"},
		{"5.15.200", "LTS-5.15.224 LTS-5.15-long LTS-6.1.78"}, {"5.15.224", "LTS-5.15.224"}, {"5.16", "E5"}, {"5.16.5", "E5 E6"},
		{"5.17", "E6"}, {"5.19", "E6"}, {"6.0", "E6"}, {"6.1", "E6"}, {"6.1.15", "E6"}, {"6.1.16", "LTS-6.1.16"}, {"6.1.77", "LTS-6.1.16"},
		{"6.1.78", "LTS-6.1.78"}, {"6.1.104", "LTS-6.1.78"}, {"6.1.105", "LTS-6.1.192"}, {"6.1.192", "LTS-6.1.192"},
		{"6.2", "E6"}, {"6.2.5", "E6 LTS-6.1.16"}, {"6.2.16", "LTS-6.1.16"}, {"6.3", "E7 E6"}, {"6.5", "E7"}, {"6.6.14", "E7"}, {"6.6.15", "E8"},
		{"6.6.42", "E8 E9"}, {"6.6.50", "E9 E8"}, {"6.6.60", "E9"}, {"6.7", "E7"}, {"6.7.3", "E7 E8"}, {"6.8", "E8"}, {"6.8.12", "E8"},
		{"6.9", "E9"}, {"6.11.5", "E9"}, {"6.12", "E10"}, {"6.12.67", "E10"}, {"6.12.68", "E11"}, {"6.12.117", "E11"}, {"6.13", "E10"},
		{"6.17.12", "E10"}, {"6.18", "E10"}, {"6.18.5", "E10 E11"}, {"6.19", "E11 E10"}, {"7.0.13", "E11"}, {"7.1", "E12 E11"}, {"7.2", "E12"},
		{"7.3.4", "E12"}, {"8.0", "E12"},
	}
	for _, tt := range tests {
		r, err := ParseRelease(tt.release)
		if err != nil {
			t.Fatal(err)
		}
		found := EraOf(r)
		if got := list(found); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.release, got, tt.want)
		}
		for _, c := range found {
			if c.Reason == "" || c.Release != r.String() {
				t.Errorf("%s: incomplete candidate %+v", tt.release, c)
			}
			if _, ok := c.Profile(); !ok {
				t.Errorf("%s: no profile for %s", tt.release, c.Era)
			}
		}
	}
}

func list(cs []Candidate) string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = string(c.Era)
	}
	return strings.Join(words, " ")
}

func TestWhatIsNotKnownOfAReleaseIsSaid(t *testing.T) {
	const details = "the message rule for retries of 6.11"
	for _, tt := range []struct {
		name, release, reason string
		guess                 bool
	}{
		{"late 6.6 may have taken later details", "6.6.46", details, false},
		{"... and much later 6.6 too", "6.6.120", details, false},
		{"5.15 behind the automatic count", "5.15.165", details, false},
		{"... up to the release before the one that was read", "5.15.223", details, false},
		{"7.2 behind the one that was read", "7.2.14", "as 7.3.4 does", false},
		{"the next stable release is a guess", "7.3.5", "newer than 7.3.4", true},
		{"the next series is a guess", "7.4", "7.4.0 is newer than 7.3.4", true},
		{"a release candidate of it is a guess", "7.4-rc2", "newer than 7.3.4", true},
		{"a far one is a guess", "9.1.2", "a guess", true},
	} {
		found := EraOf(release(tt.release))
		if !strings.Contains(found[0].Reason, tt.reason) || found[0].Guess != tt.guess {
			t.Errorf("%s: %s, guess %v, because %q; want %q", tt.name, found[0].Era, found[0].Guess, found[0].Reason, tt.reason)
		}
		id := Detect(Identity{Release: tt.release})
		if tt.guess && (id.Certain() || len(id.Candidates) != 1 || !strings.Contains(id.Why, "guess")) {
			t.Errorf("%s: certain %v, why %q", tt.name, id.Certain(), id.Why)
		}
	}
	for _, known := range []string{"6.6.15", "6.9", "5.15.224", "6.1.192", "7.2.13", "7.3.4", "7.1"} {
		for _, c := range EraOf(release(known)) {
			if c.Guess || strings.Contains(c.Reason, "is not known: it is taken") {
				t.Errorf("%s: %q, guess %v", known, c.Reason, c.Guess)
			}
		}
	}
}

func TestErasOfASeries(t *testing.T) {
	for series, want := range map[string]string{
		"6.1": "E6 LTS-6.1.16 LTS-6.1.78 LTS-6.1.192", "6.8": "E8", "6.12": "E10 E11", "2.6.32": "E1", "5.14": "E5", "7.2": "E12",
	} {
		if got := list(SeriesEras(release(series))); got != want {
			t.Errorf("%s: %q, want %q", series, got, want)
		}
	}
}

func TestResolveReadsErasAndReleases(t *testing.T) {
	for in, want := range map[string]string{"E9": "E9", "e12": "E12", "lts-6.1.192": "LTS-6.1.192", "5.15": "E5", "5.15.224": "LTS-5.15.224", "tip-forgive": "tip-forgive"} {
		found, err := Resolve(in)
		if err != nil || list(found) != want {
			t.Errorf("Resolve(%q) = %q, %v, want %q", in, list(found), err, want)
		}
	}
	for _, in := range []string{"", "E13", "nonsense", "2.4.20", "5"} {
		if found, err := Resolve(in); err == nil {
			t.Errorf("Resolve(%q) = %q, want an error", in, list(found))
		}
	}
}

func TestParseRelease(t *testing.T) {
	tests := []struct {
		in   string
		want Release
	}{
		{"5.15.224", Release{Major: 5, Minor: 15, Patch: 224}},
		{"v6.8", Release{Major: 6, Minor: 8}},
		{"6.1.0-57-amd64", Release{Major: 6, Minor: 1, Suffix: "-57-amd64"}},
		{"7.1-rc3", Release{Major: 7, Minor: 1, RC: 3}},
		{"6.11.0-rc2-custom", Release{Major: 6, Minor: 11, RC: 2, Suffix: "-custom"}},
		{"5.15.153.1-microsoft", Release{Major: 5, Minor: 15, Patch: 153, Suffix: ".1-microsoft"}},
		{"6.1.112+", Release{Major: 6, Minor: 1, Patch: 112, Suffix: "+"}},
		{"2.6.32-431.el6", Release{Major: 2, Minor: 6, Patch: 32, Suffix: "-431.el6"}},
		{"6.9.", Release{Major: 6, Minor: 9, Suffix: "."}},
	}
	for _, tt := range tests {
		if got, err := ParseRelease(tt.in); err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "x", "6", "6.", ".1", "-1.2", "9999999.1"} {
		if got, err := ParseRelease(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
	ordered := []string{"2.6.32", "5.15-rc1", "5.15", "5.15.2", "5.15.10", "6.1", "6.12"}
	for i := 1; i < len(ordered); i++ {
		a, b := release(ordered[i-1]), release(ordered[i])
		if a.Compare(b) != -1 || b.Compare(a) != 1 || a.Compare(a) != 0 {
			t.Errorf("%s does not come before %s", ordered[i-1], ordered[i])
		}
	}
}

func FuzzParseRelease(f *testing.F) {
	for _, s := range []string{"5.15.224", "6.1.0-57-amd64", "7.1-rc3", "v6.8", "2.6.32.71"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRelease(s)
		if err != nil {
			return
		}
		again, err := ParseRelease(r.String())
		if err != nil || again.Compare(r) != 0 {
			t.Fatalf("%q is %s, which reads back as %s, %v", s, r, again, err)
		}
	})
}
