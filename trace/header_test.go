package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/watchdog"
)

func TestFaultsOfAHeader(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(h *Header)
		want  string
	}{
		"another schema":                   {func(h *Header) { h.Schema = "cswatch.watch/v1" }, "schema"},
		"no source":                        {func(h *Header) { h.Source = "" }, "want live, simulated or qemu"},
		"a simulation without a model":     {func(h *Header) { h.Simulation = &Simulation{} }, "model and seed"},
		"a simulated source that is none":  {func(h *Header) { h.Simulation = nil }, "model and seed"},
		"no watched clock":                 {func(h *Header) { h.Watched = nil }, "0 watched clocks"},
		"too many watched clocks":          {func(h *Header) { h.Watched = make([]Clock, watchdog.MaxWatched+1) }, "5 watched clocks"},
		"a pattern without a clock":        {func(h *Header) { h.Pattern = watchdog.ReadSharedReference }, "read pattern"},
		"too many read-backs":              {func(h *Header) { h.ReadBacks = MaxReadBacks + 1 }, "17 read-backs"},
		"a negative number of read-backs":  {func(h *Header) { h.ReadBacks = -1 }, "-1 read-backs"},
		"an HZ that gives no interval":     {func(h *Header) { h.HZ = 1 }, "HZ 1"},
		"no CPU":                           {func(h *Header) { h.Online = nil }, "one CPU or more"},
		"CPUs in disorder":                 {func(h *Header) { h.Online = CPUSet{{4, 5}, {0, 1}} }, "ascending ranges"},
		"a reference that is only a mask":  {func(h *Header) { h.Reference = Clock{Mask: clocksource.Mask32} }, "without a name"},
		"a mask with holes":                {func(h *Header) { h.Watched[0].Mask = 5 }, "a mask of ones"},
		"neither frequency nor conversion": {func(h *Header) { h.Watched[0].Frequency = 0 }, "want a frequency or a conversion"},
		"a frequency without a scale":      {func(h *Header) { h.Watched[0].Scale = 0 }, "scale 0"},
		"a shift of 64":                    {func(h *Header) { h.Watched[0].Conversion.Mult, h.Watched[0].Conversion.Shift = 1, 64 }, "shift 64"},
		"a long name":                      {func(h *Header) { h.Machine = strings.Repeat("x", maxText+1) }, "longer than 256 bytes"},
		"a name that is no text":           {func(h *Header) { h.Machine = "\xff" }, "not UTF-8"},
		"nodes in the first version": {func(h *Header) {
			h.Schema, h.Nodes = Schema, OneNode(h.Online)
		}, `want "cswatch.trace/v2"`},
		"too many nodes":          {func(h *Header) { h.Nodes = make([]Node, MaxNodes+1) }, "65 nodes"},
		"a node without CPUs":     {func(h *Header) { h.Nodes = OneNode(nil) }, "node 0 has CPUs"},
		"too few distances":       {func(h *Header) { h.Nodes = append(OneNode(CPUs(0)), OneNode(CPUs(1))...) }, "want one CPU or more in ascending ranges, and 2 distances"},
		"a distance that is none": {func(h *Header) { h.Nodes = []Node{{CPUs(0), []int{9}}} }, "9 away"},
		"too many notes":          {func(h *Header) { h.Notes = make([]string, maxNotes+1) }, "17 notes"},
	} {
		h := (&world{cpus: 2, clocks: 1}).header(2)
		c.spoil(&h)
		if err := h.Validate(); !errors.Is(err, ErrHeader) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := NewWriter(io.Discard, Binary, h); err == nil {
			t.Errorf("%s: a recording was begun", name)
		}
	}
}

func TestFaultsOfATick(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *Tick)
		want  string
	}{
		"an instant that would overflow": {func(t *Tick) { t.At = maxInstant + 1 }, "instant"},
		"a CPU below 0":                  {func(t *Tick) { t.CPU = -1 }, "CPU -1"},
		"a CPU that is too high":         {func(t *Tick) { t.CPU = MaxCPU + 1 }, "CPU 65536"},
		"too many resets":                {func(t *Tick) { t.Resets = 256 }, "256 resets"},
		"CPUs in disorder":               {func(t *Tick) { t.Online = CPUSet{{1, 0}} }, "ascending"},
		"another number of clocks":       {func(t *Tick) { t.Reads = nil }, "read-backs of 0 clocks"},
		"too many read-backs":            {func(t *Tick) { t.Reads[0] = make([]ReadBack, 3) }, "3 read-backs of clock 0"},
		"a cause that is unknown":        {func(t *Tick) { t.Reads[0][0].Late = 4 }, "late-read cause 4"},
		"too many exchanges":             {func(t *Tick) { t.Exchanges = make([]Exchange, 2) }, "2 exchanges"},
		"an exchange of another clock":   {func(t *Tick) { t.Exchanges[0].Clock = 1 }, "exchange of clock 1"},
		"too many stamps":                {func(t *Tick) { t.Exchanges[0].Count = 11 }, "exchange of 11 stamps"},
		"stamps behind the last":         {func(t *Tick) { t.Exchanges[0].Count = 9 }, "behind the last one"},
		"a negative wait":                {func(t *Tick) { t.Exchanges[0].Waited = -1 }, "negative"},
	} {
		s := quiet(2, 2)
		tick := s.ticks[1]
		s.h.ReadBacks = 2
		for i := range tick.Reads {
			tick.Reads[i], tick.Boot[i] = tick.Reads[i][:2], tick.Boot[i][:2]
		}
		if err := tick.Validate(&s.h); err != nil {
			t.Fatal(err)
		}
		c.spoil(tick)
		if err := tick.Validate(&s.h); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestCPUSets(t *testing.T) {
	for _, c := range []struct {
		set   CPUSet
		text  string
		count int
	}{
		{nil, "", 0},
		{FirstCPUs(0), "", 0},
		{FirstCPUs(8), "0-7", 8},
		{CPUs(9, 0, 1, 1, 3, -1, MaxCPU+1), "0-1,3,9", 4},
		{CPUs(5), "5", 1},
		{SetOf(watchdog.AllCPUs(3)), "0-2", 3},
		{SetOf(CPUs(2, 4)), "2,4", 2},
	} {
		if c.set.String() != c.text || c.set.Count() != c.count {
			t.Errorf("%q with %d CPUs, want %q with %d", c.set, c.set.Count(), c.text, c.count)
		}
		read, err := ParseCPUs(c.text)
		if diff := cmp.Diff(c.set, read); err != nil || diff != "" {
			t.Errorf("%q is read as %v: %v", c.text, read, err)
		}
	}
	s := CPUs(2, 3, 4, 8)
	for cpu, want := range map[int]int{0: 2, 2: 3, 4: 8, 5: 8, 8: 2, 99: 2} {
		if got := s.Next(cpu); got != want {
			t.Errorf("behind %d follows %d, want %d", cpu, got, want)
		}
	}
	for _, text := range []string{"1-0", "3,1", "0,1", "0-2,2", "x", "-", "65536", " 1", "1,"} {
		if got, err := ParseCPUs(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

func TestCausesHaveNames(t *testing.T) {
	for _, c := range append(Causes(), NotLate) {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got Cause
		if err := json.Unmarshal(text, &got); err != nil || got != c {
			t.Errorf("%s is read as %v: %v", text, got, err)
		}
	}
	if _, err := json.Marshal(Cause(9)); err == nil {
		t.Error("a cause without a name was written")
	}
	if err := json.Unmarshal([]byte(`"tired"`), new(Cause)); err == nil {
		t.Error("a cause that is unknown was read")
	}
}

func TestARecorderWantsWhatEveryEraReads(t *testing.T) {
	h := (&world{cpus: 2, clocks: 1}).header(2)
	h.Pattern = watchdog.ReadThree
	if _, err := NewRecorder(h, profile(t, watchdog.E5), nil); err == nil {
		t.Error("a recorder without the third read of the reference was made")
	}
}

func TestARecorderLivesWithCPUsThatCannotBeRead(t *testing.T) {
	w := &world{cpus: 2, clocks: 1}
	for _, e := range []watchdog.Era{watchdog.E1, watchdog.E5, watchdog.E12} {
		rec, err := NewRecorder(w.header(2), profile(t, e), func(int) watchdog.Machine { return nil })
		if err != nil {
			t.Fatal(err)
		}
		h := w.header(2)
		setup, err := h.Setup(profile(t, e), -1)
		if err != nil {
			t.Fatal(err)
		}
		dog, err := watchdog.New(setup)
		if err != nil {
			t.Fatal(err)
		}
		var s watchdog.State
		dog.Start(&s, begin, watchdog.AllCPUs(2))
		for range 3 {
			now := watchdog.Tick{Now: s.Expiry, CPU: s.CPU, Online: watchdog.AllCPUs(2)}
			rec.Begin(now, s.Expiry, 0)
			dog.Step(&s, now, rec, nil)
			tick := rec.End()
			if err := tick.Validate(&h); err != nil || len(tick.Reads[0]) != 0 {
				t.Errorf("%s: %v with %d read-backs", e, err, len(tick.Reads[0]))
			}
		}
	}
}

func TestNodesAreInBothForms(t *testing.T) {
	h := (&world{cpus: 4, clocks: 1}).header(2)
	h.Schema, h.Nodes = "", []Node{{CPUs(0, 1), []int{10, 21}}, {CPUs(2, 3), []int{21, 10}}}
	for _, form := range []Form{Binary, JSONLines} {
		var file bytes.Buffer
		w, err := NewWriter(&file, form, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Header()
		if diff := cmp.Diff(h.Nodes, got.Nodes); diff != "" || got.Schema != Schema2 {
			t.Errorf("%s: schema %s, nodes %s", form, got.Schema, diff)
		}
		distance := got.Distance()
		if distance == nil || distance(0, 3) != 21 || distance(2, 3) != 10 || distance(0, 9) != 0 {
			t.Errorf("%s: other distances", form)
		}
	}
}

func TestARecordingWithoutNewFieldsIsOfTheFirstVersion(t *testing.T) {
	w, err := NewWriter(io.Discard, Binary, (&world{cpus: 4, clocks: 1}).header(2))
	if err != nil || w.Header().Schema != Schema {
		t.Errorf("schema %s, error %v", w.Header().Schema, err)
	}
}
