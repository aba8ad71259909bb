package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// finished is a campaign in which nothing is open.
func finished(t testing.TB) (dir string) {
	t.Helper()
	s, _ := reopen(t, campaign(t))
	ok(t, s.Lose("f", "stopped", nil))
	ok(t, s.Close())
	sound(t, s.dir)
	return s.dir
}

func TestEveryDamagedByteOfATrialIsFound(t *testing.T) {
	t.Parallel()
	dir := finished(t)
	for _, name := range []string{"a/console.log", "a/result.json", "e/console.log", "e/result.json"} {
		file := filepath.Join(dir, trialsName, name)
		whole, err := os.ReadFile(file)
		ok(t, err)
		for at := range whole {
			for _, damage := range []byte{1, 0x20, 0x80, 0xff} {
				bad := bytes.Clone(whole)
				bad[at] ^= damage
				ok(t, os.WriteFile(file, bad, 0o600))
				problems, err := Verify(dir, nil)
				if err != nil || len(problems) == 0 || problems[0].Trial != name[:1] {
					t.Fatalf("%s, byte %d, %#x: %v, %v", name, at, damage, problems, err)
				}
			}
		}
		for cut := range whole {
			ok(t, os.WriteFile(file, whole[:cut], 0o600))
			if problems, err := Verify(dir, nil); err != nil || len(problems) == 0 {
				t.Fatalf("%s cut at %d: %v, %v", name, cut, problems, err)
			}
		}
		ok(t, os.WriteFile(file, append(bytes.Clone(whole), '\n'), 0o600))
		if problems, err := Verify(dir, nil); err != nil || len(problems) == 0 {
			t.Fatalf("%s with a byte more: %v, %v", name, problems, err)
		}
		ok(t, os.WriteFile(file, whole, 0o600))
	}
	sound(t, dir)
}

func TestADamagedFileIsNotRead(t *testing.T) {
	dir := finished(t)
	ok(t, os.WriteFile(filepath.Join(dir, trialsName, "a", "console.log"), []byte("console of b\n"), 0o600))
	record := filepath.Join(dir, trialsName, "b", resultName)
	text, err := os.ReadFile(record)
	ok(t, err)
	ok(t, os.WriteFile(record, bytes.Replace(text, []byte(`{"N":0`), []byte(`{"N":7`), 1), 0o600))
	s, err := Read(dir)
	ok(t, err)
	if _, err := s.File("a", "console.log"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error %v", err)
	}
	if err := s.Result("b", new(answer)); err == nil || !strings.Contains(err.Error(), "not the one that the index has") {
		t.Errorf("error %v", err)
	}
}

func TestVerifyTellsWhatIsWrong(t *testing.T) {
	good := campaign(t)
	in := func(dir string, names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	appendIndex := func(text string) func(string) error {
		return func(dir string) error {
			had, err := os.ReadFile(in(dir, indexName))
			return errors.Join(err, os.WriteFile(in(dir, indexName), append(had, text...), 0o600))
		}
	}
	editIndex := func(old, now string) func(string) error {
		return func(dir string) error {
			had, err := os.ReadFile(in(dir, indexName))
			return errors.Join(err, os.WriteFile(in(dir, indexName), bytes.Replace(had, []byte(old), []byte(now), 1), 0o600))
		}
	}
	some := strings.Repeat("0", 64)
	const open = "trial f: it was begun and has no outcome"
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   []string
	}{
		"nothing but what is open": {func(string) error { return nil }, nil},
		"a folder is missing":      {func(dir string) error { return os.RemoveAll(in(dir, "trials", "b")) }, []string{"trial b: lstat"}},
		"all folders are missing":  {func(dir string) error { return os.RemoveAll(in(dir, "trials")) }, []string{"trial b: ", "trial a: ", "trial d: ", "trial c: ", "trial e: "}},
		"a file is missing":        {func(dir string) error { return os.Remove(in(dir, "trials", "b", "empty")) }, []string{"trial b: lstat"}},
		"a file more in a trial":   {func(dir string) error { return os.WriteFile(in(dir, "trials", "b", "more"), nil, 0o600) }, []string{"trial b: " + "DIR/trials/b/more is no file of the trial"}},
		"a file that is a link":    {func(dir string) error { return relink(in(dir, "trials", "b", "empty")) }, []string{"trial b: read DIR/trials/b/empty: it is no plain file"}},
		"a file among the trials":  {func(dir string) error { return os.WriteFile(in(dir, "trials", "notes"), nil, 0o600) }, []string{"trials/notes is no folder of a trial"}},
		"a hidden folder":          {func(dir string) error { return os.Mkdir(in(dir, "trials", ".x"), 0o700) }, []string{"trials/.x is no folder of a trial"}},
		"a file more":              {func(dir string) error { return os.WriteFile(in(dir, "notes"), nil, 0o600) }, []string{"notes is no part of a campaign"}},
		"a leftover of an outcome": {func(dir string) error { return os.Mkdir(in(dir, "trials", ".b.new"), 0o700) }, []string{"trial b: .b.new was left over"}},
		"a leftover of an index":   {func(dir string) error { return os.WriteFile(in(dir, ".index.jsonl.new"), nil, 0o600) }, []string{".index.jsonl.new was left by"}},
		"a trial begun by no line": {func(dir string) error { return os.Mkdir(in(dir, "trials", ".g.new"), 0o700) }, []string{"trial g: it was begun, and the index does not have it"}},
		"a trial of no line":       {func(dir string) error { return os.CopyFS(in(dir, "trials", "g"), os.DirFS(in(dir, "trials", "b"))) }, []string{"trial g: the index has no outcome of it", "is of trial b"}},
		"ended twice":              {appendIndex(`{"trial":"b","state":"ended","sha256":"` + some + `","summary":9}` + "\n"), []string{"trial b: index.jsonl, line 13: ended again, after it was ended; only the first counts"}},
		"ended and lost":           {appendIndex(`{"trial":"b","state":"lost","sha256":"` + some + `","summary":9}` + "\n"), []string{"line 13: lost again, after it was ended"}},
		"started twice":            {appendIndex(`{"trial":"f","state":"started"}` + "\n"), []string{"trial f: index.jsonl, line 13: started again"}},
		"a line cut short":         {appendIndex(`{"trial"`), []string{"index.jsonl: the last line is not whole (8 bytes)"}},
		"a line that is none":      {editIndex(`{"trial":"d","state":"started"`, `{"trial":"d","state":"stortad"`), []string{"index.jsonl: line 6: this is no line"}},
		"another summary":          {editIndex(`"summary":{"n":0}`, `"summary":{"n":5}`), []string{"trial b: result.json and the index differ"}},
		"another sum":              {editIndex(`"sha256":"`, `"sha256":"`+some+`","x":"`), []string{"trial b: result.json has sha256", "the index has " + some}},
		"another plan":             {func(dir string) error { return os.WriteFile(in(dir, "plan.toml"), nil, 0o600) }, []string{"the plan is not the one"}},
		"an outcome of no line":    {editIndex(`{"trial":"b","state":"ended"`, `{"trial":"b","state":"inded"`), []string{"index.jsonl: line 3: this is no line", "trial b: it has an outcome that is not in the index"}},
		"another file as an index": {func(dir string) error { return os.WriteFile(in(dir, indexName), []byte("\x7fELF"), 0o600) }, []string{"index.jsonl: this is no index of a campaign", "not whole (4 bytes)", "trial b: it has an outcome that is not"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyTree(t, good)
			ok(t, os.MkdirAll(in(dir, "trials", ".f.new"), 0o700))
			ok(t, c.damage(dir))
			before := tree(t, dir)
			problems, err := Verify(dir, nil)
			ok(t, err)
			said := ""
			for _, p := range problems {
				said += p.String() + "\n"
			}
			want := c.want
			if !strings.Contains(name, "as an index") {
				want = append(want, open)
			}
			for _, want := range want {
				if !strings.Contains(said, strings.ReplaceAll(want, "DIR", dir)) {
					t.Errorf("%q is not said:\n%s", want, said)
				}
			}
			if c.want == nil && len(problems) != 1 {
				t.Errorf("said of a good campaign:\n%s", said)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("verifying changed it:\n%s", diff)
			}
		})
	}
}

// tree returns all files of a folder with their text.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	ok(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			all[path] = "folder"
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	}))
	return all
}

func TestTheCallersCheckIsAskedAboutSoundResults(t *testing.T) {
	dir := finished(t)
	ok(t, os.Truncate(filepath.Join(dir, trialsName, "d", "console.log"), 1))
	var asked []string
	problems, err := Verify(dir, func(id string, result json.RawMessage, file func(string) ([]byte, error)) error {
		asked = append(asked, id)
		var got answer
		if err := json.Unmarshal(result, &got); err != nil {
			return err
		}
		if data, err := file("console.log"); err != nil || string(data) != "console of "+id+"\n" {
			return fmt.Errorf("console %q, %v", data, err)
		}
		if id == "c" {
			return errors.New("the count is wrong")
		}
		return nil
	})
	ok(t, err)
	if diff := cmp.Diff([]string{"b", "a", "c"}, asked); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 2 || problems[0].Trial != "d" || problems[1] != (Problem{"c", "the count is wrong"}) {
		t.Errorf("problems %v", problems)
	}
}

func TestAnOutcomeThatIsThereTwiceCountsOnce(t *testing.T) {
	dir := finished(t)
	name := filepath.Join(dir, indexName)
	text, err := os.ReadFile(name)
	ok(t, err)
	ok(t, os.WriteFile(name, append(text, bytes.ReplaceAll(text[bytes.IndexByte(text, '\n')+1:], []byte(`"n":0`), []byte(`"n":9`))...), 0o600))
	s, _ := reopen(t, dir)
	if e, _ := s.Entry("b"); len(s.Entries()) != 6 || string(e.Summary) != `{"n":0}` {
		t.Errorf("%d trials, b %+v", len(s.Entries()), e)
	}
}

// Whatever byte of the index is damaged: the campaign is refused or opened with
// every outcome once, and where it is refused it opens after Rebuild. What Open
// cannot see is found by Verify, but for the time of a start.
func TestADamagedIndexIsRefusedAndRebuilt(t *testing.T) {
	t.Parallel()
	dir := finished(t)
	name := filepath.Join(dir, indexName)
	whole, err := os.ReadFile(name)
	ok(t, err)
	s, err := Read(dir)
	ok(t, err)
	want := map[string]Entry{}
	for _, e := range s.Entries() {
		want[e.Trial] = e
	}
	refused, found := 0, 0
	for at := range whole {
		bad := bytes.Clone(whole)
		bad[at] ^= 2 // of a small letter or a digit it makes another one
		ok(t, os.WriteFile(name, bad, 0o600))
		s, _, err := Open(dir)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "rebuild") && !strings.Contains(err.Error(), "the plan is not") {
				t.Fatalf("byte %d: error %v", at, err)
			}
			if now, _ := os.ReadFile(name); !bytes.Equal(now, bad) {
				t.Fatalf("byte %d: the refused index was changed", at)
			}
			if strings.Contains(err.Error(), "the plan is not") {
				continue // the sum of the plan: nobody can say which of the two is right
			}
			done, err := Rebuild(dir)
			ok(t, err)
			if kept, _ := os.ReadFile(done.Saved); !bytes.Equal(kept, bad) || len(done.Dropped) == 0 {
				t.Fatalf("byte %d: %+v", at, done)
			}
			ok(t, os.Remove(done.Saved))
			if s, _, err = Open(dir); err != nil {
				t.Fatalf("byte %d: after Rebuild: %v", at, err)
			}
		}
		got := s.Entries()
		ok(t, s.Close())
		if problems, err := Verify(dir, nil); err != nil || len(problems) > 0 {
			ok(t, err)
			found++
			continue
		}
		now := map[string]Entry{}
		for _, e := range got {
			if e.State == Started {
				t.Fatalf("byte %d: %+v is no problem", at, e)
			}
			e.At = want[e.Trial].At // it stands nowhere else
			now[e.Trial] = e
		}
		if diff := cmp.Diff(want, now); diff != "" || len(got) != len(want) {
			t.Fatalf("byte %d: nothing was found, and\n%s", at, diff)
		}
	}
	t.Logf("of %d damaged bytes %d were refused, %d found by Verify", len(whole), refused, found)
	if refused < len(whole)/3 {
		t.Errorf("only %d of %d damaged bytes were seen", refused, len(whole))
	}
}

func TestAnIndexThatIsGoneIsRebuilt(t *testing.T) {
	dir := campaign(t)
	ok(t, os.Remove(filepath.Join(dir, indexName)))
	if _, _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("error %v", err)
	}
	if done, err := Rebuild(dir); err != nil || done.Saved != "" {
		t.Errorf("%+v, %v", done, err)
	}
	s, found := reopen(t, dir)
	if diff := cmp.Diff(Repairs{Adopted: []string{"a", "b", "c", "d", "e"}, Interrupted: []string{"f"}}, found); diff != "" {
		t.Error(diff)
	}
	ok(t, s.Close())
	for n := range 3 {
		done, err := Rebuild(dir)
		if want := filepath.Join(dir, []string{"index.jsonl.damaged", "index.jsonl.damaged.2", "index.jsonl.damaged.3"}[n]); err != nil || done.Saved != want || done.Dropped != nil {
			t.Errorf("%+v, %v", done, err)
		}
	}
	s, _ = reopen(t, dir)
	ok(t, s.Lose("f", "stopped", nil))
	ok(t, s.Close())
	sound(t, dir)
}

func TestAnOutcomeWithoutAFolderIsGivenUp(t *testing.T) {
	dir := finished(t)
	ok(t, os.RemoveAll(filepath.Join(dir, trialsName, "b")))
	_, _, err := Open(dir)
	_, err2 := Read(dir)
	if err == nil || err2 == nil || !strings.Contains(err.Error(), "trial b has an outcome (ended), and it has no folder (1 such)") {
		t.Errorf("%v; %v", err, err2)
	}
	done, err := Rebuild(dir)
	if err != nil || len(done.Dropped) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	s, found := reopen(t, dir)
	if !cmp.Equal(found.Interrupted, []string{"b"}) || !errors.Is(s.Begin("b"), ErrTaken) {
		t.Errorf("%+v", found)
	}
	ok(t, s.Lose("b", "its folder is gone", nil))
	ok(t, s.Close())
	sound(t, dir)
}
