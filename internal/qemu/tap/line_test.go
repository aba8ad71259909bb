package tap

import (
	"testing"
	"time"
)

const aRead = "31215@1796067742.752832:memory_region_ops_read cpu 1 mr 0x561f6b212230 addr 0xfed000f0 value 0x6832d98 size 4 name 'hpet'"

func TestOnlyReadsOfTheCounterAreRead(t *testing.T) {
	want := Read{At: time.Unix(1796067742, 752832000), CPU: 1, Value: 0x6832d98, Size: 4}
	cases := []struct {
		name, line string
		want       Read
		ok         bool
	}{
		{"a read with a time", aRead, want, true},
		{"a read without a time", aRead[len("31215@1796067742.752832:"):], Read{CPU: 1, Value: 0x6832d98, Size: 4}, true},
		{"another register of the HPET", "1@1.000000:memory_region_ops_read cpu 0 mr 0x1 addr 0xfed00010 value 0x0 size 4 name 'hpet'", Read{}, false},
		{"another device", "1@1.000000:memory_region_ops_read cpu 0 mr 0x1 addr 0x71 value 0x0 size 1 name 'rtc'", Read{}, false},
		{"a write", "1@1.000000:memory_region_ops_write cpu 0 mr 0x1 addr 0xfed000f0 value 0x0 size 4 name 'hpet'", Read{}, false},
		{"a line that was cut", aRead[:len(aRead)-8], Read{}, false},
		{"a number that is none", "memory_region_ops_read cpu x mr 0x1 addr 0xfed000f0 value 0x0 size 4 name 'hpet'", Read{}, false},
		{"a dump", "Trace 1: 0x7f9d7104ad00 [0000000000000000/ffffffff81035160/10c0c2b0/ff080000] ", Read{}, false},
		{"nothing", "", Read{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := parseRead([]byte(c.line))
			if ok != c.ok || !got.At.Equal(c.want.At) || got.CPU != c.want.CPU || got.Value != c.want.Value || got.Size != c.want.Size {
				t.Errorf("%+v, %v, want %+v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

// What is no read comes without a value, and a read has a size that exists.
func FuzzParseRead(f *testing.F) {
	f.Add([]byte(aRead))
	f.Add([]byte("1@1.000000:memory_region_ops_read cpu 0 mr 0x1 addr 0xfed000f0 value 0xffffffffffffffff size 8 name 'hpet'"))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := parseRead(line)
		if !ok && r != (Read{}) {
			t.Errorf("%+v without success", r)
		}
		if ok && (r.CPU < 0 || r.Size < 0 || r.Size > 15) {
			t.Errorf("%+v", r)
		}
	})
}
