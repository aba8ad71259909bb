package host

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cswatch/cswatch/machine"
)

func TestRedactionTakesOutNamesAndAddresses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"MAC address", "igb 0000:01:00.0: added PHC on eth0 a0:36:9f:12:34:56", "igb 0000:01:00.0: added PHC on eth0 <mac>"},
		{"InfiniBand address", "ib0: 80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0e:1b:c1", "ib0: <mac>"},
		{"IPv4 address", "nfs: server 10.20.30.40 not responding", "nfs: server <ip> not responding"},
		{"IPv4 address with a port", "connect to 10.20.30.40:2049.", "connect to <ip>:2049."},
		{"IPv6 address", "eth0: fe80::a236:9fff:fe12:3456 tentative", "eth0: <ip> tentative"},
		{"long IPv6 address", "from 2001:0db8:0000:0000:0000:ff00:0042:8329 to", "from <ip> to"},
		{"IPv6 address at the end of a sentence", "lost 2001:db8::1.", "lost <ip>."},
		{"UUID", "EXT4-fs (dm-0): mounted filesystem 6e0c5a3e-16a4-4b2a-9f0f-0f1f7c4a1a11 r/w", "EXT4-fs (dm-0): mounted filesystem <uuid> r/w"},
		{"USB serial number", "usb 1-1: SerialNumber: 4C530001", "usb 1-1: SerialNumber: <serial>"},
		{"world wide name", "scsi 0:0:0:0: wwn-0x5000c500a1b2c3d4 found", "scsi 0:0:0:0: wwn-0x<serial> found"},
		{"user in a path", "bash[1]: segfault at /home/jane/bin/x", "bash[1]: segfault at /home/<user>/bin/x"},
		{"user in an audit record", `audit: acct="jane" exe="/usr/sbin/sshd" hostname=? addr=10.1.1.1`, `audit: acct=<redacted> exe=<redacted> hostname=? addr=<redacted>`},
		{"host name as a word", "systemd[1]: Set hostname to <db01.example.com>.", "systemd[1]: Set hostname to <<host>>."},
		{"short host name", "DB01 is up, db01x is not", "<host> is up, db01x is not"},
		{"host column of syslog", "Mar  5 08:00:02 any-name kernel: tsc: Refined TSC clocksource calibration: 2099.998 MHz", "Mar  5 08:00:02 <host> kernel: tsc: Refined TSC clocksource calibration: 2099.998 MHz"},
		{"private builder", "[    0.000000] Linux version 6.1.4 (ann@desk) (gcc 12.2.0) #3 SMP", "[    0.000000] Linux version 6.1.4 (<redacted>) (gcc 12.2.0) #3 SMP"},
		{"addresses of a range", "nft: 10.1.2.7-10.1.2.9 and fe80::1-fe80::9 dropped", "nft: <ip>-<ip> and <ip>-<ip> dropped"},
		{"address within a word", "rpc: clnt_10.1.2.3_x on server:10.1.2.4, udp4:10.20.30.40.8.1", "rpc: clnt_<ip>_x on server:<ip>, udp4:<ip>.8.1"},
		{"address with zeros", "ip 010.001.002.003", "ip <ip>"},
		{"IPv6 address behind a word", "nfs: server:2001:db8::7 and deadline:fe80::1:eth0", "nfs: server:<ip> and deadline:<ip>:eth0"},
		{"IPv6 address in brackets", "to [2001:db8::7]:2049: timed out", "to [<ip>]:2049: timed out"},
		{"MAC address without separators", "ixgbe: MAC address a0369f123457, HWaddr 0xA0369F123458", "ixgbe: MAC address <mac>, HWaddr 0x<mac>"},
		{"MAC address of short numbers", "eth: 0:1e:67:a:b:c", "eth: <mac>"},
		{"MAC address with points", "switch a036.9f12.3456", "switch <mac>"},
		{"serial number without a colon", "ata1: S/N BTLJ1234, next", "ata1: S/N <serial>, next"},
		{"serial number with an abbreviation", "ipmi: System SN: 5B5RMN2", "ipmi: System SN: <serial>"},
		{"service tag", "dcdbas: Service Tag: 5B5RMN2", "dcdbas: Service Tag: <serial>"},
		{"serial number in words", "mpt3sas: Chassis Serial Number CZJ0123456 found", "mpt3sas: Chassis Serial Number <serial> found"},
		{"disk by its serial number", "dm: /dev/disk/by-id/ata-ST4000NM0035_ZC1ABCDE: busy", "dm: /dev/disk/by-id/<serial>: busy"},
		{"names of users in an audit record", `audit: op=x UID="jdoe" AUID="jdoe" OUID="root"`, `audit: op=x UID=<redacted> AUID=<redacted> OUID=<redacted>`},
		{"audit record", `audit: type=1309 audit(1709625602.123:42): argc=2 a0="mysql" a1="-phunter2"`, `audit: type=1309 audit(1709625602.123:42): <redacted>`},
		{"command line without a value", "Kernel command line: quiet -- --token abc", "Kernel command line: quiet -- <redacted>"},
		{"unknown parameters", `Unknown kernel command line parameters "splash BOOT_IMAGE=/boot/jdoe/vmlinuz wifi_password=hunter2", will be passed to user space.`, `Unknown kernel command line parameters "splash BOOT_IMAGE=/vmlinuz wifi_password=<redacted>`},
		{"value in single quotes", "Kernel command line: secret='a b c=d' ro", "Kernel command line: secret=<redacted> ro"},
		{"network of a diskless machine", "     device=eth0, hwaddr=a0:36:9f:12:34:56, ipaddr=10.1.1.5, host=db07, domain=corp.example.com", "     device=eth0, hwaddr=<mac>, ipaddr=<redacted>, host=<redacted>, domain=<redacted>"},
		{"container id", "cgroup: /docker/3f2a9c1b7d5e4a6f8b0c2d4e6f8a0b1c3d5e7f9a1b3c5d7e9f0a2b4c6d8e0f1a", "cgroup: /docker/<hex>"},
		{"command line", "Kernel command line: root=UUID=6e0c5a3e-16a4-4b2a-9f0f-0f1f7c4a1a11 ro ip=10.0.0.2 tsc=reliable", "Kernel command line: root=<redacted> ro ip=<redacted> tsc=reliable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRedactor("db01.example.com")
			if got := r.line(tt.in); got != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
			if r.count == 0 {
				t.Error("nothing was counted")
			}
		})
	}
}

// Lines on clocks must come through untouched, whatever the host is called.
func TestLinesOnClocksSurviveRedaction(t *testing.T) {
	lines := []string{
		"clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 79635855245 ns",
		"clocksource: timekeeping watchdog on CPU12: hpet read-back delay of 60666ns, attempt 4, marking unstable",
		"clocksource: timekeeping watchdog on CPU3: hpet wd-wd read-back delay of 101685ns",
		"clocksource: wd-tsc-wd read-back delay of 256000ns, clock-skew test skipped!",
		"clocksource:                       'hpet' wd_nsec: 503029760 wd_now: 48a38f74 wd_last: 47e3ab74 mask: ffffffff",
		"clocksource:                       'tsc' cs_nsec: 503466648 cs_now: 16fd1e0d2a8c0 cs_last: 16fd1bb2a8c10 mask: ffffffffffffffff",
		"clocksource:                       Clocksource 'tsc' skewed 436888 ns (0 ms) over watchdog 'hpet' interval of 503029760 ns (503 ms)",
		"clocksource:         CPUs 0-3,7,12-63 ahead of CPU 5 for clocksource tsc.",
		"clocksource: CPU 5 check durations 4561ns - 10122ns for clocksource tsc.",
		"sched_clock: Marking unstable (1200345678, 345678)<-(1201000000, -123456)",
		"tsc: Marking TSC unstable due to clocksource watchdog",
		"tsc: Detected 2100.000 MHz processor",
		"TSC synchronization [CPU#0 -> CPU#1]:",
		"Measured 3742 cycles TSC warp between CPUs, turning off TSC clock.",
		"hpet0: at MMIO 0xfed00000, IRQs 2, 8, 0, 0, 0, 0, 0, 0",
		"hpet0: 8 comparators, 64-bit 24.000000 MHz counter",
		"clocksource: Switched to clocksource hpet",
		"ACPI: PM-Timer IO Port: 0x408",
		"rtc_cmos 00:01: setting system clock to 2026-03-05T08:00:02 UTC (1772697602)",
		"Linux version 6.1.0-57-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-10-11)",
		"Linux version 5.15.0-97-generic (buildd@lcy02-amd64-033) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0) #107-Ubuntu SMP Wed Feb 7 13:26:48 UTC 2024 (Ubuntu 5.15.0-97.107-generic 5.15.136)",
		"DMI: Dell Inc. PowerEdge R640/0W23H8, BIOS 2.12.2 07/12/2021",
		"Hypervisor detected: KVM",
		"kvm-clock: cpu 0, msr 3f401001, primary cpu clock",
		"TSC ADJUST: CPU0: -3022124 0000:",
		"tsc: Refined TSC clocksource calibration: 2099.998 MHz",
		"tsc: counters 16fd.1e0d.2a8c and 1:2:3:4:5:6 at station address 16fd1e0d2a8c", // not a real one: each coarse rule would find something
		"vmbus: version 1234.5.6.7, build 300.1.2.3",
		"Clocksource tsc unstable (delta = 499983723 ns)",
		"clocksource: timekeeping watchdog: Marking clocksource 'tsc' as unstable, because the skew is too large:",
		"hpet0: 3 comparators, 64-bit 14.318180 MHz counter",
		"clocksource: Long readout interval, skipping watchdog check: cs_nsec: 6012345678 wd_nsec: 6012345999",
		"clocksource:                       'kvm-clock' is current clocksource.",
	}
	for _, host := range []string{"", "tsc", "hpet", "kernel", "clocksource", "localhost", "db01.example.com", "12", "cpu"} {
		r := newRedactor(host)
		for _, l := range lines {
			for _, stamp := range []string{"", "[   60.123456] ", "<4>[   60.123456] "} {
				if got := r.line(stamp + l); got != stamp+l {
					t.Errorf("host %q:\n got %q\nwant %q", host, got, stamp+l)
				}
			}
		}
		if r.count != 0 {
			t.Errorf("host %q: %d places counted, want 0", host, r.count)
		}
	}
}

func TestCommandLineKeepsWhatMattersToClocks(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		count          int
	}{
		{"clock options keep their values", "clocksource=hpet tsc=reliable hpet=disable nohz=off highres=off processor.max_cstate=1 intel_idle.max_cstate=0 clocksource.verify_n_cpus=-1 no-kvmclock acpi_pm_good pmtmr=0x408 skew_tick=1 maxcpus=4 nr_cpus=8 console=ttyS0,115200 quiet notsc idle=poll",
			"clocksource=hpet tsc=reliable hpet=disable nohz=off highres=off processor.max_cstate=1 intel_idle.max_cstate=0 clocksource.verify_n_cpus=-1 no-kvmclock acpi_pm_good pmtmr=0x408 skew_tick=1 maxcpus=4 nr_cpus=8 console=ttyS0,115200 quiet notsc idle=poll", 0},
		{"an unknown option keeps its name", "rd.luks.key=secret token=abc ds=nocloud", "rd.luks.key=<redacted> token=<redacted> ds=<redacted>", 3},
		{"the kernel's file keeps its name and loses its place", "BOOT_IMAGE=(hd0,gpt2)/u1/vmlinuz-6.1.0 ro", "BOOT_IMAGE=/vmlinuz-6.1.0 ro", 1},
		{"a quoted secret goes as a whole", `x="a b c" ro`, "x=<redacted> ro", 1},
		{"a quoted option goes as a whole", `"x=a b c" ro`, "x=<redacted> ro", 1},
		{"what is for init goes as a whole", "quiet -- --token abc", "quiet -- <redacted>", 1},
		{"an empty value needs no mark", "foo= bar", "foo= bar", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, n := redactCommandLine(tt.in)
			if got != tt.want || n != tt.count {
				t.Errorf("\n got %q, %d\nwant %q, %d", got, n, tt.want, tt.count)
			}
		})
	}
}

func FuzzCommandLine(f *testing.F) {
	f.Add(`BOOT_IMAGE=/vmlinuz root=UUID=x tsc=reliable "a=b c" -- init`)
	f.Add(`x="a`)
	f.Fuzz(func(t *testing.T, line string) {
		once, _ := redactCommandLine(line)
		twice, n := redactCommandLine(once)
		// An open quote may pair with another one when words are joined again.
		if once != twice && strings.Count(line, `"`) == 0 {
			t.Errorf("redacting twice: %q, then %q (%d)", once, twice, n)
		}
		for _, w := range machine.Words(once) {
			name, value, has := strings.Cut(w, "=")
			name = strings.TrimPrefix(name, `"`)
			if has && value != "" && value != redactedMark && !isPlainOption(name) && name != "BOOT_IMAGE" && strings.Count(line, `"`) == 0 {
				t.Errorf("%q keeps the value of %q", once, name)
			}
		}
	})
}

func FuzzRedactLine(f *testing.F) {
	f.Add("Mar  5 08:00:02 db01 kernel: a0:36:9f:12:34:56 10.0.0.1 fe80::1 /home/x serial: 1", "db01")
	f.Add("Kernel command line: a=\"b c\" -- d", "h\xff")
	f.Add("\xff\xfe İ db01", "db01")
	f.Fuzz(func(t *testing.T, line, host string) {
		r := newRedactor(host)
		got := r.line(line)
		if utf8.ValidString(line) && !utf8.ValidString(got) {
			t.Errorf("%q became invalid UTF-8: %q", line, got)
		}
		if r.count == 0 && got != line && !strings.Contains(strings.ToLower(line), "command line") {
			t.Errorf("%q changed to %q, and nothing was counted", line, got)
		}
		if m := regexp.MustCompile(macPairs).FindString(got); m != "" {
			t.Errorf("%q keeps the address %q", got, m)
		}
	})
}
