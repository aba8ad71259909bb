package exporter

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestNobodyElseIsServedUnlessAsked(t *testing.T) {
	endpoint, err := netip.ParseAddrPort(DefaultAddress)
	if err != nil || !endpoint.Addr().IsLoopback() {
		t.Errorf("the default address is %s (%v)", DefaultAddress, err)
	}
	r := start(t, Config{})
	_, port, err := net.SplitHostPort(r.address())
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, a := range addresses {
		ip := a.(*net.IPNet).IP
		if ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		tried++
		if c, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), port), 5*time.Second); err == nil {
			c.Close()
			t.Errorf("served on %s", ip)
		}
	}
	if tried == 0 {
		t.Log("this machine has only its loopback")
	}
}

func TestEveryAddressIsServed(t *testing.T) {
	r := start(t, Config{Addresses: []string{"127.0.0.1:0", "127.0.0.1:0"}})
	if len(r.Addresses()) != 2 {
		t.Fatalf("listening on %s", r.Addresses())
	}
	for _, address := range r.Addresses() {
		if !strings.HasPrefix(address, "127.0.0.1:") || strings.HasSuffix(address, ":0") {
			t.Errorf("bound to %s", address)
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			continue
		}
		fmt.Fprint(c, "GET /-/ready HTTP/1.0\r\n\r\n")
		b := make([]byte, 15)
		if _, err := c.Read(b); err != nil || string(b) != "HTTP/1.0 200 OK" {
			t.Errorf("%s: %q, %v", address, b, err)
		}
		c.Close()
	}
}

func TestOneAddressThatFailsLeavesNoneOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	_, err = listen([]string{free.Addr().String(), taken.Addr().String()}, false)
	if err == nil {
		t.Fatal("it listens twice on one port")
	}
	for _, want := range []string{"listen on " + taken.Addr().String(), "address already in use", "another program has this port", "--web.listen-address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	again, err := net.Listen("tcp", free.Addr().String())
	if err != nil {
		t.Errorf("the first socket stayed open: %v", err)
	} else {
		again.Close()
	}
}

func TestSocketsOfSystemdAreTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	child := startChild(t, os.Args[0], "inherited", socket)
	if got := child.line(t, "address "); got != l.Addr().String() {
		t.Errorf("it listens on %s, not on %s", got, l.Addr())
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /-/ready HTTP/1.0\r\n\r\n")
	b := make([]byte, 15)
	if _, err := c.Read(b); err != nil || string(b) != "HTTP/1.0 200 OK" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestASocketThatTakesNoConnectionsIsRefused(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	child := startChild(t, os.Args[0], "inherited", socket)
	if got := child.line(t, "error "); !strings.Contains(got, "socket 1 of 1 that systemd handed over takes no connections") {
		t.Error(got)
	}
}

func TestAConfigurationThatCannotWorkIsRefusedWithAllItsFaults(t *testing.T) {
	gatherer, status := prometheus.NewRegistry(), func() ([]byte, error) { return nil, nil }
	for name, test := range map[string]struct {
		config Config
		want   []string
	}{
		"nothing to serve":              {Config{}, []string{"no gatherer", "no status document"}},
		"a path without a slash":        {Config{Gatherer: gatherer, Status: status, TelemetryPath: "metrics"}, []string{`"metrics"`, "/metrics"}},
		"a path with a query":           {Config{Gatherer: gatherer, Status: status, TelemetryPath: "/metrics?x"}, []string{"no plain path"}},
		"the path of the page":          {Config{Gatherer: gatherer, Status: status, TelemetryPath: "/"}, []string{"is taken"}},
		"the path of a health check":    {Config{Gatherer: gatherer, Status: status, TelemetryPath: "/-/ready"}, []string{"is taken"}},
		"a negative limit":              {Config{Gatherer: gatherer, Status: status, Limits: Limits{Patience: -1}}, []string{"negative"}},
		"a file that is not there":      {Config{Gatherer: gatherer, Status: status, ConfigFile: "testdata/none.yml"}, []string{"testdata/none.yml", "no such file"}},
		"an address without a port":     {Config{Gatherer: gatherer, Status: status, Addresses: []string{"localhost"}}, []string{"localhost", "HOST:PORT"}},
		"a vsock":                       {Config{Gatherer: gatherer, Status: status, Addresses: []string{"vsock://:9953"}}, []string{"not supported", "systemd"}},
		"no socket handed over":         {Config{Gatherer: gatherer, Status: status, SystemdSocket: true}, []string{"systemd handed no socket over", ".socket unit"}},
		"an address of another machine": {Config{Gatherer: gatherer, Status: status, Addresses: []string{"192.0.2.1:0"}}, []string{"192.0.2.1:0", "ip address"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Listen(test.config)
			if err == nil {
				t.Fatalf("it listens on %s", s.Addresses())
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}
