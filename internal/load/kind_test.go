package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKindHasItsWordAndItsSentence(t *testing.T) {
	seen := map[string]Kind{}
	for _, k := range Kinds() {
		back, err := Parse(string(k))
		if err != nil || back != k {
			t.Errorf("%q came back as %q, error %v", k, back, err)
		}
		sentence := k.Sentence()
		if other, taken := seen[sentence]; taken || sentence == "" {
			t.Errorf("%s: %q, and so says %q", k, sentence, other)
		}
		seen[sentence] = k
	}
}

func TestAWordThatIsNoKindIsRefused(t *testing.T) {
	for _, word := range []string{"", "CPU", "io", "cpu,hpet"} {
		if k, err := Parse(word); k != "" || err == nil || !strings.Contains(err.Error(), "want none, cpu, hpet, both, net") {
			t.Errorf("%q: kind %q, error %v", word, k, err)
		}
		if word != "" && Kind(word).Sentence() != "" {
			t.Errorf("%q has a sentence", word)
		}
	}
}

func TestTheCPUsAreSharedOut(t *testing.T) {
	cases := []struct {
		name             string
		kind             Kind
		cpus             []int
		looping, reading []int
	}{
		{"a busy loop on every CPU", CPU, []int{0, 1, 2}, []int{0, 1, 2}, nil},
		{"every CPU reads the HPET", HPET, []int{0, 1, 2}, nil, []int{0, 1, 2}},
		{"half of the CPUs each", Both, []int{0, 1, 4, 5}, []int{0, 4}, []int{1, 5}},
		{"the odd CPU loops", Both, []int{0, 1, 2}, []int{0, 2}, []int{1}},
		{"a single CPU does both", Both, []int{3}, []int{3}, []int{3}},
		{"a stream is bound to none", Net, []int{0, 1}, nil, nil},
		{"nothing needs no CPU", None, []int{0, 1}, nil, nil},
		{"nothing to share", Both, nil, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			looping, reading := c.kind.shares(c.cpus)
			if diff := cmp.Diff([][]int{c.looping, c.reading}, [][]int{looping, reading}); diff != "" {
				t.Errorf("looping and reading (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALoadThatDidNothingIsNoticed(t *testing.T) {
	cases := []struct {
		name string
		work Work
		want []string
	}{
		{"none has nothing to do", Work{Kind: None}, nil},
		{"loops", Work{Kind: CPU, Loops: 1}, nil},
		{"no loops", Work{Kind: CPU, Reads: 1}, []string{"no CPU ran a busy loop"}},
		{"reads", Work{Kind: HPET, Reads: 1}, nil},
		{"no reads", Work{Kind: HPET, Loops: 1}, []string{"no CPU read the HPET"}},
		{"both", Work{Kind: Both, Loops: 1, Reads: 1}, nil},
		{"half of both", Work{Kind: Both, Loops: 1}, []string{"no CPU read the HPET"}},
		{"nothing of both", Work{Kind: Both}, []string{"no CPU ran a busy loop", "no CPU read the HPET"}},
		{"a stream", Work{Kind: Net, Bytes: 1}, nil},
		{"no stream", Work{Kind: Net}, []string{"no byte arrived over loopback"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.work.Idle()); diff != "" {
				t.Errorf("idle (-want +got):\n%s", diff)
			}
		})
	}
}
