package qemu

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/load"
	"github.com/cswatch/cswatch/internal/qemu/snapshot"
)

var update = flag.Bool("update", false, "write the golden files anew")

func fullSpec() Spec {
	return Spec{
		Kernel: "/boot/vmlinuz", Append: []string{"tsc_early_khz=2415000", `dyndbg="file x +p"`}, OnlyAppend: true,
		CPUs: 8, MemoryMB: 512, Accelerator: KVM, CPUModel: "Skylake-Server",
		Plan:  guest.Plan{Window: 10 * time.Second, EndOn: []event.Kind{event.TSCUnstable}, Linger: time.Second, Load: load.Both, Fetch: []string{"/proc/version"}},
		Files: []File{{Guest: "/cswatch", Host: "bin/cswatch", Perm: 0o755}},
		Limit: time.Minute, QMP: true, Extra: []string{"-msg", "timestamp=on"},
	}
}

func TestASpecificationBecomesQEMUsCommandLine(t *testing.T) {
	cases := []struct {
		name string
		spec Spec
		p    paths
	}{
		{"least", Spec{Kernel: "/boot/vmlinuz"}, paths{qemu: "qemu", kernel: "vmlinux", initramfs: "initramfs"}},
		{"all", fullSpec(), paths{qemu: "qemu", kernel: "vmlinux", initramfs: "initramfs", qmp: "socket"}},
		{"restored", Spec{Kernel: "/boot/vmlinuz", From: "state", Extra: []string{"-S"}}, paths{qemu: "qemu", kernel: "vmlinux", initramfs: "initramfs"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(c.spec.withDefaults().arguments(c.p), "\n") + "\n"
			golden := filepath.Join("testdata", "command-"+c.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLimitLeavesRoomForWhatThePlanWants(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Spec
		want time.Duration
	}{
		{"a boot alone", Spec{}, time.Minute},
		{"a window", Spec{Plan: guest.Plan{Window: 10 * time.Second}}, 90 * time.Second},
		{"files that are fetched", Spec{Plan: guest.Plan{Fetch: []string{"/a", "/b"}}}, 3 * time.Minute},
		{"one that is given", Spec{Limit: time.Second, Plan: guest.Plan{Window: time.Hour, Fetch: []string{"/a"}}}, time.Second},
	} {
		if got := c.spec.withDefaults().Limit; got != c.want {
			t.Errorf("%s: limit %v, want %v", c.name, got, c.want)
		}
	}
}

func TestASpecificationCanBeStored(t *testing.T) {
	want := fullSpec()
	want.From, want.Steps = "state", []snapshot.Step{{CPU: snapshot.AllCPUs, Cycles: 2_300_000}, {CPU: 1, Cycles: -1}}
	var back Spec
	if err := json.Unmarshal([]byte(asJSON(t, want)), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Errorf("it came back changed (-want +got):\n%s", diff)
	}
}

func TestASpecificationIsCheckedAsAWhole(t *testing.T) {
	if err := fullSpec().Validate(); err != nil {
		t.Errorf("a good one: %v", err)
	}
	err := Spec{
		Append: []string{"two words", "", "new\nline"}, CPUs: 256, MemoryMB: 16, Accelerator: "xen", Limit: -1,
		Plan:  guest.Plan{Window: -1},
		Files: []File{{Guest: "//init", Host: "x"}, {Guest: "a", Host: "x"}, {Guest: "/a", Host: "y"}, {Guest: "/b"}, {Host: "x"}},
	}.Validate()
	if err == nil {
		t.Fatal("nothing was found")
	}
	for _, want := range []string{
		"no kernel is named", `"two words" is not one word`, `"" is not one word`, `"new\nline" is not one word`, "256 CPUs", "16 MiB",
		`accelerator "xen": want tcg or kvm`, "limit -1ns", "window -1ns", `file "//init"`, `file "/a" from "y"`, `file "/b"`, `file "" from "x"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), `file "a"`) {
		t.Errorf("it complains of a good file:\n%v", err)
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Kernel: "x", Accelerator: KVM, From: "state"}, "accelerator kvm with a saved state: only tcg has the TSC in it"},
		{Spec{Kernel: "x", Steps: []snapshot.Step{{CPU: 1}}}, "steps of the TSC without a saved state"},
		{Spec{Kernel: "x", From: "state", Steps: []snapshot.Step{{CPU: 0}, {CPU: 2, Cycles: 5}}}, "step CPU 2 +5 cycles: want a CPU from 0 to 1, or -1 for all"},
		{Spec{Kernel: "x", From: "state", Steps: []snapshot.Step{{CPU: -2}}}, "step CPU -2 +0 cycles: want"},
	} {
		if err := c.spec.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
	long := Spec{Kernel: "x", Append: []string{strings.Repeat("x", 2000)}}
	if err := long.Validate(); err == nil || !strings.Contains(err.Error(), "the kernel takes 2047") {
		t.Errorf("a long command line: %v", err)
	}
}
