package alerting

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a server may take for anything. Nothing is decided by how fast it is.
const patience = 60 * time.Second

// Prometheus is a running server that scrapes targets every half second and evaluates the rules as often.
type Prometheus struct {
	t    testing.TB
	url  string
	lock sync.Mutex
	said strings.Builder // the last lines of its log
}

// StartPrometheus starts a server with rules from a file and ends it with the test. Each target is the address
// of a page of metrics, such as http://127.0.0.1:9953/metrics. The test is skipped where no Prometheus is installed.
//
// The intervals of groups are shortened, since a server waits up to one interval before it begins; what an alert waits
// for is not.
func StartPrometheus(t testing.TB, rules string, targets ...string) *Prometheus {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("there is no Prometheus server here (package prometheus), which loads the rules and scrapes")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	quick := regexp.MustCompile(`(?m)^    interval: .*$`).ReplaceAll(text, []byte("    interval: 500ms"))
	write(t, filepath.Join(dir, "rules.yml"), string(quick))
	write(t, filepath.Join(dir, "prometheus.yml"), configuration(t, targets))

	p := &Prometheus{t: t}
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0")
	cmd.Dir = dir
	withParent(cmd)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	ready := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.follow(log, ready)
		_ = cmd.Wait() // it is killed in the end, and that is no fault
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
	})
	select {
	case address := <-ready:
		p.url = "http://" + address
	case <-ended:
		t.Fatalf("%s ended at once:\n%s", program, p.log())
	case <-time.After(patience):
		t.Fatalf("%s does not listen:\n%s", program, p.log())
	}
	return p
}

func configuration(t testing.TB, targets []string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n  evaluation_interval: 500ms\nrule_files:\n  - rules.yml\nscrape_configs:\n")
	for i, target := range targets {
		u, err := url.Parse(target)
		if err != nil || u.Host == "" {
			t.Fatalf("the address %q of a page of metrics: %v", target, err)
		}
		fmt.Fprintf(&b, "  - job_name: cswatch%d\n    scheme: %s\n    metrics_path: %q\n    static_configs:\n      - targets: [%q]\n", i, u.Scheme, u.Path, u.Host)
	}
	return b.String()
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// listening is the line in which the server says where it does.
var listening = regexp.MustCompile(`msg="Listening on".*\baddress=(\S+)`)

// follow keeps the end of the log and finds the address in it.
func (p *Prometheus) follow(log io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		p.lock.Lock()
		if p.said.Len() > 64<<10 {
			p.said.Reset()
		}
		p.said.WriteString(lines.Text() + "\n")
		p.lock.Unlock()
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case ready <- m[1]:
			default:
			}
		}
	}
}

func (p *Prometheus) log() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.said.String()
}

// get asks the server's HTTP interface and reads the data of its answer.
func (p *Prometheus) get(path string, parameters url.Values, data any) error {
	client := http.Client{Timeout: patience}
	answer, err := client.Get(p.url + path + "?" + parameters.Encode())
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var body struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return fmt.Errorf("%s answers %s: %w", path, answer.Status, err)
	}
	if body.Status != "success" {
		return fmt.Errorf("%s: %s", path, body.Error)
	}
	return json.Unmarshal(body.Data, data)
}

// Wait asks until there is no error, and fails the test with the last one where that takes longer than a minute.
func (p *Prometheus) Wait(what string, ask func() error) {
	p.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = ask(); err == nil {
			return
		}
	}
	p.t.Fatalf("%s: %v\n%s", what, err, p.log())
}

// Series is one series of an answer, with its value.
type Series struct {
	Labels map[string]string
	Value  string
}

// Query asks for the value of an expression now.
func (p *Prometheus) Query(expr string) ([]Series, error) {
	var data struct {
		Result []struct {
			Metric map[string]string `json:"metric"`
			Value  [2]any            `json:"value"`
		} `json:"result"`
	}
	if err := p.get("/api/v1/query", url.Values{"query": {expr}}, &data); err != nil {
		return nil, fmt.Errorf("query %q: %w", expr, err)
	}
	var series []Series
	for _, r := range data.Result {
		series = append(series, Series{r.Metric, fmt.Sprint(r.Value[1])})
	}
	return series, nil
}

// Up returns an error unless every target answered its last scrape.
func (p *Prometheus) Up(targets int) error {
	var data struct {
		ActiveTargets []struct {
			ScrapeURL string `json:"scrapeUrl"`
			Health    string `json:"health"`
			LastError string `json:"lastError"`
		} `json:"activeTargets"`
	}
	if err := p.get("/api/v1/targets", url.Values{}, &data); err != nil {
		return err
	}
	if len(data.ActiveTargets) != targets {
		return fmt.Errorf("%d targets, want %d", len(data.ActiveTargets), targets)
	}
	for _, target := range data.ActiveTargets {
		if target.Health != "up" {
			return fmt.Errorf("%s is %s: %s", target.ScrapeURL, target.Health, target.LastError)
		}
	}
	return nil
}

// Evaluated returns an error unless every rule was evaluated without one.
func (p *Prometheus) Evaluated() error {
	var data struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Name      string `json:"name"`
				Health    string `json:"health"`
				LastError string `json:"lastError"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := p.get("/api/v1/rules", url.Values{}, &data); err != nil {
		return err
	}
	n := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if n++; r.Health != "ok" {
				return fmt.Errorf("rule %s of group %s is %s: %s", r.Name, g.Name, r.Health, r.LastError)
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("no rules are loaded")
	}
	return nil
}

// Alert is an alert that is pending or fires.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
}

// Alerts returns the alerts of that name.
func (p *Prometheus) Alerts(name string) ([]Alert, error) {
	var data struct {
		Alerts []Alert `json:"alerts"`
	}
	if err := p.get("/api/v1/alerts", url.Values{}, &data); err != nil {
		return nil, err
	}
	var found []Alert
	for _, a := range data.Alerts {
		if a.Labels["alertname"] == name {
			found = append(found, a)
		}
	}
	return found, nil
}
