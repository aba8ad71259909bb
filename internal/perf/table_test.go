package perf

import (
	"strings"
	"testing"
)

const someKallsyms = `ffffffff81000000 T srso_alias_untrain_ret
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 t local_helper
ffffffff81000080 T __x64_sys_clock_gettime
ffffffff81000080 t sys_alias
ffffffff810000c0 W weak_one
ffffffff81000100 T _etext
ffffffff81002000 D some_data
ffffffff81003000 t read_hpet.cold
ffffffff81003010 t __pfx_padded
ffffffff81003020 t padded
ffffffffc0000000 t mod_function	[tcp_bbr]
ffffffffc0000100 d mod_data	[tcp_bbr]
ffffffffc0200000 t bpf_prog_1	[bpf]
`

func TestKernelAddressesAreNamed(t *testing.T) {
	s, err := parseKallsyms(strings.NewReader(someKallsyms))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		address uint64
		want    string
		object  string
	}{
		{"below everything", 0xffffffff80ffffff, "", ""},
		{"a function and not the mark of the section", 0xffffffff81000000, "srso_alias_untrain_ret", ""},
		{"the last byte before the next", 0xffffffff8100007f, "local_helper", ""},
		{"the global one of two names", 0xffffffff81000080, "__x64_sys_clock_gettime", ""},
		{"a weak one", 0xffffffff810000ff, "weak_one", ""},
		{"behind the end of the code", 0xffffffff81000100, "", ""},
		{"data", 0xffffffff81002000, "", ""},
		{"a cold part", 0xffffffff81003001, "read_hpet.cold", ""},
		{"the padding before a function", 0xffffffff8100301f, "padded", ""},
		{"in the gap before the modules", 0xffffffffb0000000, "", ""},
		{"a module", 0xffffffffc0000010, "mod_function", "[tcp_bbr]"},
		{"the data of a module", 0xffffffffc0000110, "", ""},
		{"a program that was compiled in the kernel", 0xffffffffc0200001, "bpf_prog_1", "[bpf]"},
		{"far behind the last", 0xffffffffc0400000, "", ""},
	} {
		got, ok := s.find(tt.address)
		if got.name != tt.want || ok != (tt.want != "") || got.object != tt.object {
			t.Errorf("%s: %#x is %q of %q, want %q of %q", tt.name, tt.address, got.name, got.object, tt.want, tt.object)
		}
	}
}

func TestHiddenAndDamagedListsOfKernelSymbolsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"0000000000000000 T _text\n0000000000000000 T read_hpet\n": "the kernel hides them",
		"":                                "the list is empty",
		"zz T x\n":                        "no address",
		"ffffffff81000000 T\n":            "want an address, a type and a name",
		"ffffffff81000000 text something": "want an address, a type and a name",
	} {
		s, err := parseKallsyms(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || s != nil {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestASymbolWithinAnotherHidesItOnlyWhereItLies(t *testing.T) {
	s := newSymbols([]symbol{
		{start: 0x100, end: 0x200, name: "outer"},
		{start: 0x140, end: 0x150, name: "inner"},
		{start: 0x300, name: "without_size"},
		{start: 0x400, name: "before_the_end_of_its_section", limit: 0x410},
	}, 0x1000, nil)
	for address, want := range map[uint64]string{
		0x0ff: "", 0x100: "outer", 0x13f: "outer", 0x140: "inner", 0x14f: "inner", 0x150: "outer", 0x1ff: "outer", 0x200: "",
		0x300: "without_size", 0x3ff: "without_size", 0x40f: "before_the_end_of_its_section", 0x410: "",
	} {
		if got, _ := s.find(address); got.name != want {
			t.Errorf("%#x is %q, want %q", address, got.name, want)
		}
	}
}

func TestOfTwoNamesTheOneThatPeopleCallIsShown(t *testing.T) {
	for _, tt := range []struct {
		a, b symbol
		want string
	}{
		{symbol{name: "clock_gettime", rank: 1}, symbol{name: "__vdso_clock_gettime"}, "__vdso_clock_gettime"},
		{symbol{name: "__clock_gettime"}, symbol{name: "clock_gettime"}, "clock_gettime"},
		{symbol{name: "long_name"}, symbol{name: "name"}, "name"},
		{symbol{name: "b"}, symbol{name: "a"}, "a"},
	} {
		for _, pair := range [][]symbol{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got, _ := newSymbols(pair, 1, nil).find(0); got.name != tt.want {
				t.Errorf("of %s and %s, %s is shown", pair[0].name, pair[1].name, got.name)
			}
		}
	}
}

// What is found covers the address, and an error comes without a table.
func FuzzKallsyms(f *testing.F) {
	f.Add(someKallsyms, uint64(0xffffffff81000080))
	f.Add("0000000000000000 T _text\n", uint64(0))
	f.Fuzz(func(t *testing.T, text string, address uint64) {
		s, err := parseKallsyms(strings.NewReader(text))
		if (s == nil) == (err == nil) {
			t.Fatalf("table %v, error %v", s, err)
		}
		if s == nil {
			return
		}
		if len(s.list) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d symbols", len(s.list))
		}
		if got, ok := s.find(address); ok && (address < got.start || address >= got.end || got.name == "") {
			t.Fatalf("%#x is in %+v", address, got)
		}
	})
}
