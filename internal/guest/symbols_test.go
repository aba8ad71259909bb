package guest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheKernelsSymbolsAreFound(t *testing.T) {
	const table = "ffffffff81000000 T _text\nffffffff81035160 t read_tsc\nffffffff81035190 T native_sched_clock\n" +
		"ffffffff81061ae0 t read_hpet\nffffffffc0000000 t read_tsc\t[other]\n"
	got, err := findSymbols(strings.NewReader(table), []string{"read_hpet", "read_tsc", "no_such"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Symbol{{"read_tsc", 0xffffffff81035160}, {"read_hpet", 0xffffffff81061ae0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("symbols (-want +got):\n%s", diff)
	}
}

func TestHiddenAndBrokenSymbolsAreErrors(t *testing.T) {
	for _, c := range []struct{ name, table, want string }{
		{"the kernel hides its addresses", "0000000000000000 t read_tsc\n", "hidden"},
		{"an address is no number", "xyz t read_tsc\n", "invalid syntax"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := findSymbols(strings.NewReader(c.table), []string{"read_tsc"})
			if got != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
