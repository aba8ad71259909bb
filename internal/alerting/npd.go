package alerting

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Condition is a condition of a node in its good state.
type Condition struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// KernelMonitor is a configuration of node-problem-detector's system log monitor.
type KernelMonitor struct {
	Plugin           string       `json:"plugin"`
	LogPath          string       `json:"logPath"`
	Lookback         string       `json:"lookback"`
	BufferSize       int          `json:"bufferSize"` // lines
	Source           string       `json:"source"`
	MetricsReporting bool         `json:"metricsReporting"`
	Conditions       []Condition  `json:"conditions"`
	Rules            []KernelRule `json:"rules"`
}

// KernelRule makes an event, or sets a condition, when its pattern hits.
type KernelRule struct {
	Type      string `json:"type"` // temporary: an event; permanent: the condition, until node-problem-detector is started anew
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason"`
	Pattern   string `json:"pattern"`
}

// PluginMonitor is a configuration of its custom plugin monitor.
type PluginMonitor struct {
	Plugin           string       `json:"plugin"`
	PluginConfig     PluginConfig `json:"pluginConfig"`
	Source           string       `json:"source"`
	MetricsReporting bool         `json:"metricsReporting"`
	Conditions       []Condition  `json:"conditions"`
	Rules            []PluginRule `json:"rules"`
}

// PluginConfig says when plugins run, and how much of their output is kept.
type PluginConfig struct {
	InvokeInterval  string `json:"invoke_interval"`
	Timeout         string `json:"timeout"`
	MaxOutputLength int    `json:"max_output_length"` // bytes
	Concurrency     int    `json:"concurrency"`
	UpdateMessage   bool   `json:"enable_message_change_based_condition_update"`
}

// PluginRule is a program whose exit code is a condition: 0 good, 1 bad, others unknown.
type PluginRule struct {
	Type      string   `json:"type"`
	Condition string   `json:"condition,omitempty"`
	Reason    string   `json:"reason"`
	Path      string   `json:"path"`
	Args      []string `json:"args"`
	Timeout   string   `json:"timeout"`
}

// ReadKernelMonitor reads and checks a configuration of the system log monitor.
func ReadKernelMonitor(text []byte) (*KernelMonitor, error) {
	var m KernelMonitor
	if err := strict(text, &m); err != nil {
		return nil, fmt.Errorf("read a kernel monitor: %w", err)
	}
	if _, err := time.ParseDuration(m.Lookback); err != nil {
		return nil, fmt.Errorf("read a kernel monitor: lookback: %w", err)
	}
	for _, r := range m.Rules {
		if err := checkRule(r.Type, r.Condition, m.Conditions); err != nil {
			return nil, fmt.Errorf("read a kernel monitor: rule %s: %w", r.Reason, err)
		}
		if _, err := CompilePattern(r.Pattern); err != nil {
			return nil, fmt.Errorf("read a kernel monitor: rule %s: %w", r.Reason, err)
		}
	}
	return &m, nil
}

// ReadPluginMonitor reads and checks a configuration of the custom plugin monitor.
func ReadPluginMonitor(text []byte) (*PluginMonitor, error) {
	var m PluginMonitor
	if err := strict(text, &m); err != nil {
		return nil, fmt.Errorf("read a plugin monitor: %w", err)
	}
	limit, err := time.ParseDuration(m.PluginConfig.Timeout)
	if err != nil {
		return nil, fmt.Errorf("read a plugin monitor: timeout: %w", err)
	}
	if _, err := time.ParseDuration(m.PluginConfig.InvokeInterval); err != nil {
		return nil, fmt.Errorf("read a plugin monitor: invoke_interval: %w", err)
	}
	for _, r := range m.Rules {
		if err := checkRule(r.Type, r.Condition, m.Conditions); err != nil {
			return nil, fmt.Errorf("read a plugin monitor: rule %s: %w", r.Reason, err)
		}
		if d, err := time.ParseDuration(r.Timeout); err != nil || d > limit {
			return nil, fmt.Errorf("read a plugin monitor: rule %s: its timeout %q is no duration within the %s that all have", r.Reason, r.Timeout, limit)
		}
	}
	return &m, nil
}

func checkRule(kind, condition string, conditions []Condition) error {
	known := slices.ContainsFunc(conditions, func(c Condition) bool { return c.Type == condition })
	switch {
	case kind == "temporary" && condition == "", kind == "permanent" && known:
		return nil
	case kind == "permanent":
		return fmt.Errorf("its condition %q is not among the conditions", condition)
	}
	return fmt.Errorf("type %q with condition %q: want temporary without a condition, or permanent with one", kind, condition)
}

// strict reads one JSON document. A field that is not expected is an error: a
// misspelt one would be passed over where it is used.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// Pattern is a rule's pattern, as node-problem-detector uses it: it must match
// to the end of the lines that are buffered, joined by line feeds.
type Pattern struct{ compiled *regexp.Regexp }

// CompilePattern compiles a pattern. One whose alternatives are not in brackets
// is refused: only the last of them would be held to the end.
func CompilePattern(expr string) (Pattern, error) {
	depth := 0
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				return Pattern{}, fmt.Errorf("pattern %q: put the alternatives in brackets", expr)
			}
		}
	}
	compiled, err := regexp.Compile(expr + `\z`)
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", expr, err)
	}
	return Pattern{compiled}, nil
}

// Hits reports whether the pattern hits when the last of these lines arrives.
func (p Pattern) Hits(lines ...string) bool {
	return p.compiled.MatchString(strings.Join(lines, "\n"))
}
