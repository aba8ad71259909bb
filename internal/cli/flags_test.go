package cli

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestNumbersOfAFlagAreReadAndRefusedInOurWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
		err  string
	}{
		{"3", []int{3}, ""},
		{"0,1000", []int{0, 1000}, ""},
		{"3, 5", []int{3, 5}, ""},
		{"3,a", nil, `"a" is none: want whole numbers from 0 to 1000, separated by commas`},
		{"1001", nil, "want whole numbers from 0 to 1000"},
		{"-1", nil, "want whole numbers"},
		{"", nil, "want whole numbers"},
	} {
		var got []int
		err := wholes{&got, 1000}.Set(c.text)
		if c.err == "" && (err != nil || !slices.Equal(got, c.want)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "strconv")) {
			t.Errorf("%q: %v, error %v; want %v, %q", c.text, got, err, c.want, c.err)
		}
	}
	n := 7
	if err := (whole{&n, 255}).Set("256"); err == nil || n != 7 {
		t.Errorf("256 of at most 255: %d, error %v", n, err)
	}
}

func TestErrorsOfRecordingsSayWhatToDo(t *testing.T) {
	env := newEnv(strings.NewReader(""), io.Discard, io.Discard)
	_, err := openRecording(env, "no-such-file")
	if err == nil || !strings.Contains(err.Error(), "open the recording no-such-file: no such file or directory: name a file that cswatch watch --record FILE wrote") {
		t.Errorf("error %v", err)
	}
}
