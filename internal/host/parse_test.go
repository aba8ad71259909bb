package host

import (
	"math"
	"strings"
	"testing"

	"github.com/cswatch/cswatch/machine"
	"github.com/google/go-cmp/cmp"
)

func TestBannerIsSplit(t *testing.T) {
	for _, tt := range []struct{ in, release, version string }{
		{"Linux version 6.1.0-57-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP Debian 6.1.192-3 (2026-10-11)", "6.1.0-57-amd64", "#1 SMP Debian 6.1.192-3 (2026-10-11)"},
		{"Linux version 4.4.302 (ann@desk) (gcc version 9.4.0) #1 SMP Sat", "4.4.302", "#1 SMP Sat"},
		{"Linux version 4.4.302", "4.4.302", ""},
		{"FreeBSD 14", "", ""},
		{"", "", ""},
	} {
		if r, v := splitBanner(tt.in); r != tt.release || v != tt.version {
			t.Errorf("splitBanner(%q) = %q, %q; want %q, %q", tt.in, r, v, tt.release, tt.version)
		}
	}
}

func TestUnameIsSplit(t *testing.T) {
	for _, tt := range []struct{ in, host, release, version, arch string }{
		{"Linux h 5.14.0-362.8.1.el9_3.x86_64 #1 SMP PREEMPT_DYNAMIC Tue Oct 3 x86_64 x86_64 x86_64 GNU/Linux", "h", "5.14.0-362.8.1.el9_3.x86_64", "#1 SMP PREEMPT_DYNAMIC Tue Oct 3", "x86_64"},
		{"Linux h 6.1.0-57-arm64 #1 SMP Debian 6.1.192-3 (2026-10-11) aarch64 GNU/Linux", "h", "6.1.0-57-arm64", "#1 SMP Debian 6.1.192-3 (2026-10-11)", "aarch64"},
		{"Linux h 5.3.18-default #1 SMP Tue s390x s390x s390x GNU/Linux", "h", "5.3.18-default", "#1 SMP Tue", "s390x"},
		{"Darwin h 20", "", "", "", ""},
		{"Linux", "", "", "", ""},
	} {
		h, r, v, a := splitUname(tt.in)
		if diff := cmp.Diff([]string{tt.host, tt.release, tt.version, tt.arch}, []string{h, r, v, a}); diff != "" {
			t.Errorf("splitUname(%q), -want +got:\n%s", tt.in, diff)
		}
	}
}

func TestPackageOfTheKernel(t *testing.T) {
	for _, tt := range []struct {
		name string
		k    machine.Kernel
		want string
	}{
		{"Debian", machine.Kernel{Release: "6.1.0-57-amd64", Version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-10-11)"}, "6.1.192-3"},
		{"Ubuntu by its signature", machine.Kernel{Release: "5.15.0-97-generic", Signature: "Ubuntu 5.15.0-97.107-generic 5.15.136"}, "5.15.0-97.107"},
		{"Ubuntu by its version", machine.Kernel{Release: "5.15.0-97-generic", Version: "#107~20.04.1-Ubuntu SMP Wed"}, "5.15.0-97.107"},
		{"RHEL", machine.Kernel{Release: "4.18.0-513.5.1.el8_9.x86_64"}, "4.18.0-513.5.1.el8_9.x86_64"},
		{"Fedora", machine.Kernel{Release: "6.5.6-300.fc39.x86_64"}, "6.5.6-300.fc39.x86_64"},
		{"SUSE", machine.Kernel{Release: "5.14.21-150500.55.39-default"}, "5.14.21-150500.55.39"},
		{"a kernel of one's own", machine.Kernel{Release: "6.1.4", Version: "#3 SMP"}, ""},
	} {
		if got := packageOf(tt.k); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestListsAreCounted(t *testing.T) {
	for in, want := range map[string]int{"0": 1, "0-3": 4, "0-3,8,10-11": 7, "5-5": 1} {
		if n, ok := countList(in); n != want || !ok {
			t.Errorf("countList(%q) = %d, %t; want %d", in, n, ok, want)
		}
	}
	for _, in := range []string{"", "x", "3-0", "0-", "-1", "0,,1", "0-9999999999", "0-1048576", "1.5", "+1"} {
		if n, ok := countList(in); ok {
			t.Errorf("countList(%q) = %d, want none", in, n)
		}
	}
}

func TestUptimes(t *testing.T) {
	for in, want := range map[string]float64{"12.5 3.0": 12.5, "12.5": 12.5, "-1 0": 0, "NaN 0": 0, "1e300 1": 0, "x": 0} {
		if got := parseUptime(in); got != want {
			t.Errorf("parseUptime(%q) = %v, want %v", in, got, want)
		}
	}
	for in, want := range map[string]float64{
		" 10:04:00 up 12 days,  3:04,  2 users": 12*86400 + 3*3600 + 4*60,
		" 10:04:00 up 1 day, 5 min,  1 user":    86400 + 300,
		" 10:04:00 up  3:04,  2 users":          3*3600 + 240,
		" 10:04:00 up 5 min,  2 users":          300,
		"nonsense":                              0,
	} {
		if got := uptimeCommand(in); got != want {
			t.Errorf("uptimeCommand(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestHypervisorIsJudgedFromWhatThereIs(t *testing.T) {
	guest := func(p platform) platform { p.flags = machine.Yes; p.arch = "x86_64"; return p }
	for _, tt := range []struct {
		name  string
		p     platform
		guest machine.Answer
		hv    string
		mode  string
	}{
		{"Xen's first domain", guest(platform{xenType: "xen", xenCaps: "control_d", vendor: "Dell Inc.", dmiRead: true}), machine.Yes, "xen", "dom0"},
		{"a PVH guest of Xen", guest(platform{xenType: "xen", xenGuest: "PVH"}), machine.Yes, "xen", "pvh"},
		{"QEMU with KVM", guest(platform{vendor: "QEMU", product: "Standard PC (i440FX + PIIX, 1996)", dmiRead: true, available: []string{"kvm-clock"}}), machine.Yes, "kvm", ""},
		{"QEMU without KVM", guest(platform{vendor: "QEMU", product: "Standard PC (i440FX + PIIX, 1996)", dmiRead: true, cpu: cpuinfo{model: "QEMU TCG CPU version 2.5+"}}), machine.Yes, "qemu-tcg", ""},
		{"QEMU of which it cannot be told", guest(platform{vendor: "QEMU", product: "Standard PC (Q35 + ICH9, 2009)", dmiRead: true}), machine.Yes, "qemu", ""},
		{"Google's cloud", guest(platform{vendor: "Google", product: "Google Compute Engine", dmiRead: true}), machine.Yes, "kvm", ""},
		{"VirtualBox", guest(platform{vendor: "innotek GmbH", product: "VirtualBox", dmiRead: true}), machine.Yes, "virtualbox", ""},
		{"Firecracker by its tables", guest(platform{available: []string{"kvm-clock", "tsc"}, acpiOEM: "FIRECK"}), machine.Yes, "firecracker", ""},
		{"a guest that hides its hypervisor's name", guest(platform{vendor: "ACME", product: "Cloud", dmiRead: true}), machine.Yes, "", ""},
		{"bare metal of a cloud", platform{flags: machine.No, arch: "x86_64", vendor: "Amazon EC2", product: "m5.metal", dmiRead: true}, machine.No, "", ""},
		{"x86 without its flags is not called bare metal", platform{flags: machine.Unknown, arch: "x86_64", vendor: "Dell Inc.", product: "R640", dmiRead: true}, machine.Unknown, "", ""},
		{"an arm64 server", platform{flags: machine.Unknown, arch: "aarch64", vendor: "GIGABYTE", product: "R152-P31", dmiRead: true}, machine.No, "", ""},
		{"an arm64 guest by its device tree", platform{flags: machine.Unknown, arch: "aarch64", dtModel: "linux,dummy-virt"}, machine.Yes, "qemu", ""},
		{"a KVM guest on POWER", platform{flags: machine.Unknown, arch: "ppc64le", dtHypervisor: "linux,kvm", cpu: cpuinfo{platform: "pSeries"}}, machine.Yes, "kvm", ""},
		{"POWER without a hypervisor", platform{flags: machine.Unknown, arch: "ppc64le", cpu: cpuinfo{platform: "PowerNV"}}, machine.No, "", ""},
		{"a guest of z/VM", platform{arch: "s390x", sysinfo: "LPAR Number:          21\nVM00 Name:            LINUX01\nVM00 Control Program: z/VM    7.3.0\n"}, machine.Yes, "zvm", ""},
		{"a KVM guest on s390x", platform{arch: "s390x", sysinfo: "LPAR Number:          21\nVM00 Control Program: KVM/Linux\n"}, machine.Yes, "kvm", ""},
		{"s390x without sysinfo", platform{arch: "s390x"}, machine.Unknown, "", ""},
		{"nothing known", platform{flags: machine.Unknown}, machine.Unknown, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := tt.p.judge()
			if h.Guest != tt.guest || h.Name != tt.hv || h.Mode != tt.mode {
				t.Errorf("%+v, want guest %s, name %q, mode %q", h, tt.guest, tt.hv, tt.mode)
			}
			if (h.From == "") != (tt.guest == machine.Unknown) {
				t.Errorf("from %q: an answer, and only an answer, names its source", h.From)
			}
		})
	}
}

func TestContainerEnginesLeaveTheirMarks(t *testing.T) {
	for in, want := range map[string]string{
		"0::/":                        "",
		"12:cpu:/docker/3f2a9c1b7d5e": "docker",
		"0::/system.slice/docker-3f2a9c1b7d5e.scope":                         "docker",
		"0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-1.scope": "kubernetes",
		"0::/lxc.payload.web":                      "lxc",
		"0::/machine.slice/libpod-1234.scope":      "podman",
		"0::/user.slice/user-1000.slice/x.service": "",
	} {
		if got := cgroupEngine(in); got != want {
			t.Errorf("cgroupEngine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHRESIsReadFromTheFirstCPU(t *testing.T) {
	for in, want := range map[string]machine.Answer{
		"cpu: 0\n  .hres_active    : 1\ncpu: 1\n  .hres_active    : 0\n": machine.Yes,
		"  .hres_active    : 0\n": machine.No,
		"  .hres_active    : x\n": machine.Unknown,
		"nothing\n":               machine.Unknown,
	} {
		if got := hresActive(in); got != want {
			t.Errorf("hresActive(%q) = %s, want %s", in, got, want)
		}
	}
}

const goodTracking = `Reference ID    : CB00710F (ntp.example.net)
System time     : 0.000500000 seconds fast of NTP time
Frequency       : 3.225 ppm slow
Root delay      : 0.002000000 seconds
Root dispersion : 0.001000000 seconds
Leap status     : Insert second
`

func TestChronyTrackingIsRead(t *testing.T) {
	got, err := parseTracking(goodTracking)
	if err != nil {
		t.Fatal(err)
	}
	want := tracking{frequencyPPM: 3.225, offsetNS: -500_000, maxErrorNS: 2_500_000, leap: "Insert second", synchronised: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tracking{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	lost, err := parseTracking(strings.Replace(goodTracking, "Insert second", "Not synchronised", 1))
	if err != nil || lost.synchronised {
		t.Errorf("not synchronised: %+v, error %v", lost, err)
	}
	for name, text := range map[string]string{
		"chronyd does not run":     "506 Cannot talk to daemon\n",
		"the frequency has no way": strings.Replace(goodTracking, "ppm slow", "ppm", 1),
		"a number is none":         strings.Replace(goodTracking, "3.225", "much", 1),
		"a number is out of range": strings.Replace(goodTracking, "0.002000000", "1e300", 1),
		"the leap status is cut":   strings.Replace(goodTracking, "Leap status     : Insert second\n", "", 1),
	} {
		if tr, err := parseTracking(text); err == nil {
			t.Errorf("%s: no error, %+v", name, tr)
		}
	}
}

func FuzzChronyTracking(f *testing.F) {
	f.Add(goodTracking)
	f.Add("System time : NaN seconds slow of NTP time\nFrequency : -Inf ppm fast\nLeap status : x\n")
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := parseTracking(text)
		if err != nil {
			if tr != (tracking{}) {
				t.Errorf("error %v and a value %+v", err, tr)
			}
			return
		}
		if math.IsNaN(tr.frequencyPPM) || math.IsInf(tr.frequencyPPM, 0) || tr.leap == "" || tr.maxErrorNS < 0 {
			t.Errorf("%q: %+v", text, tr)
		}
	})
}

func FuzzCPUInfo(f *testing.F) {
	for _, file := range fixtureFiles(f) {
		for _, part := range loadFixture(f, file).files {
			if strings.HasSuffix(part.Name, "proc/cpuinfo") {
				f.Add(string(part.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		ci := parseCPUInfo(text)
		if ci.processors < 0 || ci.family < 0 || ci.modelNumber < 0 || len(ci.flags) > len(machine.ClockFlags) {
			t.Errorf("%+v", ci)
		}
		if mhz := ci.tscMHz(); mhz < 0 || math.IsNaN(mhz) || mhz > 1e6 {
			t.Errorf("TSC rate %v", mhz)
		}
		if len(ci.packages) > strings.Count(text, "physical id") {
			t.Errorf("%d packages", len(ci.packages))
		}
	})
}
