package kmsg

import (
	"errors"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFollowerTellsWhatIsLoggedFromNowOn(t *testing.T) {
	s := script{[]error{nil}, []any{record(0, "old"), record(1, "older"), unix.EAGAIN}}
	f, err := Config{system: s.system()}.Follow()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", record(2, "new") + record(3, "newer"), "", record(9, "behind some that were lost")} {
		switch i {
		case 1:
			s.reads = []any{record(2, "new"), unix.EINTR, record(3, "newer")}
		case 3:
			s.reads = []any{unix.EPIPE, record(9, "behind some that were lost")}
		}
		got, err := f.News()
		if err != nil || string(got) != want {
			t.Errorf("call %d: %q, error %v, want %q", i, got, err, want)
		}
	}
	s.reads = []any{unix.EIO}
	if _, err := f.News(); !errors.Is(err, unix.EIO) {
		t.Errorf("error %v, want one of reading", err)
	}
}

func TestALogThatCannotBeFollowedIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		script script
		want   error
	}{
		"refused":          {script{[]error{unix.EPERM}, nil}, fs.ErrPermission},
		"refused to read":  {script{[]error{nil}, []any{unix.EPERM}}, fs.ErrPermission},
		"without a record": {script{[]error{nil}, nil}, ErrEmpty},
	} {
		if _, err := (Config{system: c.script.system()}).Follow(); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}
