package watchdog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Release is an upstream kernel release.
type Release struct {
	Major, Minor, Patch int
	RC                  int    // release candidate number, 0 for a final release
	Suffix              string // what follows the numbers, such as "-57-amd64" or "+"
}

// maxPatch stands for "every stable release of the series".
const maxPatch = 1 << 20

// ParseRelease reads the numbers at the start of a release such as "5.15.224",
// "6.1.0-57-amd64", "2.6.32-431.el6.x86_64" or "7.1-rc3". A missing stable
// number is 0. Numbers beyond the third, as in "5.15.153.1", are left in the suffix.
func ParseRelease(s string) (Release, error) {
	text := strings.TrimSpace(s)
	rest := strings.TrimPrefix(text, "v")
	var numbers [3]int
	n := 0
	for n < 3 {
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		if digits == 0 || digits > 6 {
			break
		}
		numbers[n], _ = strconv.Atoi(rest[:digits]) // at most six digits
		n++
		rest = rest[digits:]
		if n == 3 || len(rest) < 2 || rest[0] != '.' || rest[1] < '0' || rest[1] > '9' {
			break
		}
		rest = rest[1:]
	}
	if n < 2 {
		return Release{}, fmt.Errorf("kernel release %q: want numbers such as 5.15.224", s)
	}
	r := Release{Major: numbers[0], Minor: numbers[1], Patch: numbers[2], Suffix: rest}
	if after, ok := strings.CutPrefix(rest, "-rc"); ok {
		end := 0
		for end < len(after) && end < 4 && after[end] >= '0' && after[end] <= '9' {
			end++
		}
		if rc, err := strconv.Atoi(after[:end]); err == nil {
			r.RC, r.Suffix = rc, after[end:]
		}
	}
	return r, nil
}

// String returns the numbers: "5.15.224", "6.8.0" or "7.1.0-rc3".
func (r Release) String() string {
	s := fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch)
	if r.RC > 0 {
		s += fmt.Sprintf("-rc%d", r.RC)
	}
	return s
}

// Series returns the numbers without the stable number: "5.15", and "2.6.32"
// for the kernels of the 2.6 line.
func (r Release) Series() string {
	if r.Major == 2 {
		return fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch)
	}
	return fmt.Sprintf("%d.%d", r.Major, r.Minor)
}

// Compare returns -1, 0 or +1 by the numbers alone. A release candidate comes before its release.
func (r Release) Compare(o Release) int {
	return cmp.Or(
		cmp.Compare(r.Major, o.Major),
		cmp.Compare(r.Minor, o.Minor),
		cmp.Compare(r.Patch, o.Patch),
		cmp.Compare(r.rcRank(), o.rcRank()),
	)
}

// Before reports whether r is older than the release that s names.
func (r Release) Before(s string) bool { return r.final().Compare(release(s)) < 0 }

// In reports whether r belongs to the series of s and is not older than s:
// "6.1.107" holds for 6.1.107 and every later 6.1.
func (r Release) In(s string) bool {
	o := release(s)
	return r.Major == o.Major && r.Minor == o.Minor && r.final().Patch >= o.Patch
}

func (r Release) rcRank() int {
	if r.RC == 0 {
		return maxPatch
	}
	return r.RC
}

// final returns the release that a candidate leads to: nearly everything of a
// release is in its first candidate.
func (r Release) final() Release {
	r.RC, r.Suffix = 0, ""
	return r
}

func (r Release) seriesBounds() (first, last Release) {
	if r.Major == 2 {
		return r.final(), r.final()
	}
	return Release{Major: r.Major, Minor: r.Minor}, Release{Major: r.Major, Minor: r.Minor, Patch: maxPatch}
}
