package host

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// secrets are what testdata/redaction/kmsg.log tells of its owner.
var secrets = []string{
	"jane", "jdoe", "build-box", "corp.example", "web-7", "hunter2", "hunter3", "hunter4", "initsecret", "argsecret1", "argsecret2", "envsecret3",
	"6e0c5a3e", "7e0c5a3e", "5B5RMN2", "CZJ7654321", "BTLJ", "3c:ec:ef", "a0369f", "a0:36:9f", "50014380186b2f4c", "5000c500a1b2c3d", "4C530001", "ZC1QWERTY", "ZC1ABCDE",
	"bastion9", "6D7973716C", "00:11:22", "Janes Net", "3f2a9c1b", "web-storage", "2001:db8", "fe80::a236",
	"10.1.2.", "10.9.8.", "10.20.30.", "192.168.", "ip-10-0",
}

// evidence is what must be left of it.
var evidenceLeft = []string{
	"tsc=watchdog", "tsc: Detected 2100.000 MHz processor", "max_idle_ns: 79635855245 ns", "on CPU6: hpet read-back delay of 60666ns, attempt 4, marking unstable",
	"cs_now: 16fd1e0d2a8c0 cs_last: 16fd1bb2a8c10 mask: ffffffffffffffff", "(1200345678, 345678)<-(1201000000, -123456)", "0000:00:1f.6", "PowerEdge R640",
	"Linux version 6.1.0-57-amd64", "Debian 6.1.192-3", "wifi_password=<redacted>", "HOME=/",
}

func hostileLog(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/redaction/kmsg.log")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// asJournal writes the records as journalctl -o json does, every third message
// as a row of numbers.
func asJournal(t testing.TB, kmsg string) string {
	t.Helper()
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(kmsg, "\n"), "\n") {
		if strings.HasPrefix(line, " ") {
			continue // a device of the line before
		}
		head, text, _ := strings.Cut(line, ";")
		stamp := strings.Split(head, ",")[2]
		record := map[string]any{
			"MESSAGE": text, "PRIORITY": "6", "_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "SYSLOG_FACILITY": "0",
			"_SOURCE_MONOTONIC_TIMESTAMP": stamp, "__REALTIME_TIMESTAMP": "1709625602123456",
			"_HOSTNAME": "web-7", "_MACHINE_ID": "0f1f7c4a1a116e0c5a3e16a44b2a9f0f", "_BOOT_ID": "3f2a9c1b7d5e4a6f8b0c2d4e6f8a0b1c",
			"_UDEV_DEVLINK": []string{"/dev/disk/by-id/ata-ST4000NM0035_ZC1ABCDE", "/dev/jane"}, "__CURSOR": "s=3f2a9c1b", "_KERNEL_DEVICE": "+usb:5B5RMN2",
		}
		if i%3 == 2 {
			numbers := make([]int, len(text))
			for k := range len(text) {
				numbers[k] = int(text[k])
			}
			record["MESSAGE"] = numbers
		}
		data, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	return out.String()
}

// asText writes the records as dmesg does.
func asText(kmsg string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(kmsg, "\n"), "\n") {
		head, text, ok := strings.Cut(line, ";")
		if !ok {
			continue
		}
		us, _ := strconv.Atoi(strings.Split(head, ",")[2])
		fmt.Fprintf(&out, "[%5d.%06d] %s\n", us/1e6, us%1e6, text)
	}
	return out.String()
}

// decimal writes a text as a row of numbers, which hides it from a search.
func decimal(s string) string {
	var parts []string
	for i := range len(s) {
		parts = append(parts, strconv.Itoa(int(s[i])))
	}
	return strings.Join(parts, ",")
}

func TestAnArchiveKeepsEverySecret(t *testing.T) {
	f := loadFixture(t, "testdata/machines/fallen-to-hpet-ubuntu.txtar")
	kmsg := hostileLog(t)
	for name, log := range map[string]string{
		"records of the device": kmsg, "the journal": asJournal(t, kmsg), "text": asText(kmsg),
		"records behind so many that the middle is left out": strings.Repeat("6,1,1,-;filler that fills the beginning of the log, and then some more of it\n", 80000) + kmsg,
	} {
		t.Run(name, func(t *testing.T) {
			raw, rep, _ := writeArchive(t, f.fs(t), CollectOptions{Options: f.opt, KernelLog: strings.NewReader(log)})
			text := untar(t, raw)
			for _, s := range secrets {
				if strings.Contains(text, s) || strings.Contains(text, decimal(s)) {
					i := max(strings.Index(text, s), strings.Index(text, decimal(s)))
					t.Errorf("the archive holds %q: ...%s...", s, text[max(i-100, 0):min(i+60, len(text))])
				}
			}
			for _, e := range evidenceLeft {
				if !strings.Contains(text, e) {
					t.Errorf("the archive lost %q", e)
				}
			}
			if rep.Redacted < 50 {
				t.Errorf("%d places redacted, want 50 or more", rep.Redacted)
			}
		})
	}
	// The test would pass with a log that holds no secrets.
	for _, s := range secrets {
		if !strings.Contains(kmsg, s) {
			t.Errorf("%q is not in the log", s)
		}
	}
}

// The first lines of a block can be among those that have no place in the archive.
func TestABlockForInitIsKnownWhereItsBeginningIsLeftOut(t *testing.T) {
	var in strings.Builder
	in.WriteString(strings.Repeat("7,1,1,-;head\n", 100))
	in.WriteString("7,2,2,-;  with environment:\n")
	for i := range 100 {
		fmt.Fprintf(&in, "7,3,3,-;    key%d=secret\n", i)
	}
	r := newRedactor("")
	h := headTail{filter: r.logLine, headSize: 100, tailSize: 1000}
	if err := h.readFrom(strings.NewReader(in.String())); err != nil {
		t.Fatal(err)
	}
	out := string(h.bytes())
	if strings.Contains(out, "secret") || strings.Contains(out, "with environment") || !strings.Contains(out, "key99=<redacted>") {
		t.Errorf("kept:\n%s", out)
	}
}

func TestJournalRecordsStayRecords(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"fields that name nobody stay", `{"_HOSTNAME":"h","MESSAGE":"(1, 2)<-(3)","PRIORITY":"4","_TRANSPORT":"kernel","_SOURCE_MONOTONIC_TIMESTAMP":"12"}`,
			`{"MESSAGE":"(1, 2)<-(3)","PRIORITY":"4","_TRANSPORT":"kernel","_SOURCE_MONOTONIC_TIMESTAMP":"12"}`},
		{"boots have numbers", `{"MESSAGE":"x","_BOOT_ID":"abc"}`, `{"MESSAGE":"x","_BOOT_ID":"boot-1"}`},
		{"a message of several lines", `{"MESSAGE":"a 10.0.0.1\nb 10.0.0.2"}`, `{"MESSAGE":"a <ip>\nb <ip>"}`},
		{"a message of bytes", `{"MESSAGE":[120,255,9,49,48,46,49,46,49,46,49]}`, `{"MESSAGE":"x?\t<ip>"}`},
		{"a message that is null", `{"MESSAGE":null,"PRIORITY":"4"}`, `{"PRIORITY":"4"}`},
		{"several messages", `{"MESSAGE":["10.0.0.1","x"]}`, `{}`},
		{"a record that is cut", `{"MESSAGE":"10.0.`, "cswatch(collect): a record of the journal that is no JSON was left out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := newRedactor("").logLine(tt.in, noBlock); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
	r := newRedactor("")
	for i, want := range []string{"boot-1", "boot-2", "boot-1"} {
		if got := r.bootName([]string{"a", "b", "a"}[i]); got != want {
			t.Errorf("boot %d is %q, want %q", i, got, want)
		}
	}
}

func FuzzLogLine(f *testing.F) {
	for _, line := range strings.Split(hostileLog(f), "\n") {
		f.Add(line)
	}
	f.Add(`{"MESSAGE":[49,48,46,49],"_BOOT_ID":"x"}`)
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		for _, r := range append(slices.Clone(everywhere), elsewhere...) {
			// Two letters that are no ASCII count as s and k where case does not matter.
			if r.re.MatchString(line) && !r.concerns(strings.ToLower(line)) && !strings.ContainsAny(line, "\u017f\u212a") {
				t.Errorf("%s finds something in %q and is not asked", r.re, line)
			}
		}
		r := newRedactor("web-7")
		once := r.logLine(line, new(blockTracker).see(line))
		if strings.Contains(once, "\n") {
			t.Errorf("%q became several lines: %q", line, once)
		}
		if strings.HasPrefix(line, "{") && !strings.HasPrefix(once, "cswatch(collect): ") && !json.Valid([]byte(once)) {
			t.Errorf("%q became %q, which is no JSON", line, once)
		}
		if m := regexp.MustCompile(macPairs).FindString(once); m != "" {
			t.Errorf("%q keeps the address %q", once, m)
		}
	})
}
