package qemu

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/internal/guest"
	"github.com/cswatch/cswatch/internal/load"
)

func TestFilesArePutTogetherFromTheirParts(t *testing.T) {
	type part = guest.FilePart
	cases := []struct {
		name  string
		parts []part
		whole map[string][]byte
		cut   map[string]string
	}{
		{"none", nil, nil, nil},
		{"one in one part", []part{{Path: "/a", Data: []byte("xy"), Last: true}}, map[string][]byte{"/a": []byte("xy")}, nil},
		{
			"one in three, and an empty one",
			[]part{{Path: "/a", Data: []byte("x")}, {Path: "/a", Offset: 1, Data: []byte("yz")}, {Path: "/a", Offset: 3, Last: true}, {Path: "/b", Last: true}},
			map[string][]byte{"/a": []byte("xyz"), "/b": {}}, nil,
		},
		{
			"the guest died on the way",
			[]part{{Path: "/a", Data: []byte("x"), Last: true}, {Path: "/b", Data: []byte("y")}},
			map[string][]byte{"/a": []byte("x"), "/b": []byte("y")}, map[string]string{"/b": "its last part never came"},
		},
		{
			"a line was damaged on the way",
			[]part{{Path: "/a", Data: []byte("x")}, {Path: "/a", Offset: 5, Data: []byte("y")}, {Path: "/a", Offset: 6, Data: []byte("z"), Last: true}},
			map[string][]byte{"/a": []byte("x")}, map[string]string{"/a": "a part is missing: byte 1 was next, and byte 5 came"},
		},
		{
			"the first line was lost",
			[]part{{Path: "/a", Offset: 5, Data: []byte("y"), Last: true}},
			map[string][]byte{"/a": {}}, map[string]string{"/a": "a part is missing: byte 0 was next, and byte 5 came"},
		},
		{
			"the file is longer than what is handed over",
			[]part{{Path: "/a", Data: []byte("x"), Last: true, Cut: true}},
			map[string][]byte{"/a": []byte("x")}, map[string]string{"/a": "the guest handed over no more of it"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var f files
			for _, p := range c.parts {
				f.add(&p)
			}
			f.end()
			if diff := cmp.Diff(c.whole, f.whole); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.cut, f.cut); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesBeyondWhatAPlanCanNameAreNotKept(t *testing.T) {
	var f files
	for i := range 2 * maxFiles {
		f.add(&guest.FilePart{Path: fmt.Sprintf("/%d", i)})
	}
	f.end()
	if len(f.whole) != maxFiles || len(f.cut) != maxFiles || len(f.ended) > maxFiles {
		t.Errorf("%d files, %d cut, %d ended", len(f.whole), len(f.cut), len(f.ended))
	}
}

func TestABootBringsBackWhatItsLoadDidAndItsFiles(t *testing.T) {
	config := fakeConfig(t)
	parts := 0
	config.Observe = func(s Stamped) {
		if s.Record.File != nil {
			parts++
		}
	}
	r, err := config.Boot(limited(t), fakeSpec(t, "hello;load;file /a 0 one;file /a 3 two last;file /b 0 three cut;file /c 0 four;noise;end"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&load.Work{Kind: load.Net, DrivenNS: 2e9, Bytes: 5}, r.Load); diff != "" {
		t.Errorf("load (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]byte{"/a": []byte("onetwo"), "/b": []byte("three"), "/c": []byte("four")}, r.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"/b": "the guest handed over no more of it", "/c": "its last part never came"}, r.CutFiles); diff != "" {
		t.Errorf("cut (-want +got):\n%s", diff)
	}
	if len(r.Records) != 3 || parts != 4 || r.Dropped != 0 {
		t.Errorf("%d records, %d dropped, %d parts observed", len(r.Records), r.Dropped, parts)
	}
	var back Result
	if err := json.Unmarshal([]byte(asJSON(t, r)), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("the result cannot be stored (-want +got):\n%s", diff)
	}
}

func TestFilesThatAGuestHandsOverAreBounded(t *testing.T) {
	r, err := fakeConfig(t).Boot(limited(t), fakeSpec(t, "hello;big /1;big /2;big /3;big /4;file /5 0 one;file /5 3 two last;end"))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, b := range r.Files {
		size += len(b)
	}
	if size != filesKept || len(r.Files) != 5 || r.Dropped != 0 || len(r.Records) != 2 {
		t.Errorf("%d files of %d bytes, %d records, %d dropped", len(r.Files), size, len(r.Records), r.Dropped)
	}
	if diff := cmp.Diff(map[string]string{"/5": "all files together have more than 64 MiB"}, r.CutFiles); diff != "" {
		t.Errorf("cut (-want +got):\n%s", diff)
	}
}
