package burst

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountsAreReadAsTheyAreWritten(t *testing.T) {
	rfc := []Row{{3, 400, 42, 0}, {50, 400, 1, 0}}
	for _, c := range []struct {
		name, text string
		want       []Row
	}{
		{"numbers alone", "3,400,42\n50,400,1\n", rfc},
		{"without a last newline", "3,400,42\n50,400,1", rfc},
		{"under a header", "retries,boots,unstable\n3,400,42\n50,400,1\n", rfc},
		{"under a header in another order with a column more", "unstable,note,Boots,RETRIES\n42,a,400,3\n1,,400,50\n", rfc},
		{"with comments, blanks, quotes and Windows lines", "# a campaign\r\n\r\n 3 , 400, \"42\" # three\r\n50,400,1\r\n", rfc},
		{"with a byte order mark", "\ufeffretries,boots,unstable\n3,400,42\n50,400,1\n", rfc},
		{"with CPUs", "3,400,42,8\n50,400,1,\n", []Row{{3, 400, 42, 8}, {50, 400, 1, 0}}},
		{"the same row twice", "3,100,10\n3,300,32\n", []Row{{3, 100, 10, 0}, {3, 300, 32, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse("f", strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoTableOfCountsIsRefusedWithItsLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "# only this\n", "f: no row of counts: want lines such as 3,400,42"},
		{"a letter for a number", "3,400,42\n5,1oo,5\n", `f:2: boots: "1oo" is no whole number`},
		{"more unstable than boots", "3,40,42\n", "f:1: 42 unstable of 40 boots: want 0 to 40"},
		{"a negative number", "3,40,-1\n", "f:1: -1 unstable of 40 boots"},
		{"no boots", "3,0,0\n", "f:1: 0 boots: want 1 to"},
		{"a missing column", "3,40,2\n5,40\n", "f:2: 2 columns: want 3, retries,boots,unstable"},
		{"semicolons", "3;40;2\n", "f:1: 1 column: want 3 or 4, retries,boots,unstable and perhaps cpus, with a comma between them"},
		{"semicolons in the header", "retries;boots;unstable\n", "f:1: neither numbers nor a header with retries: want retries,boots,unstable and perhaps cpus, with a comma between them"},
		{"a column too many", "3,40,2\n5,40,2,8\n", "f:2: 4 columns: want 3, retries,boots,unstable, with a comma between them"},
		{"a header that lacks a name", "retries,boots\n3,40\n", "f:1: neither numbers nor a header with unstable"},
		{"a header with a name twice", "retries,boots,boots,unstable\n", `f:1: the header names "boots" twice`},
		{"something else", "hello world\n", "f:1: neither numbers nor a header"},
		{"an endless line", strings.Repeat("3", 10_000), "f:1: the line is longer than 4096 bytes"},
		{"too many boots", "3,900000000,0\n5,900000000,0\n", "f:2: more than 1000000000 boots in all rows"},
		{"no CPUs", "3,4,0,0\n", "f:1: 0 CPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := Parse("f", strings.NewReader(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if rows != nil {
				t.Errorf("rows come with the error: %v", rows)
			}
		})
	}
	_, err := Parse("f", strings.NewReader("3,4,1\n"+strings.Repeat("x\n", 100)))
	if n := strings.Count(err.Error(), "\n") + 1; n != maxErrors {
		t.Errorf("%d lines of errors, want %d", n, maxErrors)
	}
}

func TestRowsOfOneNumberOfRetriesAreAddedUp(t *testing.T) {
	got := Pool([]Row{{50, 300, 1, 8}, {3, 100, 10, 8}, {50, 100, 0, 8}, {3, 300, 32, 4}})
	want := []Row{{3, 400, 42, 0}, {50, 400, 1, 8}}
	for i, p := range got {
		if p.Row != want[i] || p.Rows != 2 || p.Agreement < 0.5 {
			t.Errorf("row %d: %+v, want %+v of 2 rows that agree", i, p, want[i])
		}
	}
	if p := Pool([]Row{{3, 100, 50, 0}, {3, 100, 1, 0}, {3, 100, 2, 0}})[0]; p.Agreement > 1e-9 {
		t.Errorf("rows with different rates agree: %+v", p)
	}
}

// FuzzParse: what is accepted prints and parses back to the same rows, all of
// them valid; an error comes without rows.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"3,400,42\n5,100,5\n", "retries,boots,unstable,cpus\n3,400,42,8\n", "unstable,x,boots,retries\n1,,2,3\n",
		"# c\n\n3,4,1 # x\r\n", "\ufeff3,4,1", "3,4", "\"3\",4,1\n", "retries,boots,unstable\n", "3,99999999999999999999,1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := Parse("f", strings.NewReader(text))
		if (err == nil) != (len(rows) > 0) {
			t.Fatalf("%d rows with error %v", len(rows), err)
		}
		var b strings.Builder
		b.WriteString("retries,boots,unstable,cpus\n")
		for _, r := range rows {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			cpus := ""
			if r.CPUs > 0 {
				cpus = fmt.Sprint(r.CPUs)
			}
			fmt.Fprintf(&b, "%d,%d,%d,%s\n", r.Retries, r.Boots, r.Unstable, cpus)
		}
		if err != nil {
			return
		}
		again, err := Parse("f", strings.NewReader(b.String()))
		if diff := cmp.Diff(rows, again); err != nil || diff != "" {
			t.Fatalf("%v, -first +again:\n%s", err, diff)
		}
	})
}
