package watchdog

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// Identity is everything that names a kernel. Each field may be empty.
type Identity struct {
	Signature string // /proc/version_signature, "Ubuntu 5.15.0-91.101-generic 5.15.131"
	Version   string // uname -v, /proc/version, or a "Linux version ..." line of a log
	Package   string // version of the kernel's package, "6.1.192-3"
	Release   string // uname -r, "6.1.0-57-amd64"
	Distro    string // ID of os-release
	// Parameters are those of /sys/module/clocksource/parameters by name. nil
	// means that the folder could not be read, empty that it has none.
	Parameters map[string]string
	Messages   []string // lines of this kernel's log
}

// IdentityOf is what a snapshot tells of its kernel. It has no messages.
func IdentityOf(s *machine.Snapshot) Identity {
	k := &s.Kernel
	return Identity{
		Signature: k.Signature, Version: cmp.Or(k.Banner, k.Version), Package: k.Package, Release: k.Release, Distro: k.Distro,
		Parameters: s.Clocksource.Parameters,
	}
}

// Identification is the answer of [Detect]: a set of candidates, never a silent guess.
type Identification struct {
	Candidates []Candidate `json:"candidates"`
	Why        string      `json:"why"`
	// Source is what named the kernel: version_signature, version, package, release, parameters, messages or "".
	Source string `json:"source,omitempty"`
	// Vendor is whose backports make the answer uncertain.
	Vendor string `json:"vendor,omitempty"`
	// Conflicts are observations that no candidate explains.
	Conflicts []string `json:"conflicts,omitempty"`
}

// Certain reports that exactly one era is left, and that it is not a guess.
func (i Identification) Certain() bool { return len(i.Candidates) == 1 && !i.Candidates[0].Guess }

var (
	// The distributions that write the upstream release into uname -v. An epoch
	// may come first; a compiler's version stands behind a parenthesis.
	distroVersion = regexp.MustCompile(`(?:^|[^(\w])(Debian|Kali|Parrot|PMX|PVE) (?:\d+:)?(\d+\.\d+(?:\.\d+)?(?:-rc\d+)?)`)
	ubuntuTail    = regexp.MustCompile(`\(Ubuntu \S+ (\d+\.\d+\.\d+)\)\s*$`)
	linuxVersion  = regexp.MustCompile(`Linux version (\S+)`)
	packageNumber = regexp.MustCompile(`\d+\.\d+\.\d+[^\s]*`)
)

// Detect tells which eras a kernel may have. It asks, in this order, the
// version signature, the version banner, the package version, the module
// parameters, the texts of messages, and last the release string, which on
// distribution kernels does not tell the stable release. Parameters and
// messages also narrow down what the release string leaves open.
func Detect(id Identity) Identification {
	if m := linuxVersion.FindStringSubmatch(id.Version); m != nil && id.Release == "" {
		id.Release = m[1]
	}
	var out Identification
	start, named := name(id, &out)
	if !named {
		start = everyEra()
	}
	facts := observations(id)
	left := start
	for _, f := range facts {
		kept := slices.DeleteFunc(slices.Clone(left), func(c Candidate) bool {
			p, ok := c.Profile()
			return !ok || !f.fits(p)
		})
		if len(kept) == 0 {
			out.Conflicts = append(out.Conflicts, f.what)
			continue
		}
		left = kept
	}
	if !named && len(facts) == 0 {
		if out.Why == "" {
			out.Why = "nothing names the kernel: no version, no package, no parameters, no release and no message that only some kernels print"
		}
		return out
	}
	if !named {
		out.Source = facts[0].source
		for i := range left {
			left[i].Reason = "has what was seen: " + facts[0].what
		}
	}
	// What was seen is stronger than a release string that hides or backports.
	if named && len(out.Conflicts) > 0 && out.Source == "release" {
		left = widen(left, facts)
	}
	out.Candidates = left
	out.Why = why(out, start, facts)
	return out
}

// name finds the strongest source that names a release.
func name(id Identity, out *Identification) ([]Candidate, bool) {
	exact := func(source, text, release string) ([]Candidate, bool) {
		r, err := ParseRelease(release)
		if err != nil {
			return nil, false
		}
		found := EraOf(r)
		for i := range found {
			found[i].Reason = fmt.Sprintf("%s %q names %s: %s", source, text, r, found[i].Reason)
		}
		if len(found) == 0 {
			out.Why = tooOld(source, r)
			return nil, false
		}
		out.Source = source
		return found, true
	}
	if fields := strings.Fields(id.Signature); len(fields) > 0 {
		last := fields[len(fields)-1]
		if found, ok := exact("version_signature", id.Signature, last); ok {
			return found, true
		}
	}
	if m := ubuntuTail.FindStringSubmatch(id.Version); m != nil {
		if found, ok := exact("version", strings.Trim(m[0], "()"), m[1]); ok {
			return found, true
		}
	}
	if who, release := versionBanner(id); release != "" {
		if found, ok := exact("version", who+" "+release, release); ok {
			return found, true
		}
	}
	for _, number := range packageNumber.FindAllString(id.Package, -1) {
		n, ok := fromRelease(number, id.Distro)
		if !ok || !n.exact {
			continue // a build number, or a vendor that keeps an old release's number
		}
		if found, ok := exact("package", id.Package, number); ok {
			out.Vendor = n.vendor
			for i := range found {
				found[i].Vendor = n.vendor
			}
			return found, true
		}
	}
	if n, ok := fromRelease(id.Release, id.Distro); ok && len(n.candidates) > 0 {
		out.Source, out.Vendor = "release", n.vendor
		return n.candidates, true
	}
	if r, err := ParseRelease(id.Release); err == nil {
		out.Why = tooOld("uname -r", r)
	}
	return nil, false
}

func tooOld(source string, r Release) string {
	return fmt.Sprintf("the %s names %s, and no era describes kernels before 2.6.18", source, r)
}

// versionBanner returns the distribution and the upstream release in uname -v.
// A number of another series than that of uname -r belongs to something else.
func versionBanner(id Identity) (who, found string) {
	r, err := ParseRelease(id.Release)
	for _, m := range distroVersion.FindAllStringSubmatch(id.Version, -1) {
		b, bad := ParseRelease(m[2])
		if bad != nil || err == nil && b.Series() != r.Series() {
			continue
		}
		who, found = m[1], m[2]
	}
	return who, found
}

// widen adds the eras that explain what was seen to those that the release
// string allows but that do not explain it: the seen ones come first.
func widen(left []Candidate, facts []observation) []Candidate {
	var first []Candidate
	for _, e := range Eras() {
		p, _ := ProfileOf(e)
		fits := true
		for _, f := range facts {
			fits = fits && f.fits(p)
		}
		if fits && !slices.ContainsFunc(left, func(c Candidate) bool { return c.Era == e }) {
			first = append(first, Candidate{Era: e, Vendor: "unknown", Reason: "vendor kernel: " + facts[0].what + ", which upstream kernels with that number do not have"})
		}
	}
	return append(first, left...)
}

func everyEra() []Candidate {
	var all []Candidate
	for _, e := range Eras() {
		all = append(all, Candidate{Era: e})
	}
	return all
}

func why(out Identification, start []Candidate, facts []observation) string {
	var b strings.Builder
	switch out.Source {
	case "release":
		b.WriteString("only uname -r names the kernel, which vendors may number in their own way")
		if out.Vendor != "" {
			b.WriteString(" (" + out.Vendor + ")")
		}
	case "parameters":
		b.WriteString("nothing names the kernel; the parameters of its clocksource module tell the era")
	case "messages":
		b.WriteString("nothing names the kernel; the texts of its messages tell the era")
	default:
		b.WriteString("the " + out.Source + " names the upstream release")
	}
	if n := len(start); len(out.Candidates) < n && (out.Source == "release" || len(facts) > 0) {
		fmt.Fprintf(&b, "; %d of %d eras fit what was seen", len(out.Candidates), n)
	}
	if len(out.Candidates) > 1 {
		b.WriteString("; more than one era remains")
	}
	if len(out.Candidates) > 0 && out.Candidates[0].Guess {
		b.WriteString("; that is newer than " + newestRead + ", the newest kernel that was read, so that its era is a guess")
	}
	for _, c := range out.Conflicts {
		b.WriteString("; against it: " + c)
	}
	return b.String()
}
