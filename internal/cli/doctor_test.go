package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// healthyLog is a log long enough that half of its compressed form still holds lines.
func healthyLog() string {
	var b strings.Builder
	b.WriteString("[    0.000000] Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)\n")
	b.WriteString("[    1.640000] clocksource: Switched to clocksource tsc\n")
	for i := range 20000 {
		b.WriteString("[   10.000000] audit: type=1400 audit(1700000000.")
		b.WriteString(strings.Repeat(string(rune('0'+i%10)), 1+i%7))
		b.WriteString("): apparmor=\"STATUS\" operation=\"profile_load\"\n")
	}
	return b.String()
}

func TestALogThatEndsTooEarlyIsNeverOK(t *testing.T) {
	t.Setenv("CSWATCH_CONFIG", os.DevNull)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(healthyLog())); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	whole, cut := filepath.Join(dir, "whole.gz"), filepath.Join(dir, "cut.gz")
	for name, b := range map[string][]byte{whole: packed.Bytes(), cut: packed.Bytes()[:packed.Len()/2]} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		format, file string
		want         int
	}{
		{"text", whole, 0}, {"json", whole, 0}, {"nagios", whole, 0}, {"npd", whole, 0},
		{"text", cut, 3}, {"json", cut, 3}, {"nagios", cut, 3}, {"npd", cut, 2},
	} {
		var out, errs bytes.Buffer
		got := Run([]string{"doctor", "--format", c.format, "--log", c.file}, strings.NewReader(""), &out, &errs)
		if got != c.want {
			t.Errorf("%s of %s: exit code %d, want %d\n%s%s", c.format, filepath.Base(c.file), got, c.want, out.String(), errs.String())
		}
		if out.Len() == 0 {
			t.Errorf("%s of %s: what was read is not answered", c.format, filepath.Base(c.file))
		}
	}
}

func TestErrorsDoNotSteerTheTerminal(t *testing.T) {
	var out, errs bytes.Buffer
	Run([]string{"doctor", "--log", "no\x1b[31msuch\nfile"}, strings.NewReader(""), &out, &errs)
	if strings.ContainsRune(errs.String(), 0x1b) || !strings.Contains(errs.String(), `\x1b[31msuch`) {
		t.Errorf("stderr is %q", errs.String())
	}
}
