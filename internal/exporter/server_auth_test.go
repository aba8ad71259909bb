package exporter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The hash of "open sesame" at bcrypt's least cost, and at a quarter of the usual
// one, where a check takes some 14 ms.
const (
	cheapHash  = "$2a$04$GjWEOVL6q4fb7AJszQPM9OFdDP1wq70.U/2q/Gd/O74r9iZPam2Ru"
	middleHash = "$2a$08$FH8hzKuoDDzk2hXhvIS8bOv./g9Ek3ysduLbi4pvQGtqizmylTHiC"
)

// credentials are a certificate with its key, self-signed, for 127.0.0.1.
func credentials(t testing.TB, name string) (certPEM, keyPEM []byte, cert tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if cert, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return certPEM, keyPEM, cert
}

// files writes files into one new folder, and returns the path of web.yml.
func files(t testing.TB, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "web.yml")
}

const tlsConfig = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"

// client returns an HTTPS client that trusts one certificate and does not keep connections.
func client(certPEM []byte, own ...tls.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: own, NextProtos: []string{"h2", "http/1.1"}},
		DisableKeepAlives: true,
	}, Timeout: time.Minute}
}

func TestTLSWithACertificateThatChanges(t *testing.T) {
	nothingLeftBehind(t)
	oldCert, oldKey, _ := credentials(t, "old")
	newCert, newKey, _ := credentials(t, "new")
	config := files(t, map[string]string{"web.yml": tlsConfig, "server.crt": string(oldCert), "server.key": string(oldKey)})
	r := start(t, Config{ConfigFile: config})
	if !r.Secure() {
		t.Error("it says that it speaks no TLS")
	}
	get := func(cert []byte) (*http.Response, error) {
		return client(cert).Get("https://" + r.address() + "/metrics")
	}
	answer, err := get(oldCert)
	if err != nil {
		t.Fatal(err)
	}
	if body := bodyOf(t, answer); answer.StatusCode != 200 || !strings.Contains(body, "cswatch_test_skew_ratio") {
		t.Errorf("%s: %s", answer.Status, body)
	}
	if answer.ProtoMajor != 1 || answer.TLS.NegotiatedProtocol != "http/1.1" {
		t.Errorf("HTTP %d, negotiated %q: one connection must not carry many requests", answer.ProtoMajor, answer.TLS.NegotiatedProtocol)
	}

	dir := filepath.Dir(config)
	for name, text := range map[string][]byte{"server.crt": newCert, "server.key": newKey} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the new certificate is shown", func() bool {
		answer, err := get(newCert)
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	})
	if answer, err := get(oldCert); err == nil {
		answer.Body.Close()
		t.Error("the old certificate is still shown")
	}
	if answer := r.say(t, plainRequest); answer.StatusCode != 400 {
		t.Errorf("who speaks no TLS got %s", answer.Status)
	}
}

func TestOnlyClientsWithACertificateAreServed(t *testing.T) {
	cert, key, _ := credentials(t, "server")
	clientCert, _, own := credentials(t, "client")
	_, _, foreign := credentials(t, "somebody")
	r := start(t, Config{ConfigFile: files(t, map[string]string{
		"web.yml":    tlsConfig + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client.crt\n",
		"server.crt": string(cert), "server.key": string(key), "client.crt": string(clientCert),
	})})
	for name, test := range map[string]struct {
		own  []tls.Certificate
		want bool
	}{"no certificate": {nil, false}, "a foreign one": {[]tls.Certificate{foreign}, false}, "the right one": {[]tls.Certificate{own}, true}} {
		answer, err := client(cert, test.own...).Get("https://" + r.address() + "/metrics")
		if err == nil {
			answer.Body.Close()
		}
		if got := err == nil && answer.StatusCode == 200; got != test.want {
			t.Errorf("%s: served %v (%v)", name, got, err)
		}
	}
}

func TestOnlyUsersAreServed(t *testing.T) {
	nothingLeftBehind(t)
	config := files(t, map[string]string{"web.yml": "basic_auth_users:\n  prometheus: " + cheapHash + "\n"})
	r := start(t, Config{ConfigFile: config, Addresses: []string{"127.0.0.1:0", "127.0.0.1:0"}, Limits: Limits{WriteTime: time.Minute}}) // a check is slow under the race detector
	if r.Secure() {
		t.Error("it says that it speaks TLS")
	}
	ask := func(address, path, user, password string) *http.Response {
		t.Helper()
		request, err := http.NewRequest("GET", "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			request.SetBasicAuth(user, password)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	for _, address := range r.Addresses() {
		for _, path := range []string{"/metrics", "/api/v1/status", "/", "/-/ready", "/-/healthy"} {
			answer := ask(address, path, "", "")
			if answer.StatusCode != 401 || answer.Header.Get("WWW-Authenticate") != "Basic" || answer.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s without a password: %s, %v", path, answer.Status, answer.Header)
			}
		}
		if answer := ask(address, "/metrics", "prometheus", "open sesame"); answer.StatusCode != 200 {
			t.Errorf("the right password: %s", answer.Status)
		}
	}
	if answer := ask(r.address(), "/metrics", "prometheus", "open barley"); answer.StatusCode != 401 {
		t.Errorf("a wrong password: %s", answer.Status)
	}
	if answer := ask(r.address(), "/metrics", "grafana", "open sesame"); answer.StatusCode != 401 {
		t.Errorf("a wrong user: %s", answer.Status)
	}

	// Whoever is struck off the file is out at once, however often he was in.
	if err := os.WriteFile(config, []byte("basic_auth_users:\n  grafana: "+cheapHash+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if answer := ask(r.address(), "/metrics", "prometheus", "open sesame"); answer.StatusCode != 401 {
		t.Errorf("a user who is no more: %s", answer.Status)
	}
	if answer := ask(r.address(), "/metrics", "grafana", "open sesame"); answer.StatusCode != 200 {
		t.Errorf("a new user: %s", answer.Status)
	}
}

func TestAConfigurationFileThatIsWrongIsRefused(t *testing.T) {
	cert, key, _ := credentials(t, "server")
	for name, test := range map[string]struct{ yaml, want string }{
		"a key that nobody knows":       {"tls_server_conf: {}\n", "tls_server_conf"},
		"a password instead of a hash":  {"basic_auth_users: {prometheus: sesame}\n", "bcrypt"},
		"a certificate without its key": {"tls_server_config: {cert_file: server.crt}\n", "key"},
		"a certificate that is gone":    {"tls_server_config: {cert_file: gone.crt, key_file: server.key}\n", "gone.crt"},
		"users who need no certificate": {tlsConfig + "  client_ca_file: server.crt\n", "Client Auth Policy"},
		"no YAML at all":                {"{", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			file := files(t, map[string]string{"web.yml": test.yaml, "server.crt": string(cert), "server.key": string(key)})
			_, _, err := secured(file, http.NotFoundHandler(), discard())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "read the web configuration "+file) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAFileThatIsSpoiledLaterLetsNobodyIn(t *testing.T) {
	config := files(t, map[string]string{"web.yml": "basic_auth_users: {prometheus: " + cheapHash + "}\n"})
	r := start(t, Config{ConfigFile: config})
	if err := os.WriteFile(config, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if answer := r.say(t, plainRequest); answer.StatusCode != 500 {
			t.Errorf("answered %s", answer.Status)
		}
	}
	if n := strings.Count(r.log.String(), "Unable to parse configuration"); n < 1 || n > 3 {
		t.Errorf("%d lines about it: %s", n, r.log)
	}
}

func TestBrokenHandshakesAreCheapAndHardlyLogged(t *testing.T) {
	nothingLeftBehind(t)
	cert, key, _ := credentials(t, "server")
	r := start(t, Config{ConfigFile: files(t, map[string]string{"web.yml": tlsConfig, "server.crt": string(cert), "server.key": string(key)})})
	const n = 300
	for i := range n {
		c, err := net.Dial("tcp", r.address())
		if err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			fmt.Fprint(c, plainRequest)
		case 1:
			_, _ = c.Write(make([]byte, 256))
		case 2:
			// One that hangs up after the server's part.
			refused := tls.Client(c, &tls.Config{ServerName: "elsewhere"})
			if refused.Handshake() == nil {
				t.Error("a certificate of nobody was trusted")
			}
		}
		c.Close()
	}
	answer, err := client(cert).Get("https://" + r.address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	eventually(t, "every connection is closed", func() bool { return r.gate.open() == 0 })
	if lines := strings.Count(r.log.String(), "TLS handshake error"); lines < 1 || lines > 4 {
		t.Errorf("%d lines for %d handshakes: %s", lines, n, r.log)
	}
}

// BenchmarkHandshake is what a connection with TLS costs both sides.
func BenchmarkHandshake(b *testing.B) {
	cert, key, _ := credentials(b, "server")
	r := start(b, Config{ConfigFile: files(b, map[string]string{"web.yml": tlsConfig, "server.crt": string(cert), "server.key": string(key)})})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	for b.Loop() {
		c, err := tls.Dial("tcp", r.address(), &tls.Config{RootCAs: roots})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(c, plainRequest); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 512)); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
