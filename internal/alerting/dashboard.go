package alerting

import (
	"encoding/json"
	"fmt"
)

// Dashboard is a Grafana dashboard, as far as it is checked here.
type Dashboard struct {
	Title         string  `json:"title"`
	UID           string  `json:"uid"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []Panel `json:"panels"`
	Templating    struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []Annotation `json:"list"`
	} `json:"annotations"`
}

// Variable is what the reader of a dashboard chooses.
type Variable struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Query json.RawMessage `json:"query"`
}

// Annotation marks moments on all panels.
type Annotation struct {
	Name       string     `json:"name"`
	Expr       string     `json:"expr"`
	Datasource Datasource `json:"datasource"`
}

// Panel is a panel, or a row with panels.
type Panel struct {
	ID          int        `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	GridPos     GridPos    `json:"gridPos"`
	Datasource  Datasource `json:"datasource"`
	Targets     []Target   `json:"targets"`
	Panels      []Panel    `json:"panels"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// GridPos is where a panel stands, in 24 columns.
type GridPos struct{ X, Y, W, H int }

// Datasource names where a query is asked.
type Datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Target is a query of a panel.
type Target struct {
	RefID      string     `json:"refId"`
	Expr       string     `json:"expr"`
	Format     string     `json:"format"`
	Instant    bool       `json:"instant"`
	Datasource Datasource `json:"datasource"`
}

// ReadDashboard reads a dashboard.
func ReadDashboard(text []byte) (*Dashboard, error) {
	var d Dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read a dashboard: %w", err)
	}
	return &d, nil
}

// All returns every panel, those within rows included, rows left out.
func (d *Dashboard) All() []Panel {
	var all []Panel
	for _, p := range d.Panels {
		if p.Type != "row" {
			all = append(all, p)
		}
		all = append(all, p.Panels...)
	}
	return all
}
