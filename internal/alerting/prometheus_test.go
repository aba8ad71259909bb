package alerting

import (
	"fmt"
	"strings"
	"testing"
)

// fires asks a server that scrapes a page of metrics whether an alert fires for it. It
// is for whatever shows the monitor's metrics: here a stand-in.
func fires(t *testing.T, scrape, alert string, labels map[string]string) {
	t.Helper()
	server := StartPrometheus(t, rulesFile, scrape)
	server.Wait("scrape "+scrape, func() error { return server.Up(1) })
	server.Wait("evaluate the rules", server.Evaluated)
	server.Wait("wait for "+alert, func() error { return firesWith(server, alert, labels) })
}

func firesWith(server *Prometheus, alert string, labels map[string]string) error {
	alerts, err := server.Alerts(alert)
	if err != nil {
		return err
	}
	for _, a := range alerts {
		matches := a.State == "firing"
		for name, value := range labels {
			matches = matches && a.Labels[name] == value
		}
		if matches {
			return nil
		}
	}
	return fmt.Errorf("%s does not fire with %v: %+v", alert, labels, alerts)
}

func TestARealPrometheusTellsOfACondemnedClock(t *testing.T) {
	machine := newStandIn(t, fallen())
	fires(t, machine.URL+"/metrics", "CswatchClocksourceCondemned", map[string]string{
		"clocksource": "tsc", "reference": "hpet", "cause": "read-delay", "severity": "warning", "instance": strings.TrimPrefix(machine.URL, "http://"),
	})
}

func TestARealPrometheusIsSilentUntilTheClockFallsAndAnswersTheDashboard(t *testing.T) {
	machine := newStandIn(t, healthy())
	pages, names := []string{machine.URL + "/metrics"}, map[string]string{}
	for name, y := range wells() {
		other := newStandIn(t, y)
		names[strings.TrimPrefix(other.URL, "http://")] = name
		pages = append(pages, other.URL+"/metrics")
	}
	server := StartPrometheus(t, rulesFile, pages...)
	server.Wait("scrape all machines", func() error { return server.Up(len(pages)) })
	server.Wait("evaluate the rules", server.Evaluated)
	silent := func() {
		t.Helper()
		alerts, err := server.Query(`ALERTS{instance!="` + strings.TrimPrefix(machine.URL, "http://") + `"}`)
		if err != nil {
			t.Error(err)
		}
		for _, a := range alerts {
			t.Errorf("%s: %v", names[a.Labels["instance"]], a.Labels)
		}
	}
	silent()

	machine.tally.Store(fallen())
	server.Wait("wait for the alert", func() error {
		return firesWith(server, "CswatchClocksourceCondemned", map[string]string{"cause": "read-delay"})
	})
	// The ten minutes of this one have begun, for the one machine.
	server.Wait("wait for what is pending", func() error {
		alerts, err := server.Query(`ALERTS{alertname="CswatchClocksourceNotBest", alertstate="pending", clocksource="hpet", best="tsc"}`)
		if err == nil && len(alerts) != 1 {
			err = fmt.Errorf("%v", alerts)
		}
		return err
	})
	// Every query of the dashboard has an answer: none asks past the labels that there are.
	for where, expr := range queries(t, dashboard(t)) {
		server.Wait(where, func() error {
			series, err := server.Query(substituted(expr))
			if err == nil && len(series) == 0 && !mayBeEmpty(expr) {
				err = fmt.Errorf("%q gives nothing", substituted(expr))
			}
			return err
		})
	}
	if alerts, err := server.Query(`ALERTS{alertstate="firing", alertname!="CswatchClocksourceCondemned"}`); err != nil || len(alerts) != 0 {
		t.Errorf("besides: %v, %v", alerts, err)
	}
	silent()
}

// mayBeEmpty reports queries for what does not happen here: rises that are shown only where there are some, and boots.
func mayBeEmpty(expr string) bool {
	return strings.Contains(expr, "increase(") && strings.HasSuffix(expr, "> 0") || strings.HasPrefix(expr, "cswatch_boot_timestamp_seconds")
}
