package watchdog

import (
	"fmt"
	"regexp"
	"strings"
)

// naming is what the release string of a kernel tells about its upstream release.
type naming struct {
	candidates []Candidate
	exact      bool   // the upstream release is known
	vendor     string // whose patches the kernel carries, "" for none that matter
}

var (
	enterprise = regexp.MustCompile(`\.el(\d+)`)
	suseBuild  = regexp.MustCompile(`-(15|16)\d{4}\.`)
	debianABI  = regexp.MustCompile(`^-(0\.bpo\.)?\d+(\.bpo\.\d+)?(-[a-z0-9.]+)*-(amd64|arm64|armmp|686|686-pae|ppc64el|powerpc64le|riscv64|s390x|loong64|mips64el|cloud-amd64|rt-amd64)`)
	ubuntuABI  = regexp.MustCompile(`^-\d+-[a-z]`)
)

// fromRelease reads `uname -r`.
func fromRelease(text string, distro string) (naming, bool) {
	r, err := ParseRelease(text)
	if err != nil {
		return naming{}, false
	}
	if eras, who := backporting(r, text); who != "" {
		return naming{candidates: backported(r, eras, who), vendor: who}, true
	}
	if r.Patch == 0 && r.Major > 2 && r.RC == 0 && r.Suffix != "" && !upstreamSuffix(r.Suffix) {
		return hidden(r, text, distro), true
	}
	n := naming{candidates: EraOf(r), exact: true, vendor: follower(r.Suffix, distro)}
	for i := range n.candidates {
		n.candidates[i].Reason = "uname -r names " + r.String() + ": " + n.candidates[i].Reason
		if n.vendor != "" {
			n.candidates[i].Vendor = n.vendor
			n.candidates[i].Reason = "vendor kernel: " + n.vendor + " adds patches of its own; " + n.candidates[i].Reason
		}
	}
	return n, true
}

// upstreamSuffix reports a suffix after x.y.0 that is known to follow the true upstream release.
func upstreamSuffix(s string) bool {
	return strings.Contains(s, ".fc") || strings.Contains(s, "-arch") || strings.Contains(s, "-zen") ||
		strings.Contains(s, "-default") && !suseBuild.MatchString(s)
}

// hidden answers for x.y.0 with something behind it: most distributions that
// build such kernels count their own builds and hide the stable number.
func hidden(r Release, text, distro string) naming {
	who := "a distribution"
	switch {
	case distro == "debian" || debianABI.MatchString(r.Suffix):
		who = "Debian"
	case distro == "ubuntu" || ubuntuABI.MatchString(r.Suffix):
		who = "Ubuntu, or a distribution that numbers like it,"
	}
	why := fmt.Sprintf("uname -r %q does not tell the stable release: %s hides it behind a build number", text, who)
	n := naming{candidates: SeriesEras(r)}
	for i := range n.candidates {
		n.candidates[i].Reason = why + "; " + n.candidates[i].Reason
	}
	return n
}

// follower names the vendor of a kernel that keeps the upstream stable number
// and adds patches of its own.
func follower(suffix, distro string) string {
	for _, v := range [...]struct{ mark, who string }{
		{".amzn", "Amazon Linux"},
		{"-pve", "Proxmox"},
		{"-android", "Android"},
		{"microsoft", "Microsoft (WSL)"},
		{".azl", "Azure Linux"},
		{".cm2", "CBL-Mariner"},
	} {
		if strings.Contains(suffix, v.mark) {
			return v.who
		}
	}
	if distro == "cos" || distro == "chromeos" {
		return "Container-Optimized OS"
	}
	return ""
}

// backporting names vendors that keep the number of their first release and
// take in changes of much newer ones, and the eras that may have come with them.
func backporting(r Release, text string) ([]Era, string) {
	base := fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch)
	if strings.Contains(text, "uek") {
		var eras []Era
		for _, c := range append(EraOf(r), SeriesEras(r)...) {
			eras = append(eras, c.Era)
		}
		return eras, "Oracle UEK"
	}
	if m := enterprise.FindStringSubmatch(text); m != nil {
		who := "RHEL " + m[1] + " or a rebuild of it"
		switch m[1] {
		case "5":
			return []Era{E0}, who
		case "6":
			return []Era{E1, E2}, who
		case "7":
			return []Era{E2, E3, E4}, who
		case "8":
			return []Era{E4, LTS51050, E5, E6, LTS6116, E7}, who
		case "9":
			return []Era{E5, E6, LTS6116, E7, E8, E9, E10, E11}, who
		case "10":
			return []Era{E10, E11}, who
		}
		return nil, who
	}
	suse := suseBuild.MatchString(text)
	switch {
	case base == "4.12.14" && strings.HasPrefix(r.Suffix, "-"):
		return []Era{E3, E4}, "SUSE Linux Enterprise"
	case base == "5.3.18" && strings.HasPrefix(r.Suffix, "-"):
		return []Era{E4, LTS51050, E5, E6}, "SUSE Linux Enterprise"
	case base == "5.14.21" && suse:
		return []Era{E5, E6, LTS6116, E7, E8, E9}, "SUSE Linux Enterprise"
	case base == "6.4.0" && suse:
		return []Era{E7, E8, E9, E10}, "SUSE Linux Enterprise"
	case base == "6.12.0" && suse:
		return []Era{E10, E11}, "SUSE Linux Enterprise"
	case suse:
		return nil, "SUSE Linux Enterprise"
	}
	return nil, ""
}

// backported makes the candidates of a vendor kernel; where the vendor is known
// but its backports are not listed, those of the upstream release and all later ones.
func backported(r Release, eras []Era, who string) []Candidate {
	if eras == nil {
		own := EraOf(r)
		for _, e := range Eras() {
			if len(own) > 0 && order(e) >= order(own[0].Era) {
				eras = append(eras, e)
			}
		}
	}
	var found []Candidate
	seen := map[Era]bool{}
	for _, e := range eras {
		if seen[e] {
			continue
		}
		seen[e] = true
		p, _ := ProfileOf(e)
		found = append(found, Candidate{Era: e, Vendor: who, Reason: fmt.Sprintf(
			"vendor kernel: %s keeps the number %s and takes in later changes; which ones is not known, it may behave like %s", who, r, p.Releases)})
	}
	return found
}

// order sorts eras by the release that they are typical of.
func order(e Era) int {
	r := release(typical(e))
	return r.Major*1_000_000 + r.Minor*1_000 + min(r.Patch, 999)
}
