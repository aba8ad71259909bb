package watchdog

import (
	"strings"
	"testing"
)

func TestDetectNamesTheEra(t *testing.T) {
	both := map[string]string{"max_cswd_read_retries": "2", "verify_n_cpus": "8"}
	verify := map[string]string{"verify_n_cpus": "8"}
	none := map[string]string{}
	const debian61 = "Linux version 6.1.0-57-amd64 (builder@host) (gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)"
	tests := []struct {
		name   string
		id     Identity
		want   string // eras, in order
		source string
		vendor string
	}{
		{"nothing at all", Identity{}, "", "", ""},
		{"only a distribution", Identity{Distro: "debian"}, "", "", ""},
		{"a signature of Ubuntu", Identity{Signature: "Ubuntu 5.15.0-91.101-generic 5.15.131", Release: "5.15.0-91-generic"}, "LTS-5.15.17 E6 LTS-5.15-pause LTS-6.1.16 LTS-5.15-long LTS-6.1.78", "version_signature", ""},
		{"a signature and parameters", Identity{Signature: "Ubuntu 5.15.0-160.170-generic 5.15.200", Parameters: verify}, "LTS-5.15.224", "version_signature", ""},
		{"Ubuntu's 6.2.16", Identity{Signature: "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16"}, "LTS-6.1.16", "version_signature", ""},
		{"a boot line of Ubuntu", Identity{Version: "Linux version 6.8.0-31-generic (buildd@host) (gcc 13.2.0) #31-Ubuntu SMP (Ubuntu 6.8.0-31.31-generic 6.8.1)"}, "E8", "version", ""},
		{"uname -r of Ubuntu alone", Identity{Release: "5.15.0-91-generic"}, "E5 LTS-5.15.17 LTS-5.15.224 E6 LTS-5.15-pause LTS-6.1.16 LTS-5.15-long LTS-6.1.78", "release", ""},
		{"uname -r of Ubuntu with parameters", Identity{Release: "5.15.0-91-generic", Parameters: verify}, "LTS-5.15.224", "release", ""},
		{"uname -v of Debian", Identity{Release: "6.1.0-57-amd64", Version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)"}, "LTS-6.1.192", "version", ""},
		{"the boot line of Debian", Identity{Version: debian61}, "LTS-6.1.192", "version", ""},
		{"a compiler of Debian is no kernel", Identity{Version: "Linux version 6.1.0-57-amd64 (builder@host) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP PREEMPT_DYNAMIC"}, "E6 LTS-6.1.16 LTS-6.1.78 LTS-6.1.192", "release", ""},
		{"Debian 11", Identity{Version: "Linux version 5.10.0-32-amd64 (debian-kernel@lists.debian.org) (gcc-10 (Debian 10.2.1-6) 10.2.1 20210110, GNU ld (GNU Binutils for Debian) 2.35.2) #1 SMP Debian 5.10.223-1 (2024-08-10)"}, "LTS-5.10.223", "version", ""},
		{"Debian 13 backports", Identity{Version: "Linux version 7.0.13+deb13-amd64 (debian-kernel@lists.debian.org) (x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0, GNU ld (GNU Binutils for Debian) 2.44) #1 SMP PREEMPT_DYNAMIC Debian 7.0.13-1~bpo13+1 (2026-07-05)"}, "E11", "version", ""},
		{"uname -r of Debian 13", Identity{Release: "6.12.117+deb13-amd64"}, "E11", "release", ""},
		{"uname -r of Debian 12 alone", Identity{Release: "6.1.0-57-amd64"}, "E6 LTS-6.1.16 LTS-6.1.78 LTS-6.1.192", "release", ""},
		{"uname -r of Debian 12 with parameters", Identity{Release: "6.1.0-57-amd64", Parameters: verify}, "LTS-6.1.192", "release", ""},
		{"a package of Debian", Identity{Release: "6.1.0-57-amd64", Package: "6.1.192-3"}, "LTS-6.1.192", "package", ""},
		{"a package list line of Debian", Identity{Package: "linux-image-6.1.0-57-amd64 6.1.192-3"}, "LTS-6.1.192", "package", ""},
		{"a package of Ubuntu hides the release", Identity{Release: "6.8.0-31-generic", Package: "6.8.0-31.31"}, "E8", "release", ""},
		{"Raspberry Pi OS", Identity{Version: "#1 SMP PREEMPT Debian 1:6.6.31-1+rpt1 (2024-05-29)"}, "E8", "version", ""},
		{"Proxmox", Identity{Release: "6.8.12-4-pve", Version: "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-4 (2024-11-06T15:04Z)"}, "E8", "version", ""},
		{"uname -r of Proxmox", Identity{Release: "6.8.12-4-pve"}, "E8", "release", "Proxmox"},
		{"RHEL 6", Identity{Release: "2.6.32-431.el6.x86_64"}, "E1 E2", "release", "RHEL 6 or a rebuild of it"},
		{"RHEL 7", Identity{Release: "3.10.0-1160.el7.x86_64"}, "E2 E3 E4", "release", "RHEL 7 or a rebuild of it"},
		{"RHEL 8", Identity{Release: "4.18.0-553.el8_10.x86_64"}, "E4 LTS-5.10.50 E5 E6 LTS-6.1.16 E7", "release", "RHEL 8 or a rebuild of it"},
		{"RHEL 9", Identity{Release: "5.14.0-427.13.1.el9_4.x86_64"}, "E5 E6 LTS-6.1.16 E7 E8 E9 E10 E11", "release", "RHEL 9 or a rebuild of it"},
		{"RHEL 9 with parameters", Identity{Release: "5.14.0-427.13.1.el9_4.x86_64", Parameters: both}, "E5 E6 LTS-6.1.16 E7 E8", "release", "RHEL 9 or a rebuild of it"},
		{"RHEL 9 with a skip", Identity{Release: "5.14.0-427.13.1.el9_4.x86_64", Messages: []string{"clocksource: wd-tsc-wd read-back delay of 130760ns, clock-skew test skipped!", "clocksource: timekeeping watchdog on CPU392: wd-tsc-wd read-back delay of 113640ns, attempt 3, marking unstable"}}, "E6 LTS-6.1.16", "release", "RHEL 9 or a rebuild of it"},
		{"RHEL 9 by its package", Identity{Package: "kernel-5.14.0-427.13.1.el9_4.x86_64", Release: "5.14.0-427.13.1.el9_4.x86_64"}, "E5 E6 LTS-6.1.16 E7 E8 E9 E10 E11", "release", "RHEL 9 or a rebuild of it"},
		{"RHEL 10", Identity{Release: "6.12.0-55.9.1.el10_0.x86_64"}, "E10 E11", "release", "RHEL 10 or a rebuild of it"},
		{"SUSE 15 SP2", Identity{Release: "5.3.18-24.96-default"}, "E4 LTS-5.10.50 E5 E6", "release", "SUSE Linux Enterprise"},
		{"SUSE 15 SP5", Identity{Release: "5.14.21-150500.55.83-default"}, "E5 E6 LTS-6.1.16 E7 E8 E9", "release", "SUSE Linux Enterprise"},
		{"SUSE 15 SP6", Identity{Release: "6.4.0-150600.23.25-default"}, "E7 E8 E9 E10", "release", "SUSE Linux Enterprise"},
		{"openSUSE Tumbleweed", Identity{Release: "6.9.3-1-default"}, "E9", "release", ""},
		{"Fedora", Identity{Release: "6.17.12-300.fc43.x86_64"}, "E10", "release", ""},
		{"a first release of Fedora", Identity{Release: "6.8.0-63.fc40.x86_64"}, "E8", "release", ""},
		{"Arch", Identity{Release: "6.9.3-arch1-1"}, "E9", "release", ""},
		{"a first release of Arch", Identity{Release: "6.1.0-arch1-1"}, "E6", "release", ""},
		{"Amazon Linux", Identity{Release: "5.10.223-212.873.amzn2.x86_64"}, "LTS-5.10.223", "release", "Amazon Linux"},
		{"Azure on Ubuntu", Identity{Release: "5.15.0-1053-azure", Parameters: both}, "E5 LTS-5.15.17 E6 LTS-5.15-pause LTS-6.1.16 LTS-5.15-long LTS-6.1.78", "release", ""},
		{"a name without numbers behind x.y.0", Identity{Version: "Linux version 5.15.0-azure (builder@host) (gcc 11.4.0) #1 SMP"}, "E5 LTS-5.15.17 LTS-5.15.224 E6 LTS-5.15-pause LTS-6.1.16 LTS-5.15-long LTS-6.1.78", "release", ""},
		{"Azure Linux", Identity{Release: "6.6.51.1-5.azl3"}, "E9 E8", "release", "Azure Linux"},
		{"Container-Optimized OS", Identity{Release: "6.1.112+", Distro: "cos"}, "LTS-6.1.192", "release", "Container-Optimized OS"},
		{"Oracle UEK", Identity{Release: "5.15.0-200.131.27.el9uek.x86_64"}, "E5 LTS-5.15.17 LTS-5.15.224 E6 LTS-5.15-pause LTS-6.1.16 LTS-5.15-long LTS-6.1.78", "release", "Oracle UEK"},
		{"Android", Identity{Release: "5.10.198-android13-4-00050-g12f3388846c3-ab11920634"}, "LTS-5.10.173", "release", "Android"},
		{"WSL", Identity{Release: "5.15.224.1-microsoft-standard-WSL2"}, "LTS-5.15.224", "release", "Microsoft (WSL)"},
		{"upstream", Identity{Release: "7.3.4"}, "E12", "release", ""},
		{"upstream release candidate", Identity{Release: "5.15.0-rc5+"}, "E5", "release", ""},
		{"only parameters, both", Identity{Parameters: both}, "E5 E6 E7 E8 LTS-5.15.17 LTS-5.15-pause LTS-5.15-long LTS-6.1.16 LTS-6.1.78", "parameters", ""},
		{"only parameters, one left", Identity{Parameters: verify}, "E9 E10 E11 LTS-5.15.224 LTS-6.1.192", "parameters", ""},
		{"only parameters, retries alone", Identity{Parameters: map[string]string{"max_cswd_read_retries": "3"}}, "LTS-5.10.50 LTS-5.10.94 LTS-5.10.173 LTS-5.10.223", "parameters", ""},
		{"only parameters, none", Identity{Parameters: none}, "E0 E1 E2 E3 E4 E12", "parameters", ""},
		{"only a message of the rewrite", Identity{Messages: []string{"clocksource: Marking clocksource tsc unstable due to frequency skew"}}, "E12", "messages", ""},
		{"only a delta message", Identity{Messages: []string{"Clocksource tsc unstable (delta = -8589935096 ns)"}}, "E0 E1 E2", "messages", ""},
		{"only hexadecimal lines", Identity{Messages: []string{"clocksource:                       'hpet' wd_now: 25272026 wd_last: 2e9ce418 mask: ffffffff"}}, "E3 E4 LTS-5.10.50 LTS-5.10.94 LTS-5.10.173 LTS-5.10.223", "messages", ""},
		{"only an excessive delay", Identity{Messages: []string{"clocksource: timekeeping watchdog on CPU227: wd-tsc-wd excessive read-back delay of 153560ns vs. limit of 125000ns, wd-wd read-back delay only 11440ns, attempt 3, marking tsc unstable"}}, "E7 E8 E9 E10 E11", "messages", ""},
		{"a kernel without a watchdog", Identity{Release: "2.4.20"}, "", "", ""},
		{"only a look-alike", Identity{Messages: []string{"watchdog: BUG: soft lockup - CPU#0 stuck for 26s!"}}, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Detect(tt.id)
			if eras := list(got.Candidates); eras != tt.want {
				t.Errorf("candidates %q, want %q", eras, tt.want)
			}
			if got.Source != tt.source || got.Vendor != tt.vendor {
				t.Errorf("source %q of vendor %q, want %q of %q", got.Source, got.Vendor, tt.source, tt.vendor)
			}
			if got.Why == "" || len(got.Conflicts) > 0 {
				t.Errorf("why %q, conflicts %q", got.Why, got.Conflicts)
			}
			for _, c := range got.Candidates {
				if c.Reason == "" {
					t.Errorf("candidate %s has no reason", c.Era)
				}
				if vendor := strings.Contains(c.Reason, "vendor kernel: "); vendor != (c.Vendor != "") {
					t.Errorf("candidate %s of vendor %q says %q", c.Era, c.Vendor, c.Reason)
				}
			}
			if got.Certain() != (len(got.Candidates) == 1) {
				t.Error("certain with more than one candidate")
			}
		})
	}
}

func TestTheVersionThatTheBannerNamesStaysInTheCandidate(t *testing.T) {
	got := Detect(Identity{Release: "6.1.0-57-amd64", Version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)"})
	if len(got.Candidates) != 1 || got.Candidates[0].Release != "6.1.192" {
		t.Errorf("candidates %+v", got.Candidates)
	}
}

func TestWhatNoCandidateExplainsIsAConflict(t *testing.T) {
	const skew = "clocksource: Marking clocksource tsc unstable due to frequency skew"
	got := Detect(Identity{Signature: "Ubuntu 5.15.0-91.101-generic 5.15.224", Messages: []string{skew}})
	if list(got.Candidates) != "LTS-5.15.224" || len(got.Conflicts) != 1 {
		t.Errorf("a named release gave way: %+v", got)
	}
	// uname -r is the weakest source: what was seen comes first.
	got = Detect(Identity{Release: "6.6.60", Messages: []string{skew}})
	if list(got.Candidates) != "E12 E9" || len(got.Conflicts) != 1 || !strings.Contains(got.Candidates[0].Reason, "vendor kernel: ") {
		t.Errorf("uname -r outweighs a message: %+v", got)
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("Ubuntu 5.15.0-91.101-generic 5.15.131", "#1 SMP Debian 6.1.192-3", "6.1.192-3", "6.1.0-57-amd64", "clocksource: tsc: mask: 0xff max_cycles: 0xff")
	f.Add("", "Linux version 5.15.0-azure (b@h)", "kernel-5.14.0-1.el9", "4.18.0-553.el8_10.x86_64", "Watchdog hpet read timed out")
	f.Fuzz(func(t *testing.T, signature, version, pkg, release, message string) {
		got := Detect(Identity{Signature: signature, Version: version, Package: pkg, Release: release, Messages: []string{message}})
		if got.Why == "" || (len(got.Candidates) == 0) != (got.Source == "") {
			t.Fatalf("%+v", got)
		}
		for _, c := range got.Candidates {
			if _, ok := c.Profile(); !ok || c.Reason == "" {
				t.Fatalf("candidate %+v", c)
			}
		}
	})
}
