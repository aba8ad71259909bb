package live

import (
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cswatch/cswatch/clocksource"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/machine"
	"github.com/cswatch/cswatch/trace"
	"github.com/cswatch/cswatch/watchdog"
)

// rootOf makes a root folder of texts by path.
func rootOf(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheTimerTicksOfTheRunningKernel(t *testing.T) {
	const release = "proc/sys/kernel/osrelease"
	cases := []struct {
		name  string
		files map[string]string
		hz    int
		from  string
	}{
		{"the kernel's own copy", map[string]string{"proc/config.gz": packed(t, "# CONFIG_HZ_250 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n")}, 1000, "/proc/config.gz"},
		{"the file of the distribution", map[string]string{release: "6.12.1-amd64\n", "boot/config-6.12.1-amd64": "CONFIG_HZ=300\n", "boot/config-6.1": "CONFIG_HZ=100\n"}, 300, "/boot/config-6.12.1-amd64"},
		{"or beside the modules", map[string]string{release: "7.1.3\n", "lib/modules/7.1.3/config": "CONFIG_X=y\nCONFIG_HZ=100\n"}, 100, "/lib/modules/7.1.3/config"},
		{"a copy that is damaged", map[string]string{"proc/config.gz": "\x1f\x8bnonsense", release: "7.1.3", "boot/config-7.1.3": "CONFIG_HZ=250\n"}, 250, "/boot/config-7.1.3"},
		{"nothing that is believable", map[string]string{release: "7.1.3", "boot/config-7.1.3": "CONFIG_HZ=0\nCONFIG_HZ=250\n"}, 0, ""},
		{"a release that leads elsewhere", map[string]string{release: "../7", "boot/7": "CONFIG_HZ=250\n"}, 0, ""},
		{"nothing", nil, 0, ""},
	}
	for _, c := range cases {
		if b := readBasis(rootOf(c.files)); b.HZ != c.hz || b.HZFrom != c.from {
			t.Errorf("%s: %d Hz from %q, want %d from %q", c.name, b.HZ, b.HZFrom, c.hz, c.from)
		}
	}
}

// twoNodes are the files of a machine with nodes 0 and 2 and one of memory alone.
func twoNodes() map[string]string {
	return map[string]string{
		nodePath + "/online":         "0,2-3\n",
		nodePath + "/node0/cpulist":  "0-1,4\n",
		nodePath + "/node0/distance": "10 21 28\n",
		nodePath + "/node2/cpulist":  "2-3\n",
		nodePath + "/node2/distance": "21 10 28\n",
		nodePath + "/node3/cpulist":  "\n",
		nodePath + "/node3/distance": "28 28 10\n",
	}
}

func TestTheDistanceOfTwoCPUsIsThatOfTheirNodes(t *testing.T) {
	h := trace.Header{Nodes: nodes(rootOf(twoNodes()))}
	distance := h.Distance()
	if distance == nil {
		t.Fatal("no table")
	}
	for _, c := range [][3]int{{0, 1, 10}, {0, 4, 10}, {4, 2, 21}, {3, 1, 21}, {2, 3, 10}, {0, 9, 0}} {
		if got := distance(c[0], c[1]); got != c[2] {
			t.Errorf("CPUs %d and %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

func TestATableThatIsNotUnderstoodIsNone(t *testing.T) {
	for name, change := range map[string]func(map[string]string){
		"too few nodes":       func(f map[string]string) { f[nodePath+"/online"] = "0\n" },
		"no list of nodes":    func(f map[string]string) { delete(f, nodePath+"/online") },
		"a row is missing":    func(f map[string]string) { delete(f, nodePath+"/node2/distance") },
		"a row is short":      func(f map[string]string) { f[nodePath+"/node2/distance"] = "21 10\n" },
		"a distance below 10": func(f map[string]string) { f[nodePath+"/node2/distance"] = "21 9 28\n" },
		"a distance is none":  func(f map[string]string) { f[nodePath+"/node2/distance"] = "21 -10 28\n" },
		"CPUs are no list":    func(f map[string]string) { f[nodePath+"/node0/cpulist"] = "some\n" },
		"nodes are no list":   func(f map[string]string) { f[nodePath+"/online"] = "all\n" },
		"CPUs are not listed": func(f map[string]string) { delete(f, nodePath+"/node3/cpulist") },
	} {
		files := twoNodes()
		change(files)
		if nodes(rootOf(files)) != nil {
			t.Errorf("%s: a table all the same", name)
		}
	}
}

// timeouts is a script that notes how long each comparison may take.
type timeouts struct {
	*script
	allowed map[int]clocksource.Nanos // by the remote CPU
}

func (s timeouts) Exchange(control, remote int, timeout clocksource.Nanos) (hw.Exchange, error) {
	s.allowed[remote] = timeout
	return s.script.Exchange(control, remote, timeout)
}

func TestFarCPUsGetMoreTimeToAnswer(t *testing.T) {
	s, closed := newScript(4), 0
	h := scripted(s, &closed, map[string]machine.Answer{"tsc": machine.Yes, hw.HPET: machine.Yes})
	world := timeouts{s, map[int]clocksource.Nanos{}}
	h.World = world
	h.Basis = Basis{HZ: 1000, HZFrom: "/proc/config.gz", Nodes: []trace.Node{
		{CPUs: trace.CPUs(0, 1), Distances: []int{10, 21, 200}},
		{CPUs: trace.CPUs(2), Distances: []int{21, 10, 21}},
		{CPUs: trace.CPUs(3), Distances: []int{200, 21, 10}},
	}}
	p, _ := watchdog.ProfileOf(watchdog.E12)
	session, err := OpenOn(context.Background(), Options{Profile: p, Retries: -1, Ticks: 6}, h)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if r := collect(session.Watch); r.err != nil {
		t.Fatal(r.err)
	}
	for cpu, want := range map[int]clocksource.Nanos{1: 50 * us, 2: 105 * us, 3: 500 * us} {
		if got := world.allowed[cpu]; got != want {
			t.Errorf("CPU %d: %d ns, want %d", cpu, got, want)
		}
	}
	if setup := session.Setup(); setup.HZ != 1000 {
		t.Errorf("%d timer ticks a second, want 1000", setup.HZ)
	}
	if r := session.Reference; r.TimerHZ != 1000 || r.TimerHZFrom != "/proc/config.gz" {
		t.Errorf("the session says %d Hz from %q", r.TimerHZ, r.TimerHZFrom)
	}
}

func TestTimerTicksThatAreNotKnownAreAssumed(t *testing.T) {
	s, closed := newScript(2), 0
	p, _ := watchdog.ProfileOf(watchdog.E9)
	session, err := OpenOn(context.Background(), Options{Profile: p, Retries: -1, Ticks: 2},
		scripted(s, &closed, map[string]machine.Answer{"tsc": machine.Yes, hw.HPET: machine.Yes}))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if r := session.Reference; r.TimerHZ != 250 || !strings.Contains(r.TimerHZFrom, "assumed") {
		t.Errorf("the session says %d Hz from %q", r.TimerHZ, r.TimerHZFrom)
	}
}

func TestARecordingOfAnyEraKeepsToTheTimeOutsOfItsNodes(t *testing.T) {
	s, closed := newScript(3), 0
	h := scripted(s, &closed, map[string]machine.Answer{"tsc": machine.Yes, hw.HPET: machine.Yes})
	h.Basis = Basis{Nodes: []trace.Node{
		{CPUs: trace.CPUs(0, 1), Distances: []int{10, 20}},
		{CPUs: trace.CPUs(2), Distances: []int{20, 10}},
	}}
	p, _ := watchdog.ProfileOf(watchdog.E9) // which compares no CPUs itself
	var file bytes.Buffer
	session, err := OpenOn(context.Background(), Options{Profile: p, Retries: -1, Ticks: 6, Record: &file}, h)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if r := collect(session.Watch); r.err != nil {
		t.Fatal(r.err)
	}
	r, err := trace.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Header(); got.Schema != trace.Schema2 || len(got.Nodes) != 2 {
		t.Errorf("schema %s with %d nodes", got.Schema, len(got.Nodes))
	}
	limits := map[int]clocksource.Nanos{}
	var tick trace.Tick
	for r.Read(&tick) == nil {
		for _, x := range tick.Exchanges {
			limits[x.Peer] = x.Limit
		}
	}
	if limits[1] != 50*us || limits[2] != 100*us {
		t.Errorf("time-outs %v, want 50 us for CPU 1 and 100 us for CPU 2", limits)
	}
}

func TestAKernelWithoutNodesHasOne(t *testing.T) {
	one := nodes(rootOf(map[string]string{"sys/devices/system/cpu/possible": "0-3\n"}))
	if len(one) != 1 || one[0].CPUs.String() != "0-3" {
		t.Errorf("nodes %v, want one of all CPUs", one)
	}
	if none := nodes(rootOf(nil)); none != nil {
		t.Errorf("nodes %v of a machine without sysfs", none)
	}
}
