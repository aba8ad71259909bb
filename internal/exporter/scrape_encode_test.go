package exporter

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func TestWhatAClientAcceptsDecidesTheForm(t *testing.T) {
	const (
		text     = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
		open     = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
		old      = "application/openmetrics-text; version=0.0.1; charset=utf-8; escaping=underscores"
		protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores"
	)
	for name, test := range map[string]struct {
		accept, encoding string
		contentType      string
		form             form
	}{
		"nothing at all":                        {contentType: text, form: plain(0)},
		"anything, as curl does":                {accept: "*/*", contentType: text, form: plain(0)},
		"a browser's wishes":                    {accept: "text/html,application/xml;q=0.9", contentType: text, form: plain(0)},
		"text, gzipped":                         {accept: "text/plain", encoding: "gzip", contentType: text, form: packed(0)},
		"OpenMetrics without a version":         {accept: "application/openmetrics-text", contentType: old, form: plain(1)},
		"OpenMetrics 1.0.0 rather than text":    {accept: "text/plain;q=0.5,application/openmetrics-text;version=1.0.0", contentType: open, form: plain(1)},
		"a version of OpenMetrics not there":    {accept: "application/openmetrics-text;version=9.0.0", contentType: text, form: plain(0)},
		"protocol buffers, as for histograms":   {accept: protobuf, encoding: "gzip", contentType: protobuf, form: packed(2)},
		"protocol buffers as text, for people":  {accept: "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text", contentType: text, form: plain(0)},
		"names in UTF-8":                        {accept: "text/plain;version=0.0.4;escaping=allow-utf-8", contentType: strings.Replace(text, "underscores", "allow-utf-8", 1), form: plain(0)},
		"a way to escape that nobody knows":     {accept: "text/plain;version=0.0.4;escaping=\r\nX: y", contentType: text, form: plain(0)},
		"nonsense":                              {accept: ";;;,,=;q=x", encoding: ";;,=", contentType: text, form: plain(0)},
		"what Prometheus 3 sends, with its own": {accept: "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", encoding: "gzip", contentType: strings.Replace(open, "underscores", "allow-utf-8", 1), form: packed(1)},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			if test.accept != "" {
				h.Set("Accept", test.accept)
			}
			if test.encoding != "" {
				h.Set("Accept-Encoding", test.encoding)
			}
			format, form := negotiate(h)
			if string(format) != test.contentType || form != test.form {
				t.Errorf("got %s, form %d; wanted %s, form %d", format, form, test.contentType, test.form)
			}
		})
	}
}

func TestGzipOnlyWhereTheClientTakesIt(t *testing.T) {
	for value, want := range map[string]bool{
		"":                        false,
		"gzip":                    true,
		"GZIP":                    true,
		"deflate, gzip;q=0.5, br": true,
		"gzip;q=0":                false,
		"gzip; q=0.000":           false,
		"gzip;q=nonsense":         false,
		"gzip;q=-1":               false,
		"*":                       true,
		"*;q=0":                   false,
		"*, gzip;q=0":             false,
		"gzip;q=0, *":             false,
		"*;q=0, gzip":             true,
		"identity":                false,
		"xgzip":                   false,
		", ,;":                    false,
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": {value}}); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// testRegistry has one metric of each kind.
func testRegistry(t testing.TB) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewRegistry()
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cswatch_test_events_total", Help: "Events."}, []string{"kind"})
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "cswatch_test_skew_ratio", Help: "A ratio."})
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "cswatch_test_readback_seconds", Help: "Times.", Buckets: []float64{1e-6, 1e-3, 1}})
	r.MustRegister(c, g, h)
	c.WithLabelValues("switched").Add(3)
	g.Set(-1.5e-6)
	h.Observe(60.666e-6)
	return r
}

func newExposition(g prometheus.Gatherer) (*exposition, *bytes.Buffer) {
	var log bytes.Buffer
	return &exposition{gatherer: g, failures: new(atomic.Uint64), log: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

func gunzip(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryFormSaysTheSame(t *testing.T) {
	e, log := newExposition(testRegistry(t))
	all := forms(0)
	for i := range encodings() {
		all |= 1<<plain(i) | 1<<packed(i)
	}
	for range 2 { // the buffers of the first round are used again in the second
		made, err := e.gather(all)
		if err != nil {
			t.Fatal(err)
		}
		for i, format := range encodings() {
			text := made[plain(i)]
			if diff := cmp.Diff(string(text), string(gunzip(t, made[packed(i)]))); diff != "" {
				t.Errorf("%s: gzipped it is another text: %s", format, diff)
			}
			if format.FormatType() == expfmt.TypeOpenMetrics {
				if !bytes.HasSuffix(text, []byte("\n# EOF\n")) {
					t.Errorf("OpenMetrics has no end: %s", text)
				}
				continue // the library has no parser for it
			}
			values := map[string]float64{}
			d := expfmt.NewDecoder(bytes.NewReader(text), format)
			for {
				var f dto.MetricFamily
				if err := d.Decode(&f); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				m := f.GetMetric()[0]
				values[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
			}
			want := map[string]float64{"cswatch_test_events_total": 3, "cswatch_test_skew_ratio": -1.5e-6, "cswatch_test_readback_seconds": 60.666e-6}
			if diff := cmp.Diff(want, values); diff != "" {
				t.Errorf("%s: %s", format, diff)
			}
		}
	}
	if log.Len() > 0 || e.failures.Load() != 0 {
		t.Errorf("%d failures: %s", e.failures.Load(), log)
	}
}

// Both versions of OpenMetrics share their bytes, and the ways to escape names
// make no difference to ours: only the content type echoes them.
func TestTheDistinctEncodingsAreAllThereAre(t *testing.T) {
	families, err := testRegistry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	e, _ := newExposition(nil)
	made := map[expfmt.FormatType]string{}
	for _, format := range offered() {
		for _, escaping := range []string{model.AllowUTF8, model.EscapeUnderscores, model.EscapeDots, model.EscapeValues} {
			if err := e.encode(families, format+"; escaping="+expfmt.Format(escaping)); err != nil {
				t.Fatal(err)
			}
			kind := format.FormatType()
			if first, ok := made[kind]; ok && first != e.text.String() {
				t.Errorf("%s with escaping=%s has bytes of its own", format, escaping)
			}
			made[kind] = e.text.String()
		}
	}
	if len(made) != len(encodings()) {
		t.Errorf("%d encodings were offered, %d are made", len(made), len(encodings()))
	}
}

// A brokenCollector delivers a metric that belies its description.
type brokenCollector struct{ desc *prometheus.Desc }

func (c brokenCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }
func (c brokenCollector) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.NewInvalidMetric(c.desc, errors.New("/sys is gone"))
}

func TestOneBrokenCollectorDoesNotHideTheOthers(t *testing.T) {
	registry := testRegistry(t)
	registry.MustRegister(brokenCollector{prometheus.NewDesc("cswatch_test_broken", "Broken.", nil, nil)})
	e, log := newExposition(registry)
	made, err := e.gather(1 << plain(0))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(made[plain(0)], []byte(`cswatch_test_events_total{kind="switched"} 3`)) {
		t.Errorf("the other metrics are missing: %s", made[plain(0)])
	}
	if e.failures.Load() != 1 || !strings.Contains(log.String(), "/sys is gone") {
		t.Errorf("%d failures: %s", e.failures.Load(), log)
	}
}

func TestNothingGatheredIsAnError(t *testing.T) {
	e, _ := newExposition(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, errors.New("/sys is gone") }))
	if _, err := e.gather(1 << plain(0)); err == nil || e.failures.Load() != 1 {
		t.Errorf("%v, %d failures", err, e.failures.Load())
	}
}

func TestAFamilyThatCannotBeWrittenIsLeftOutWhole(t *testing.T) {
	families, err := testRegistry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	counter := dto.MetricType_COUNTER
	name := "cswatch_test_odd_total"
	odd := &dto.MetricFamily{Name: &name, Type: &counter, Metric: []*dto.Metric{{}}} // a counter without a value
	e, _ := newExposition(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return append([]*dto.MetricFamily{odd}, families...), nil
	}))
	made, err := e.gather(1<<plain(0) | 1<<packed(1))
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string][]byte{"text": made[plain(0)], "OpenMetrics": gunzip(t, made[packed(1)])} {
		if bytes.Contains(text, []byte("odd")) || !bytes.Contains(text, []byte("cswatch_test_skew_ratio")) {
			t.Errorf("%s: %s", form, text)
		}
	}
	if e.failures.Load() != 1 {
		t.Errorf("%d failures were counted", e.failures.Load())
	}
}

func FuzzNegotiation(f *testing.F) {
	f.Add("text/plain;version=0.0.4;q=0.3,*/*;q=0.2", "gzip, deflate;q=0")
	f.Add(";;,=", "*;q=,")
	f.Fuzz(func(t *testing.T, accept, encoding string) {
		h := http.Header{"Accept": {accept}, "Accept-Encoding": {encoding}}
		format, form := negotiate(h)
		if int(form) >= 2*len(encodings()) || form.gzipped() != acceptsGzip(h) {
			t.Errorf("form %d", form)
		}
		for _, known := range offered() {
			if rest, ok := strings.CutPrefix(string(format), string(known)+"; escaping="); ok {
				if slices.Contains([]string{model.AllowUTF8, model.EscapeUnderscores, model.EscapeDots, model.EscapeValues}, rest) {
					return
				}
			}
		}
		t.Errorf("the content type %q is none of ours", format)
	})
}
