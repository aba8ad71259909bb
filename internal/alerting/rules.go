package alerting

import (
	"fmt"

	"go.yaml.in/yaml/v2"
)

// Group is a group of rules, as Prometheus reads it.
type Group struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval,omitempty"`
	Rules    []Rule `yaml:"rules"`
}

// Rule is an alert or a recording rule.
type Rule struct {
	Alert       string            `yaml:"alert,omitempty"`
	Record      string            `yaml:"record,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// ReadRules reads a file of rules. A field that Prometheus does not know is an error.
func ReadRules(text []byte) ([]Group, error) {
	var file struct {
		Groups []Group `yaml:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	for _, g := range file.Groups {
		for i, r := range g.Rules {
			if (r.Alert == "") == (r.Record == "") || r.Expr == "" {
				return nil, fmt.Errorf("read rules: rule %d of group %s: want an expression and either an alert or a record", i+1, g.Name)
			}
		}
	}
	return file.Groups, nil
}

// Alerts returns the rules that alert, in order. A name may stand more than once.
func Alerts(groups []Group) []Rule {
	var alerts []Rule
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				alerts = append(alerts, r)
			}
		}
	}
	return alerts
}

// Recorded returns the names that recording rules make, in order.
func Recorded(groups []Group) []string {
	var names []string
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				names = append(names, r.Record)
			}
		}
	}
	return names
}
