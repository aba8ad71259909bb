package loopback

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/stats"
)

// What one run of a comparison takes: as long for us as for the other program.
const (
	comparedWarmUp = time.Second
	comparedSize   = 14 // bytes of a request: the least that sockperf sends
)

// comparison is how a pair of runs is made.
type comparison struct {
	place  Placement
	window time.Duration
	pairs  int
}

// compared reads CSWATCH_BENCH_PAIRS, how many pairs of runs, and CSWATCH_BENCH_WINDOW, how long each is, 2s by default.
func compared(b *testing.B, program string) comparison {
	c := comparison{window: 2 * time.Second}
	var err error
	if c.pairs, err = strconv.Atoi(os.Getenv("CSWATCH_BENCH_PAIRS")); err != nil {
		b.Skip("CSWATCH_BENCH_PAIRS is not set: how many pairs of runs")
	}
	if text := os.Getenv("CSWATCH_BENCH_WINDOW"); text != "" {
		if c.window, err = time.ParseDuration(text); err != nil || c.window < time.Second || c.window%time.Second != 0 {
			b.Fatalf("CSWATCH_BENCH_WINDOW=%s: want whole seconds", text)
		}
	}
	for _, p := range []string{program, "taskset"} {
		if _, err := exec.LookPath(p); err != nil {
			b.Skip(err)
		}
	}
	cpus, err := hw.AllowedCPUs()
	if err != nil {
		b.Fatal(err)
	}
	c.place = defaultPlacement(cpus)
	return c
}

// BenchmarkAgainstIperf3 compares a stream with that of iperf3: one flow, the same
// size of messages, the same CPUs, runs in the order ours, theirs, theirs, ours, and so on. It reports
// the medians of both and that of the ratios of pairs with its 95 % interval.
//
//	CSWATCH_BENCH_PAIRS=30 go test -run '^$' -bench AgainstIperf3 -benchtime 1x ./internal/loopback
func BenchmarkAgainstIperf3(b *testing.B) {
	c := compared(b, "iperf3")
	c.run(b, Stream, Stream.DefaultSize(), "Gbit/s", 1e-9, func() float64 {
		port := freePort(b)
		server := exec.Command("taskset", "-c", strconv.Itoa(c.place.Server), "iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port)
		client := exec.Command("taskset", "-c", strconv.Itoa(c.place.Client), "iperf3", "-c", "127.0.0.1", "-p", port, "-J",
			"-l", strconv.Itoa(Stream.DefaultSize()), "-O", seconds(comparedWarmUp), "-t", seconds(c.window))
		out := against(b, server, client, port)
		var doc struct {
			End struct {
				Sent struct{ Bytes, Seconds float64 } `json:"sum_sent"`
			} `json:"end"`
		}
		if err := json.Unmarshal(out, &doc); err != nil || doc.End.Sent.Seconds <= 0 {
			b.Fatalf("iperf3: %v in %s", err, out)
		}
		return 8 * doc.End.Sent.Bytes / doc.End.Sent.Seconds
	})
}

// BenchmarkAgainstSockperf compares requests and answers with sockperf's, as BenchmarkAgainstIperf3 does streams.
func BenchmarkAgainstSockperf(b *testing.B) {
	c := compared(b, "sockperf")
	latency := regexp.MustCompile(`Summary: Latency is ([0-9.]+) usec`)
	c.run(b, RR, comparedSize, "transactions/s", 1, func() float64 {
		port := freePort(b)
		server := exec.Command("taskset", "-c", strconv.Itoa(c.place.Server), "sockperf", "server", "--tcp", "-i", "127.0.0.1", "-p", port)
		client := exec.Command("taskset", "-c", strconv.Itoa(c.place.Client), "sockperf", "ping-pong", "--tcp", "-i", "127.0.0.1", "-p", port,
			"-m", strconv.Itoa(comparedSize), "-t", seconds(c.window))
		out := against(b, server, client, port)
		m := latency.FindSubmatch(out)
		if m == nil {
			b.Fatalf("sockperf tells no latency:\n%s", out)
		}
		oneWay, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil || oneWay <= 0 {
			b.Fatalf("sockperf tells a latency of %s us", m[1])
		}
		return 1e6 / (2 * oneWay)
	})
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// freePort finds a port of 127.0.0.1 that nobody listens on.
func freePort(b *testing.B) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// against runs a server and its client, and returns what the client prints.
func against(b *testing.B, server, client *exec.Cmd, port string) []byte {
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait() // killed, or done: both are well
	}()
	for deadline := time.Now().Add(10 * time.Second); !listening(port); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%v does not listen", server)
		}
	}
	out, err := client.Output()
	if err != nil {
		b.Fatalf("%v: %v: %s", client, err, out)
	}
	return out
}

// listening looks for the port without connecting, which a server that serves one client would take for that one.
func listening(port string) bool {
	n, _ := strconv.Atoi(port)
	table, _ := os.ReadFile("/proc/net/tcp")
	return regexp.MustCompile(fmt.Sprintf(`:%04X 00000000:0000 0A `, n)).Match(table)
}

// ours is one run of our own.
func (c comparison) ours(b *testing.B, test Test, size int) float64 {
	p := Plan{Size: size, Round: c.window, WarmUp: comparedWarmUp, Pin: &c.place}.withDefaults()
	round, err := measure(context.Background(), p, test)
	if err != nil {
		b.Fatal(err)
	}
	if test == Stream {
		return 8 * float64(round.SentBytes) / round.Seconds // what iperf3 tells is what was sent, too
	}
	return round.Value
}

func (c comparison) run(b *testing.B, test Test, size int, unit string, scale float64, theirs func() float64) {
	mine := func() float64 { return c.ours(b, test, size) }
	var our, their, ratios []float64
	pair := func() {
		var o, t float64
		if len(our)%2 == 0 {
			o, t = mine(), theirs()
		} else {
			t, o = theirs(), mine()
		}
		our, their, ratios = append(our, o*scale), append(their, t*scale), append(ratios, o/t)
		b.Logf("pair %d: ours %.4g, theirs %.4g %s, ratio %.4f", len(our), o*scale, t*scale, unit, o/t)
	}
	for b.Loop() {
		if len(our) < c.pairs {
			pair()
		}
	}
	for len(our) < c.pairs {
		pair()
	}
	o, _ := stats.MedianInterval(our, Confidence)
	t, _ := stats.MedianInterval(their, Confidence)
	ratio, i := stats.MedianInterval(ratios, Confidence)
	b.ReportMetric(0, "ns/op") // of a pair of runs: says nothing
	b.ReportMetric(float64(c.pairs), "pairs")
	b.ReportMetric(o, "ours-"+unit)
	b.ReportMetric(t, "theirs-"+unit)
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(i.Low, "ratio-low")
	b.ReportMetric(i.High, "ratio-high")
}
