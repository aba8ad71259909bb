package perf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestCallsBetweenTwoReadingsAreCountedByFunctionAndCPU(t *testing.T) {
	before := []Calls{{"read_hpet", 0, 10}, {"read_hpet", 1, 20}}
	after := []Calls{{"read_hpet", 0, 15}, {"read_hpet", 1, 120}, {"ktime_get", 0, 7}}
	want := []Calls{{"read_hpet", 0, 5}, {"read_hpet", 1, 100}, {"ktime_get", 0, 7}}
	got := CallsSince(before, after)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if n := TotalCalls(got); n != 112 {
		t.Errorf("%d calls in all, want 112", n)
	}
	if back := CallsSince(after, before); TotalCalls(back) != 0 {
		t.Errorf("a count that falls gives %v", back)
	}
}

func TestCallsComeInTheOrderOfTheQuestionAndOfCPUs(t *testing.T) {
	calls := []Calls{{"b", 1, 1}, {"a", 0, 2}, {"b", 0, 3}, {"a", 1, 4}}
	sortCalls(calls, []string{"b", "a"})
	want := []Calls{{"b", 0, 3}, {"b", 1, 1}, {"a", 0, 2}, {"a", 1, 4}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeCountedHasAReasonAndARemedy(t *testing.T) {
	cases := []struct {
		name string
		err  *NotCounted
		want string
	}{
		{"one reason is told once", notCounted([]string{"a", "b"}, "no such thing", "do this"), "count the calls of a, b: no such thing; to allow it, do this"},
		{"several stand by their functions", &NotCounted{Functions: []Uncounted{{"a", "x"}, {"b", "y"}}}, "count the calls of a, b: a: x; b: y"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.err.Error(); got != c.want {
				t.Errorf("the error is %q, want %q", got, c.want)
			}
		})
	}
	for errno, want := range map[unix.Errno]string{
		unix.ENOENT: "no such function", unix.EADDRNOTAVAIL: "several functions", unix.EINVAL: "allows no probe", unix.EACCES: "not permitted",
		unix.ENODEV: "CPU 5 is offline", unix.EMFILE: "no more files", unix.ENOSYS: "no perf events", unix.ENOMEM: "refused it (ENOMEM)",
	} {
		if why, _ := probeRefused(errno, 5, Sight{}); !strings.Contains(why, want) || !strings.Contains(why, unix.ErrnoName(errno)) {
			t.Errorf("%v is told as %q, want %q in it", errno, why, want)
		}
	}
	if _, allow := probeRefused(unix.EPERM, 0, Sight{Lockdown: "confidentiality"}); !strings.Contains(allow, "lockdown") {
		t.Errorf("for a kernel that is locked down the remedy is %q", allow)
	}
	if _, err := CountCalls(nil, nil); err == nil {
		t.Error("no function at all can be counted")
	}
}

func TestTheNamesOfAKernelAreFoundWithoutTheirAddresses(t *testing.T) {
	list := "0000000000000000 T ktime_get\n0000000000000000 t read_hpet\n0000000000000000 t acpi_pm_read_slow [acpi]\n"
	got := findNames(strings.NewReader(list), []string{"ktime_get", "acpi_pm_read_slow", "acpi_pm_read"})
	if diff := cmp.Diff(map[string]bool{"ktime_get": true, "acpi_pm_read_slow": true}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if findNames(strings.NewReader(""), []string{"a"}) != nil {
		t.Error("an empty list tells what there is")
	}
}

func TestTheTypeOfAnEventSourceIsRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := eventSource(dir); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("without a type the error is %v", err)
	}
	for text, want := range map[string]uint32{"8\n": 8, "x\n": 0} {
		if err := os.WriteFile(filepath.Join(dir, "type"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if kind, err := eventSource(dir); kind != want || (err == nil) != (want > 0) {
			t.Errorf("%q gives %d, error %v", text, kind, err)
		}
	}
}

// Opening probes changes the code of the running kernel. The test does so only where somebody asks for it, as in a guest.
func TestCallsOfTheRunningKernelAreCounted(t *testing.T) {
	symbols := []string{"__x64_sys_getppid", "no_such_function_of_any_kernel"}
	if os.Getenv("CSWATCH_TEST_PROBES") == "" {
		if _, err := os.Stat(kprobePMU); err == nil {
			t.Skip("probing changes the code of the running kernel: set CSWATCH_TEST_PROBES=1 to do it")
		}
	}
	c, err := CountCalls(symbols, nil)
	var not *NotCounted
	if errors.As(err, &not) {
		if len(not.Functions) != len(symbols) || not.HowToAllow == "" {
			t.Errorf("the error is %v: want a reason for each of %v and a remedy", err, symbols)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	const calls = 1000
	for range calls {
		os.Getppid()
	}
	after, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	if n := TotalCalls(CallsSince(before, after)); n < calls {
		t.Errorf("%d calls were counted, of %d and those of others", n, calls)
	}
	if s := c.Skipped(); len(s) != 1 || s[0].Symbol != symbols[1] {
		t.Errorf("skipped %v, want the one that does not exist", s)
	}
}
